/** The rows of the comparison: what is asked of each peer, with many values each, so that no memory of earlier answers helps. */
import { place } from '../places.js';

/** Numbers of places that are not among the records which are filled in. */
const FIRST_NEW_PLACE = 5_000_000;
const DEEP = 0.9;
const VALUES = 400;
const STEP = 37;
const SORTS = ['name', 'city_name', 'postal_zone', 'country', 'external_id', 'created_at'];
const sorts = SORTS.flatMap((field) => [field, `-${field}`]);

const list = (name, queries) => ({ name, work: queries.map((query) => (peer) => peer.list(query)), lists: true });

/** Beginnings of names that are there, of ASCII letters: what peers make of others differs. */
function terms(length, field = 'name') {
  const found = new Set();
  for (let n = 0; n < VALUES * 20 && found.size < VALUES; n++) {
    const term = place(n * STEP)
      [field].slice(0, length)
      .toLowerCase();
    if (term.length === length && /^[a-z]+( [a-z]+)*$/.test(term)) found.add(term);
  }
  return [...found];
}

const filtered = (length) =>
  list(
    length === 1 ? 'filter of 1 character, sorted' : `filter of ${length} characters, sorted`,
    ['name', 'city_name'].flatMap((field) =>
      terms(length, field).map((term, i) => ({ filters: { [field]: term }, sort: sorts[i % sorts.length] })),
    ),
  );

const twoFilters = () =>
  list(
    'two filters, sorted',
    Array.from({ length: VALUES }, (_, n) => place(n * STEP))
      .filter(({ name }) => /^[a-zA-Z]{3}/.test(name))
      .map(({ country, name }, i) => ({
        filters: { country: country.toLowerCase(), name: name.slice(0, 3).toLowerCase() },
        sort: sorts[i % sorts.length],
      })),
  );

/** @param records in the table @param ids of some, by peer */
export function reads(records, ids) {
  const deepPage = Math.round((records / 25) * DEEP);
  return [
    {
      name: 'get by id',
      work: Array.from({ length: 1000 }, (_, n) => (peer) => peer.get(ids.get(peer)[(n * STEP) % 1000])),
    },
    list(
      'list, not sorted',
      Array.from({ length: 40 }, (_, n) => ({ page: n + 1 })),
    ),
    list(
      'list, sorted',
      sorts.flatMap((sort) => Array.from({ length: 10 }, (_, n) => ({ sort, page: n + 1 }))),
    ),
    list(
      'list, sorted, the page at nine tenths',
      Array.from({ length: 10 }, (_, n) => sorts.map((sort) => ({ sort, page: deepPage - n }))).flat(),
    ),
    ...[1, 2, 3, 8].map(filtered),
    twoFilters(),
  ];
}

/** Of each peer's own, so that all get the same. */
const createdBy = new WeakMap();

export function createNext(peer) {
  const n = createdBy.get(peer) ?? FIRST_NEW_PLACE;
  createdBy.set(peer, n + 1);
  return peer.create(place(n));
}

/** More than a turn has time for. */
const creates = Array.from({ length: 20_000 }, () => createNext);

export const CREATES = [
  { name: 'create one', work: creates },
  { name: 'create, 16 creators', clients: 16, byRate: true, work: creates },
];
