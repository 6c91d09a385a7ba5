/**
 * What projecting one record costs, in the projector's thread alone: events that a service has written are appended anew to
 * another log, one by one, by 16 at once, and all at once, while the embedded read models follow it.
 */
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { openSqliteEventStore } from '../../dist/adapters/eventstore/sqlite/store.js';
import { openSqliteReadModels } from '../../dist/adapters/readmodels/sqlite/store.js';
import { atMost, note, quantile } from '../figures.js';
import { kindsFrom, place } from '../places.js';
import { startService } from '../service.js';

const ASSETS = '/api/v1/dynamic-assets/dyn';
const BEFORE = 5_000;
/** A projector compiles what it runs during its first thousands of events. */
const WARM_UP = 5_000;
const ONE_BY_ONE = 2_000;
const AT_ONCE = 4_000;
const WRITERS = 16;
/** Wanted of a record that comes alone, in microseconds. */
const MOST_US = 300;

const KINDS = kindsFrom(1_000_000);

/** What ends at each mark of a transaction. */
const PARTS = [
  ['read', 'heard', 'read'],
  ['what and whose', 'read', 'wanted'],
  ['begin', 'wanted', 'begun'],
  ['write', 'begun', 'applied'],
  ['commit', 'applied', 'told'],
  ['tell', 'told', 'done'],
];

/** @param directory for what is written */
export async function measureProjection(directory) {
  for (const { table, text, body } of KINDS) {
    const source = join(directory, `source-${table}`);
    await fill(source, table, body);
    await measure(join(directory, `projected-${table}`), source, text);
  }
}

/** With single creates, as events of their own. */
async function fill(directory, table, body) {
  const service = await startService(directory, { EVENTSTORE_URL: '', MONGODB_URL: '', RABBITMQ_URL: '' });
  try {
    for (let n = 0; n < BEFORE; n += 1_000) {
      const items = Array.from({ length: 1_000 }, (_, index) => place(n + index));
      await service.client.ok('POST', `${ASSETS}/dyn_location/assets/batch`, { items });
    }
    let n = 0;
    const creates = async () => {
      while (n < WARM_UP + ONE_BY_ONE + AT_ONCE)
        await service.client.ok('POST', `${ASSETS}/${table}/assets`, body(n++));
    };
    await Promise.all(Array.from({ length: WRITERS }, creates));
  } finally {
    await service.stop();
  }
}

async function measure(directory, sourceDirectory, text) {
  await mkdir(directory, { recursive: true });
  const files = { log: join(directory, 'events.db'), readModels: join(directory, 'readmodels.db') };
  const events = await eventsOf(join(sourceDirectory, 'events.db'));
  const log = await openSqliteEventStore({ file: files.log });
  const projector = await startProjector(files);
  const readModels = await openSqliteReadModels({ file: files.readModels });
  const append = (event) => log.append(event.stream, [event], 'any');
  const shown = (position) => readModels.waitFor('records', position, 60_000);
  const take = (count) => events.splice(0, count);
  try {
    const creates = WARM_UP + ONE_BY_ONE + AT_ONCE;
    for (const event of take(events.length - creates)) await append(event);
    for (const event of take(WARM_UP)) await shown((await append(event)).position);

    await projector.figures();
    const before = await projector.figures();
    for (const event of take(ONE_BY_ONE)) await shown((await append(event)).position);
    const alone = await projector.figures();
    tellAlone(text, alone.turns, alone.processorNs - before.processorNs);

    let last = 0;
    await Promise.all(
      Array.from({ length: WRITERS }, async () => {
        for (let [event] = take(1); event !== undefined; [event] = take(1)) {
          last = Math.max(last, (await append(event)).position);
        }
      }),
    );
    await shown(last);
    const together = await projector.figures();
    const each = (together.processorNs - alone.processorNs) / 1_000 / AT_ONCE;
    note(
      `${text}s of ${WRITERS} at once`,
      `${each.toFixed(0)} µs of a processor each, ${(AT_ONCE / together.turns.length).toFixed(1)} in a transaction`,
    );
  } finally {
    await projector.stop();
    await readModels.close();
  }
  await measureBacklog(log, { ...files, readModels: join(directory, 'anew.db') }, text);
  await log.close();
}

function tellAlone(text, turns, processorNs) {
  const took = (from, to) =>
    quantile(
      turns.map((turn) => (turn[to] - turn[from]) * 1_000),
      0.5,
    );
  const parts = PARTS.map(([name, from, to]) => `${name} ${took(from, to).toFixed(0)}`).join(', ');
  atMost(`one ${text} is projected in`, took('heard', 'done'), MOST_US, 'µs');
  note('  of which', parts);
  note('  of a processor', `${(processorNs / 1_000 / ONE_BY_ONE).toFixed(0)} µs`);
}

/** All of it once more, by a projector that begins anew. */
async function measureBacklog(log, files, text) {
  const head = await log.head();
  const before = performance.now();
  const projector = await startProjector(files);
  const readModels = await openSqliteReadModels({ file: files.readModels });
  try {
    await readModels.waitFor('records', head, 60_000);
    const { processorNs } = await projector.figures();
    const took = performance.now() - before;
    note(
      `${head} events behind, most of single ${text}s`,
      `${((took * 1_000) / head).toFixed(0)} µs each, ${(processorNs / 1_000 / head).toFixed(0)} of a processor`,
    );
  } finally {
    await projector.stop();
    await readModels.close();
  }
}

async function eventsOf(file) {
  const log = await openSqliteEventStore({ file });
  const head = await log.head();
  const events = [];
  for await (const slice of log.subscribe({ after: 0, signal: new AbortController().signal })) {
    events.push(...slice.events);
    if (slice.position >= head) break;
  }
  await log.close();
  return events;
}

async function startProjector(files) {
  const worker = new Worker(new URL('./projector.js', import.meta.url), { workerData: files });
  await once(worker, 'message');
  return {
    async figures() {
      worker.postMessage('figures');
      return (await once(worker, 'message'))[0];
    },
    async stop() {
      worker.postMessage('stop');
      await once(worker, 'exit');
    },
  };
}
