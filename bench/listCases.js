/** The lists that bench/rows.js measures. */
const contains = (field, ...anyOf) => ({ kind: 'contains', field, anyOf });
const equals = (field, ...anyOf) => ({ kind: 'equals', field, anyOf });
/** A search: the text in any of these fields, or one of the values. */
const search = (text, ...more) => ({
  kind: 'any',
  anyOf: [...['external_id', 'name', 'city_name', 'postal_zone'].map((field) => contains(field, text)), ...more],
});
const asc = (field) => ({ field, direction: 'asc' });
const desc = (field) => ({ field, direction: 'desc' });
const SORTS = ['name', 'city_name', 'postal_zone', 'country', 'created_at', 'updated_at', 'external_id'];

/** Queries of a table of places with `total` records, by what they show. */
export function listCases(total) {
  const lastPages = Math.floor(total / 25);
  const offsets = [0.1, 0.25, 0.5, 0.75, 0.9].map((share) => Math.floor(lastPages * share) * 25);
  const page = (query) => ({ filters: [], sort: [], offset: 0, limit: 25, ...query });
  return {
    'unfiltered, any sort, first page': SORTS.flatMap((f) => [asc(f), desc(f)]).map((term) => page({ sort: [term] })),
    'unfiltered, two sort terms, first page': [
      [asc('country'), desc('name')],
      [desc('country'), asc('city_name')],
      [asc('name'), asc('city_name')],
      [desc('city_name'), asc('country'), asc('name')],
    ].map((sort) => page({ sort })),
    'unfiltered, 1000 a page': [page({ limit: 1000 }), page({ limit: 1000, sort: [desc('name')] })],
    'unfiltered, page at 90 % (36,000 of 40,000)': SORTS.map((f) => page({ sort: [asc(f)], offset: offsets[4] })),
    'unfiltered, page in the middle': SORTS.map((f) => page({ sort: [asc(f)], offset: offsets[2] })),
    'unfiltered, two sort terms, deep': offsets.map((offset) => page({ sort: [asc('country'), asc('name')], offset })),
    'filter of 3+, rare': ['rotterdam', 'groningen', 'zwolle', 'kyiv', 'utrecht'].flatMap((text) =>
      [[], [asc('name')], [desc('city_name')]].map((sort) => page({ filters: [contains('name', text)], sort })),
    ),
    'filter of 3+, common': ['ber', 'san', 'ville', 'ing', 'new', 'ton', 'ara'].flatMap((text) =>
      [[], [asc('name')], [desc('city_name')], [asc('postal_zone')], [asc('country')]].map((sort) =>
        page({ filters: [contains('name', text)], sort }),
      ),
    ),
    'search of 3+ in four fields, rare and common': ['rotterdam', 'kyiv', '0712', 'san', 'new'].flatMap((text) =>
      [[], [asc('name')]].map((sort) => page({ filters: [search(text)], sort })),
    ),
    'search of 3+ in four fields, or 200 keys': ['rotterdam', 'san'].map((text) =>
      page({
        filters: [search(text, equals('postal_zone', ...Array.from({ length: 200 }, (_, n) => String(10_000 + n))))],
      }),
    ),
    'filter of 3+, common, country then name': ['ber', 'san', 'ville'].map((text) =>
      page({ filters: [contains('name', text)], sort: [asc('country'), asc('name')] }),
    ),
    'two filters of 3+, any of two': [
      page({ filters: [contains('name', 'ber', 'san'), contains('city_name', 'ing')], sort: [desc('name')] }),
      page({ filters: [contains('name', 'burg'), contains('city_name', 'san', 'new')], sort: [asc('city_name')] }),
    ],
    'filter of 3+, sorted against it': [
      page({ filters: [contains('external_id', 'loc-09')], sort: [asc('external_id')] }),
      page({ filters: [contains('external_id', '-000')], sort: [desc('external_id')] }),
      page({ filters: [contains('name', 'zwo')], sort: [asc('name')] }),
    ],
    'filter of 3+, common, deep': ['ber', 'san'].map((text) =>
      page({ filters: [contains('name', text)], sort: [asc('name')], offset: 5000 }),
    ),
    'filter of 1-2, common': ['a', 'er', 'an', 'o'].flatMap((text) =>
      [[], [asc('city_name')]].map((sort) => page({ filters: [contains('name', text)], sort })),
    ),
    'filter of 1-2, rare': ['qx', 'ß', 'zz', 'wy'].flatMap((text) =>
      [[], [asc('city_name')]].map((sort) => page({ filters: [contains('name', text)], sort })),
    ),
    'filter of 1-2 and one of 3+': [
      page({ filters: [contains('country', 'nl'), contains('name', 'dam')], sort: [asc('name')] }),
      page({ filters: [contains('country', 'us'), contains('name', 'san')], sort: [asc('city_name')] }),
    ],
    'equal to a text, and a filter of 3+': [
      page({ filters: [equals('country', 'NL'), contains('name', 'dam')], sort: [asc('name')] }),
      page({ filters: [equals('country', 'US'), contains('name', 'san')], sort: [asc('city_name')] }),
    ],
    'filter by country': ['nl', 'us', 'be', 'ad'].map((text) =>
      page({ filters: [contains('country', text)], sort: [asc('name')] }),
    ),
  };
}
