/**
 * What the service makes of its log: the embedded one, and the EventStoreDB that is named; or a double of its protocol, which
 * answers sooner than a server. What others have written to the log should cost nothing.
 */
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { EventStoreDBClient, jsonEvent, NO_STREAM } from '@eventstore/db-client';
import { WebhookReceiver } from '../../examples/demo/receiver.js';
import { measureCreate } from '../create.js';
import { atMost, milliseconds, note, p99, quantile } from '../figures.js';
import { callCli, createClient, spawnService, startService, stopService } from '../service.js';
import { approvalTimes, createOrder } from './approvals.js';
import { isNamed, LOG_NAME, logUnderTest } from './logUnderTest.js';

const APPROVALS = 200;
const NAMES = 200;
const APPENDS = 8_000;
const APPENDERS = 16;
const IDLE_MS = 10_000;
/** A server has to be given them first. */
const FOREIGN = [1_000, isNamed ? 500_000 : 5_000_000];
const TIMES = 5;

export async function measureEventLogs(directory) {
  await measureLog(join(directory, 'embedded'), 'embedded log', undefined);
  const log = await logUnderTest(0);
  await measureLog(join(directory, 'log'), LOG_NAME, log);
  log.stop();
  const medians = [];
  for (const foreign of FOREIGN) medians.push(await measureStart(join(directory, `others-${foreign}`), foreign));
  const [few, many] = medians;
  for (const what of Object.keys(few))
    atMost(`${what}: many events of others beside few`, many[what] / few[what], 1.3, 'times');
}

async function measureLog(directory, name, log) {
  const receiver = await WebhookReceiver.start();
  const caFile = `${directory}.pem`;
  await writeFile(caFile, receiver.certificate);
  const settings = {
    ...(log?.settings ?? { EVENTSTORE_URL: '', MONGODB_URL: '', RABBITMQ_URL: '' }),
    WEBHOOK_CA_FILE: caFile,
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  };
  const service = await startService(directory, settings, log?.tenant);
  try {
    const times = await approvalTimes(service, receiver, APPROVALS);
    p99(`${name}: approval to arrival`, times, 60);
    atMost(`${name}: approval to arrival, half of them`, quantile(times, 0.5), 20, 'ms');
    await measureUnknownNames(name, service);
    if (log?.calls !== undefined) await measureIdle(name, log);
    note('event log', name);
    await measureCreate(service, log && (await besideBareClient(name, log)));
  } finally {
    await service.stop();
    await receiver.stop();
  }
}

/**
 * Appends of an event like that of a create, each to a stream of its own.
 * @returns what is wanted of creates: two such appends and 3 ms more, and half as many with 16 clients
 */
async function besideBareClient(name, { settings }) {
  const client = EventStoreDBClient.connectionString(settings.EVENTSTORE_URL);
  const event = () => jsonEvent({ type: 'ClientTest', data: { text: 'x'.repeat(300) } });
  const append = async () => {
    const start = performance.now();
    await client.appendToStream(`client-${randomUUID()}`, event(), { expectedRevision: NO_STREAM });
    return performance.now() - start;
  };
  const times = [];
  for (let n = 0; n < APPENDS / APPENDERS; n++) times.push(await append());
  const start = performance.now();
  await Promise.all(
    Array.from({ length: APPENDERS }, async () => {
      for (let n = 0; n < APPENDS / APPENDERS; n++) await append();
    }),
  );
  const perSecond = (APPENDS * 1000) / (performance.now() - start);
  await client.dispose();
  note(`${name}: an append of the bare client`, milliseconds(times));
  note(`${name}: appends of ${APPENDERS} of them`, `${Math.round(perSecond)} a second`);
  const half = Math.round(perSecond / 2);
  return {
    medianMs: Number((2 * quantile(times, 0.5) + 3).toFixed(1)),
    perSecond: { 'reference record': half, order: half },
  };
}

/** Requests for tenants that do not exist, each for another one, while orders are written; beside a call that looks nothing up. */
async function measureUnknownNames(name, { client, port }) {
  const writing = { goesOn: true };
  const writer = (async () => {
    for (let n = 0; writing.goesOn; n++) await createOrder(client, n);
  })();
  const unknown = [];
  const floor = [];
  for (let n = 0; n < NAMES; n++) {
    floor.push(await answerTime(port, 'bench.localhost', '/health/live'));
    unknown.push(await answerTime(port, `nobody-${n}.localhost`, '/api/v1/dynamic-assets'));
    await wait(10);
  }
  writing.goesOn = false;
  await writer;
  note(`${name}: a call that looks nothing up, while orders are written`, milliseconds(floor));
  p99(`${name}: an unknown tenant, while orders are written`, unknown, 20 + quantile(floor, 0.99));
}

async function answerTime(port, host, path) {
  const client = createClient(port, host);
  const start = performance.now();
  await client.send('GET', path);
  const time = performance.now() - start;
  client.close();
  return time;
}

async function measureIdle(name, log) {
  await wait(IDLE_MS);
  const before = await log.calls();
  await wait(IDLE_MS);
  // Each of its two threads looks every other second whether the log still answers.
  atMost(`${name}: calls of an idle service`, ((await log.calls()) - before) / (IDLE_MS / 1000), 1.1, 'a second');
}

/** @returns medians in milliseconds, by what they are of */
async function measureStart(directory, foreign) {
  const log = await logUnderTest(foreign);
  const { settings, tenant } = log;
  const timed = async (work) => {
    const start = performance.now();
    const result = await work();
    return { result, ms: performance.now() - start };
  };
  const start = async () => {
    const { result, ms } = await timed(() => spawnService(directory, settings));
    await stopService(result.child);
    return ms;
  };
  const cli = async (...args) => (await timed(() => callCli(directory, settings, ...args))).ms;
  await cli('tenant', 'create', tenant, '--order-model', 'dyn_transport_order');
  const first = await start();
  const times = { start: [], 'client create': [], 'tenant list': [] };
  for (let n = 0; n < TIMES; n++) {
    times.start.push(await start());
    times['client create'].push(await cli('client', 'create', '--tenant', tenant, '--name', `ERP ${n}`));
    times['tenant list'].push(await cli('tenant', 'list'));
  }
  log.stop();
  const count = foreign.toLocaleString('en');
  note(`${count} events of others: first start`, `${first.toFixed(0)} ms`);
  const medians = Object.fromEntries(Object.entries(times).map(([what, each]) => [what, quantile(each, 0.5)]));
  for (const [what, median] of Object.entries(medians))
    note(`${count} events of others: ${what}`, `${median.toFixed(0)} ms`);
  return medians;
}
