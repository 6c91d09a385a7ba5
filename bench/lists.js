/** Lists of 25 with their exact total over HTTP. Every case is asked with many values, so that no cache of counts helps. */
import { atMost, milliseconds, note, p99, quantile } from './figures.js';
import { dropRows } from './pageCache.js';
import { createClient } from './service.js';

const SAMPLING_MS = 10;
/** Of fewer, a 99th percentile is the one that the machine made wait longest. */
const COLD_SAMPLES = 500;
const ASSETS = '/api/v1/dynamic-assets/dyn/dyn_location/assets';
const SORTS = ['name', 'city_name', 'postal_zone', 'country', 'external_id', 'created_at', 'updated_at'];
const TERMS = words(
  'ber san ville ing new ton ara rotterdam kyiv dam burg ier rio haus mont lake port chi nov gor sta hill land stein ham',
  'ford cha pol kir dorf heim bach cruz juan paul mou ban kar lan tan man har val del bel gran pal las rosa sur nor east',
);
/** Asked before, so that the threads that answer are warm. */
const WARM_UP = words(
  'mar and bur lin der ell ort amb sch ina est ola ist hol bad cas tor wood field green rock river',
);
/** So many that no reader remembers what it counted before. */
const OTHERS = Array.from({ length: 200 }, (_, i) => `filter[external_id]=${100 + 4 * i}`);
const SHORT = ['a', 'er', 'an', 'o', 'qx', 'ß', 'zz', 'wy', 'e', 'ma', 'ts', 'u', 'ko', 'ü'];

function words(...lines) {
  return lines.flatMap((line) => line.split(' '));
}

const sorts = SORTS.flatMap((field) => [field, `-${field}`]);
const filtered = (terms, fields) =>
  terms.flatMap((term) =>
    fields.map(
      (field, i) =>
        `filter[${field}]=${encodeURIComponent(term)}&sort=${sorts[(term.length * 7 + term.charCodeAt(0) + i * 5) % sorts.length]}`,
    ),
  );

async function measure(client, queries, rounds = 1) {
  const times = [];
  for (let round = 0; round < rounds; round++) {
    for (const query of queries) {
      const start = performance.now();
      await client.ok('GET', `${ASSETS}?${encodeURI(decodeURI(query)).replaceAll('[', '%5B').replaceAll(']', '%5D')}`);
      times.push(performance.now() - start);
    }
  }
  return times;
}

/** The system has forgotten the pages of the rows before each round; what the service keeps in memory stays. */
async function measureCold(name, client, directory, queries) {
  const times = [];
  let isDropped = true;
  while (times.length < COLD_SAMPLES) {
    isDropped &&= dropRows(directory);
    times.push(...(await measure(client, queries)));
  }
  if (isDropped) p99(`${name}, pages dropped`, times, 15);
  else note(`${name}, pages dropped`, 'the system has no way here');
}

/** @param directory of the service's data */
export async function measureLists(service, records, directory) {
  const { client } = service;
  const deepPage = Math.round((records / 25) * 0.9);
  await measure(client, ['page=1'], 50);
  await measure(client, filtered(WARM_UP, ['name', 'city_name']));
  await service.metric('nodejs_eventloop_lag_max_seconds');
  const sorted = sorts.map((sort) => `sort=${sort}`);
  p99('list, unfiltered, any sort', await measure(client, sorted, 12), 10);
  const found = filtered(TERMS, ['name', 'city_name']);
  p99('list, a filter of 3 or more characters, any sort', await measure(client, found), 15);
  p99('list, a filter of 1 or 2 characters', await measure(client, filtered(SHORT, ['name', 'city_name'])), 120);
  const deep = [`page=${deepPage}`, ...sorts.map((sort) => `page=${deepPage}&sort=${sort}`)];
  p99(`list, page ${deepPage}`, await measure(client, deep, 6), 50);
  const middle = Math.round(records / 50);
  const oneByOne = Array.from({ length: 100 }, (_, n) => `page=${middle + n}&sort=name`);
  note(`list, 100 pages one after the other from page ${middle}`, milliseconds(await measure(client, oneByOne)));
  // Counted since the last look at the metrics; the sampler's own 10 ms are part of it.
  const lag = (await service.metric('nodejs_eventloop_lag_max_seconds')) * 1000 - SAMPLING_MS;
  atMost('event loop of the service held by lists, the longest', lag, 10, 'ms');
  await measure(client, OTHERS);
  note('filters of 3 or more again: counted anew, pages in memory', milliseconds(await measure(client, found)));
  await measureCold('list, unfiltered, any sort', client, directory, sorted);
  await measureCold('list, a filter of 3 or more', client, directory, found);
  await measureCold(`list, page ${deepPage}`, client, directory, deep);
  await compareWithSmall(service);
}

/** The same lists in a tenant with 10,000 records. */
async function compareWithSmall({ client, cli, port }) {
  const made = await cli('tenant', 'create', 'small', '--order-model', 'dyn_transport_order');
  const small = createClient(port, 'small.localhost');
  const token = await small.ok('POST', '/oauth/token', {
    grant_type: 'client_credentials',
    ...made.client,
    scopes: undefined,
  });
  small.headers.authorization = `Bearer ${JSON.parse(token).access_token}`;
  const { place } = await import('./places.js');
  for (let from = 0; from < 10_000; from += 1000) {
    const items = Array.from({ length: 1000 }, (_, i) => place(from + i));
    await small.ok('POST', `${ASSETS}/batch`, { items });
  }
  const queries = sorts.map((sort) => `sort=${sort}`);
  const times = { small: [], large: [] };
  for (let round = 0; round < 20; round++) {
    times.small.push(...(await measure(small, queries)));
    times.large.push(...(await measure(client, queries)));
  }
  small.close();
  atMost(
    'cost of a list, beside that at 10,000 records',
    quantile(times.large, 0.5) / quantile(times.small, 0.5),
    1.5,
    'times',
  );
}
