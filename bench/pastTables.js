/** A large table as it was: how long its copy takes to be made, and how quick its lists are then, beside those of now. */
import { performance } from 'node:perf_hooks';
import { setTimeout as wait } from 'node:timers/promises';
import { milliseconds, note, p99, quantile } from './figures.js';
import { place } from './places.js';
import { startService } from './service.js';

const ASSETS = '/api/v1/dynamic-assets/dyn/dyn_location/assets';
const BATCH = 1_000;
const WRITERS = 2;
/** Of each hundred records one changes after the moment that is asked for. */
const CHANGED = 100;
const ASKED_EACH_MS = 250;
const READY = 200;
/** Of the 99th percentile of the same lists of now, and a few milliseconds for the noise of the machine. */
const MOST_TIMES = 2;
const NOISE_MS = 5;

const TERMS = ['ber', 'san', 'ville', 'rotterdam', 'kyiv', 'dam', 'haus', 'port', 'chi', 'nov', 'hill', 'land', 'rosa'];
const SORTS = ['name', '-name', 'city_name', 'country', '-created_at', 'external_id'];
const QUERIES = TERMS.flatMap((term) => SORTS.map((sort) => `filter%5Bname%5D=${term}&sort=${sort}`)).concat(
  SORTS.map((sort) => `sort=${sort}`),
);

async function sendBatches(client, bodies) {
  const writer = async () => {
    for (let body = bodies.shift(); body !== undefined; body = bodies.shift()) {
      await client.ok('POST', `${ASSETS}/batch`, { items: body() });
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, writer));
}

async function timesOf(client, more) {
  const times = [];
  for (const query of QUERIES) {
    const start = performance.now();
    await client.ok('GET', `${ASSETS}?${query}${more}`);
    times.push(performance.now() - start);
  }
  return times;
}

/** @param directory of the service's data */
export async function measurePastTables(directory, records) {
  const service = await startService(directory, { EVENTSTORE_URL: '', MONGODB_URL: '', RABBITMQ_URL: '' });
  const { client } = service;
  try {
    const starts = Array.from({ length: records / BATCH }, (_, n) => n * BATCH);
    const items = (from, count, more) => Array.from({ length: count }, (_, n) => ({ ...place(from + n), ...more }));
    await sendBatches(
      client,
      starts.map((from) => () => items(from, BATCH)),
    );
    await wait(1_000);
    const at = new Date().toISOString();
    await wait(1_000);
    const changes = starts.map((from) => () => items(from, BATCH / CHANGED, { country_subentity: 'changed' }));
    await sendBatches(client, changes);
    const first = `${ASSETS}?at=${at}`;
    const start = performance.now();
    while ((await client.send('GET', first)).status !== READY) await wait(ASKED_EACH_MS);
    note(`a table of ${records} records as it was, made in`, `${((performance.now() - start) / 1000).toFixed(0)} s`);
    await timesOf(client, '');
    await timesOf(client, `&at=${at}`);
    const now = await timesOf(client, '');
    note('its lists now', milliseconds(now));
    p99('its lists as it was', await timesOf(client, `&at=${at}`), quantile(now, 0.99) * MOST_TIMES + NOISE_MS);
  } finally {
    await service.stop();
  }
}
