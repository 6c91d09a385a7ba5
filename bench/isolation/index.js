/**
 * Single creates of two tenants while a third one synchronises many records, beside the same when nobody does. The limit
 * that the machine sets is measured in the same turns: a handler of another process that only flushes some bytes to the
 * same disk. All clients run on the machine as well.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { atMost, milliseconds, note, quantile } from '../figures.js';
import { endWithThis } from '../interruption.js';
import { kindsFrom } from '../places.js';
import { callCli, createClient, signInClient, startService } from '../service.js';

const EMBEDDED = { EVENTSTORE_URL: '', MONGODB_URL: '', RABBITMQ_URL: '' };
const TENANTS = ['second', 'third'];
const KINDS = kindsFrom(5_000_000);
const TURN_MS = 2_000;
const WARM_UP_TURNS = 1;
const IDLE_TURNS = 4;
/** Between two creates, as of somebody who works. */
const REST_MS = 5;
/** Wanted of the p99 beside the synchronisation, in times of the idle one. */
const TIMES = 3;

const program = (name) => fileURLToPath(new URL(name, import.meta.url));

export async function measureIsolation(directory, records) {
  const data = join(directory, 'data');
  const credentials = new Map();
  for (const tenant of TENANTS) {
    const created = await callCli(data, EMBEDDED, 'tenant', 'create', tenant, '--order-model', 'dyn_transport_order');
    credentials.set(tenant, created);
  }
  const service = await startService(data, EMBEDDED);
  const bare = await startBareHandler(directory);
  const clients = [];
  try {
    const works = [];
    for (const tenant of TENANTS) {
      const client = await signInClient(service.port, tenant, credentials.get(tenant));
      clients.push(client);
      for (const { table, text, body } of KINDS) {
        const path = `/api/v1/dynamic-assets/dyn/${table}/assets`;
        works.push({
          name: `create one ${text} of the ${tenant} tenant`,
          ask: (n) => client.ok('POST', path, body(n)),
        });
      }
    }
    works.push({ name: 'a bare handler that flushes', ask: (n) => bare.client.ok('POST', '/', { n }) });
    await turns(works, WARM_UP_TURNS, () => true);
    const idle = await turns(works, IDLE_TURNS, () => true);
    const sync = synchronise(service, records);
    const beside = await turns(works, Number.POSITIVE_INFINITY, () => sync.isGoing);
    if (Number.isNaN(sync.ended)) throw new Error('The synchronisation failed.');
    note('synchronised meanwhile', `${records} records, ${Math.round(sync.perSecond())}/s`);
    for (const { name } of works) compare(name, idle.get(name), beside.get(name), name.startsWith('create'));
  } finally {
    for (const client of clients) client.close();
    bare.stop();
    await service.stop();
  }
}

function compare(name, idle, beside, isWanted) {
  note(name, milliseconds(idle));
  note('  while another tenant synchronises', milliseconds(beside));
  const times = quantile(beside, 0.99) / quantile(idle, 0.99);
  if (isWanted) atMost('  its p99, beside the idle one', times, TIMES, 'times');
  else note('  its p99, beside the idle one', `${times.toFixed(1)} times`);
}

/** Each work by turns. @returns milliseconds of each call, by name of the work */
async function turns(works, count, isGoing) {
  const times = new Map(works.map(({ name }) => [name, []]));
  for (let turn = 0; turn < count && isGoing(); turn++) {
    for (const { name, ask } of works) {
      const until = performance.now() + TURN_MS;
      while (performance.now() < until && isGoing()) {
        const start = performance.now();
        await ask(next++);
        times.get(name).push(performance.now() - start);
        await wait(REST_MS);
      }
    }
  }
  return times;
}

let next = 0;

async function startBareHandler(directory) {
  const child = spawn(process.execPath, [program('bareHandler.js'), join(directory, 'flushed')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  endWithThis(child);
  const [port] = await once(child.stdout, 'data');
  const client = createClient(Number(port), 'localhost');
  return {
    client,
    stop() {
      client.close();
      child.kill();
    },
  };
}

/** Batches of new records, one after another, by a process of its own: what it costs to make them is not our client's. */
function synchronise({ port, client }, records) {
  const child = spawn(
    process.execPath,
    [program('synchronisation.js'), String(port), client.headers.authorization, String(records)],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  endWithThis(child);
  const begun = performance.now();
  const sync = { isGoing: true, perSecond: () => (records * 1000) / (sync.ended - begun), ended: undefined };
  child.once('exit', (code) => {
    sync.isGoing = false;
    sync.ended = code === 0 ? performance.now() : Number.NaN;
  });
  return sync;
}
