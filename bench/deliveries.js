/** Webhook deliveries to receivers of which some are slow and some fail at first, beside a bare HTTP client. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import PQueue from 'p-queue';
import { Agent, request } from 'undici';
import { isNamed, logUnderTest } from './engines/logUnderTest.js';
import { dropDatabase, ownPlaces } from './engines/ownPlaces.js';
import { atMost, note, quantile, share } from './figures.js';
import { Receivers } from './receivers.js';
import { PLATFORM, signIn, startService } from './service.js';

const ORDERS = '/api/v1/dynamic-assets/dyn/dyn_transport_order/assets';
const IDLE_APPROVALS = 60;
const APPROVALS = 400;
const APPROVERS = 8;
/** Of 20 webhooks two are slow. */
const PATHS = Array.from({ length: 20 }, (_, n) => (n % 10 === 0 ? `/slow/${n}` : `/fast/${n}`));
/** As the service's default. */
const WEBHOOK_CONCURRENCY = 50;
const RETRY_MS = 50;
const LATE = 60;
const APPROVALS_BESIDE_LATE = 80;
const APPROVED_EVERY_MS = 250;

export async function measureDeliveries(directory) {
  const receivers = await Receivers.start();
  const caFile = join(directory, 'ca.pem');
  await writeFile(caFile, receivers.certificate);
  const places = ownPlaces(process.env);
  const log = isNamed ? await logUnderTest(0) : undefined;
  const settings = {
    ...log?.settings,
    ...places,
    WEBHOOK_CA_FILE: caFile,
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    WEBHOOK_CONCURRENCY: String(WEBHOOK_CONCURRENCY),
    WEBHOOK_BACKOFF_MS: `0,${RETRY_MS}`,
  };
  const service = await startService(join(directory, 'data'), settings, log?.tenant);
  const person = await signIn(service);
  try {
    await measureIdle(service.client, person, receivers);
    await measureSustained(service, person, receivers);
    // The last one, since most of what it asks for is never sent.
    await measureBesideLate(service.client, person, receivers);
    note('memory of the service', `${(await service.residentMb()).toFixed(0)} MB`);
  } finally {
    person.close();
    await service.stop();
    await receivers.stop();
    if (places.MONGODB_URL !== undefined) await dropDatabase(places.MONGODB_URL);
  }
}

/** @returns the ids of so many validated orders */
async function makeOrders(client, count) {
  const order = { customer_reference: 'PO', processing_status: 'validated' };
  const creating = new PQueue({ concurrency: APPROVERS });
  const create = async () => JSON.parse(await client.ok('POST', ORDERS, order)).data.id;
  return creating.addAll(Array.from({ length: count }, () => create));
}

const approve = (person, id) =>
  person.ok('POST', `${PLATFORM}/orders/${id}/approve`, { override: true, reason: 'It has no lines.' });

/** From the call that approves to the arrival at the receiver, one order after another. */
async function measureIdle(client, person, receivers) {
  const { data } = JSON.parse(await person.ok('POST', `${PLATFORM}/webhooks`, { url: receivers.url('/first') }));
  const times = [];
  for (const id of await makeOrders(client, IDLE_APPROVALS)) {
    times.push(await receivers.delivered(1, () => approve(person, id)));
  }
  await person.ok('DELETE', `${PLATFORM}/webhooks/${data.id}`);
  atMost('approval to arrival at an idle system, p50', quantile(times, 0.5), 20, 'ms');
  note('approval to arrival at an idle system, p99', `${quantile(times, 0.99).toFixed(1)} ms`);
}

/** Arrivals at one webhook that answers at once, while sixty of the same tenant have more than they can take. */
async function measureBesideLate(client, person, receivers) {
  const paths = ['/first', ...Array.from({ length: LATE }, (_, n) => `/late/${n}`)];
  const webhooks = await Promise.all(
    paths.map((path) => person.ok('POST', `${PLATFORM}/webhooks`, { url: receivers.url(path) })),
  );
  const sentAt = new Map();
  const ids = await makeOrders(client, APPROVALS_BESIDE_LATE);
  // Never so many: it forgets what came before.
  void receivers.delivered(Number.MAX_SAFE_INTEGER, () => undefined);
  for (const id of ids) {
    sentAt.set(id, performance.timeOrigin + performance.now());
    await approve(person, id);
    await wait(APPROVED_EVERY_MS);
  }
  const times = (await receivers.calls())
    .filter(({ path }) => path === '/first')
    .map(({ body, arrivedAt }) => arrivedAt - sentAt.get(JSON.parse(Buffer.from(body)).validated_order.id));
  for (const webhook of webhooks) await person.ok('DELETE', `${PLATFORM}/webhooks/${JSON.parse(webhook).data.id}`);
  note(`beside ${LATE} receivers that take 5 s, arrived`, `${times.length} of ${ids.length}`);
  // The first ones came while nobody knew which receivers are slow.
  const known = times.slice(-Math.round(ids.length / 2));
  atMost(`beside ${LATE} receivers that take 5 s, the second half, p50`, quantile(known, 0.5), 200, 'ms');
  note(
    '  slowest of the second half; of all',
    `${Math.round(quantile(known, 1))}; ${Math.round(quantile(times, 1))} ms`,
  );
}

/** From the first approval to the last arrival; then the bare client sends the same, retries and all. */
async function measureSustained({ client, processorMs }, person, receivers) {
  for (const path of PATHS) await person.ok('POST', `${PLATFORM}/webhooks`, { url: receivers.url(path) });
  const ids = await makeOrders(client, APPROVALS);
  const count = APPROVALS * PATHS.length;
  const approving = new PQueue({ concurrency: APPROVERS });
  const before = await processorMs();
  const ms = await receivers.delivered(count, () => approving.addAll(ids.map((id) => () => approve(person, id))));
  const processor = (await processorMs()) - before;
  const calls = await receivers.calls();
  const bareMs = await receivers.delivered(count, () => sendAll(calls, receivers));
  const bareCalls = await receivers.calls();
  const retried = calls.filter(({ times }) => times > 1).length / count;
  const bytes = quantile(
    calls.map(({ body }) => body.length),
    0.5,
  );
  note('deliveries', `${count} of ${bytes} bytes, ${(retried * 100).toFixed(0)} % failed at first`);
  const perSecond = (time) => (count * 1000) / time;
  note(
    'all that is for fast receivers has arrived after',
    `${fastSeconds(calls).toFixed(1)} s; from the bare client ${fastSeconds(bareCalls).toFixed(1)} s`,
  );
  note('processor of the service', `${(processor / count).toFixed(2)} ms a delivery`);
  share('deliveries, beside a bare client', perSecond(ms), perSecond(bareMs), 0.5, 'deliveries/s');
}

/** Between the first arrival and the last one at a fast receiver. */
function fastSeconds(calls) {
  const first = Math.min(...calls.map(({ arrivedAt }) => arrivedAt));
  const fast = calls.filter(({ path }) => path.startsWith('/fast/'));
  return (Math.max(...fast.map(({ arrivedAt }) => arrivedAt)) - first) / 1000;
}

/** Posts each call until it succeeds; as many at once as the service makes. */
async function sendAll(calls, receivers) {
  const dispatcher = new Agent({ connect: { ca: receivers.certificate } });
  const posting = new PQueue({ concurrency: WEBHOOK_CONCURRENCY });
  const post = async ({ path, headers, body }) => {
    const { host: _, connection: __, ...sent } = headers;
    const answer = await request(receivers.url(path), { method: 'POST', dispatcher, headers: sent, body });
    await answer.body.dump();
    return answer.statusCode < 300;
  };
  const deliver = async (call) => {
    while (!(await posting.add(() => post(call)))) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  };
  await Promise.all(calls.map(deliver));
  await dispatcher.close();
}
