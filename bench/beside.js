/** Single creates while others of the same tenant write batches, and delete thousands by clean-ups. */
import { setTimeout as wait } from 'node:timers/promises';
import { milliseconds, note, p99, quantile } from './figures.js';
import { kindsFrom, place } from './places.js';

const ASSETS = '/api/v1/dynamic-assets/dyn';
const BATCH = 1000;
const WRITERS = 2;
/** So many batches come round, each time with other names. */
const ROUND = 40;
/** Deleted by one clean-up: all of one sync that the next one does not hold. */
const CLEANED_UP = 5_000;
const SETTLE_MS = 1_000;
const MEASURED_MS = 6_000;
/** Wanted of a create beside its own tenant's batches, in milliseconds. */
const MOST_MS = 150;

const bodyOf = (item) => JSON.stringify({ items: Array.from({ length: BATCH }, (_, i) => item(i)) });

/** Made beforehand: the client that measures makes nothing else meanwhile. */
const BATCHES = Array.from({ length: 2 * ROUND }, (_, n) =>
  bodyOf((i) => {
    const { name, city_name } = place((n % ROUND) * BATCH + i);
    return { external_id: `P-${(n % ROUND) * BATCH + i}`, name: n < ROUND ? name : `${name} 2`, city_name };
  }),
);
const SYNCS = ['odd', 'even'].map((sync) => ({
  sync,
  bodies: Array.from({ length: CLEANED_UP / BATCH }, (_, n) =>
    bodyOf((i) => ({ code: `${sync}-${n * BATCH + i}`, value: place(n * BATCH + i).name, _batch_id: sync })),
  ),
}));

const CREATES = kindsFrom(6_000_000);

export async function measureBeside({ client }) {
  await measureCreates(client, 'nothing else', []);
  await measureCreates(client, `${WRITERS} writers of batches`, [batches]);
  await measureCreates(client, `clean-ups of ${CLEANED_UP}`, [cleanUps]);
  await measureCreates(client, 'batches and clean-ups', [batches, cleanUps]);
}

async function measureCreates(client, besideWhat, others) {
  let going = true;
  const beside = others.map((other) => other(client, () => going));
  if (others.length > 0) await wait(SETTLE_MS);
  try {
    for (const { text, table, body } of CREATES) {
      const times = [];
      const until = performance.now() + MEASURED_MS;
      while (performance.now() < until) {
        const start = performance.now();
        await client.ok('POST', `${ASSETS}/${table}/assets`, body(next++));
        times.push(performance.now() - start);
      }
      p99(`create one ${text} beside ${besideWhat}`, times, MOST_MS);
      note('  longest', `${quantile(times, 1).toFixed(0)} ms of ${times.length}`);
    }
  } finally {
    going = false;
  }
  const done = (await Promise.all(beside)).flat();
  if (done.length > 0) note('  meanwhile', `${done.length} done, ${milliseconds(done)}`);
}

let next = 0;

/** @returns milliseconds of each batch */
async function batches(client, isGoing) {
  const times = [];
  let number = 0;
  const writer = async () => {
    while (isGoing()) {
      const body = BATCHES[number++ % BATCHES.length];
      times.push(await took(() => client.ok('POST', `${ASSETS}/dyn_party/assets/batch`, body)));
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, writer));
  return times;
}

/** @returns milliseconds of each clean-up */
async function cleanUps(client, isGoing) {
  const times = [];
  const path = `${ASSETS}/dyn_packing_type/assets`;
  for (let number = 0; isGoing(); number++) {
    const { sync, bodies } = SYNCS[number % SYNCS.length];
    for (const body of bodies) await client.ok('POST', `${path}/batch`, body);
    times.push(await took(() => client.ok('POST', `${path}/clean-up`, { batch_id: sync })));
  }
  return times;
}

async function took(work) {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
