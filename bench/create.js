/** Single writes over HTTP: each is answered when it is durable and a read shows it. */
import { atLeast, medianAndP99, milliseconds, note } from './figures.js';
import { kindsFrom } from './places.js';
import { PLATFORM, signIn } from './service.js';

const ASSETS = '/api/v1/dynamic-assets/dyn';
/** Of a service that has just begun with this. */
const FIRST = 500;
/** So many of one kind until the compiler of JavaScript has done with what they run. */
const WARM_UP = 2_000;
const WRITES = 2_000;
const CLIENTS = 16;
/** By all of them together. */
const WRITES_AT_ONCE = 8_000;
/** What is wanted of writes on the embedded default. */
const EMBEDDED = { medianMs: 2, perSecond: { 'reference record': 3_000, order: 2_500 } };

const KINDS = kindsFrom(5_000_000);
const FIRST_OF_UPDATES = 900_000;
const UPDATED = 100;

export async function measureCreate({ client }, { medianMs, p99Ms, perSecond } = EMBEDDED) {
  for (const { table, text, body } of KINDS) {
    const path = `${ASSETS}/${table}/assets`;
    let n = 0;
    const create = () => client.ok('POST', path, body(n++));
    note(`the first ${FIRST} of: create one ${text}, one client`, milliseconds(await timesOf(FIRST, create)));
    await timesOf(WARM_UP, create);
    medianAndP99(`create one ${text}, one client`, await timesOf(WRITES, create), medianMs, p99Ms);

    await timesOf(WARM_UP, create, CLIENTS);
    const start = performance.now();
    const times = await timesOf(WRITES_AT_ONCE, create, CLIENTS);
    const rate = (times.length * 1000) / (performance.now() - start);
    atLeast(`create ${text}s, ${CLIENTS} clients`, rate, perSecond[text], 'a second');
    note('  each', milliseconds(times));
  }
}

/** Of some records and orders, round and round. */
export async function measureUpdate({ client }) {
  for (const { table, text, body, change } of KINDS) {
    const path = `${ASSETS}/${table}/assets`;
    const ids = await createdIds(client, table, UPDATED, (n) => body(FIRST_OF_UPDATES + n));
    let n = 0;
    const update = () => client.ok('PUT', `${path}/${ids[n % UPDATED]}`, change(n++));
    await timesOf(WARM_UP, update);
    const times = await timesOf(WRITES, update);
    medianAndP99(`update one ${text}, one client`, times, EMBEDDED.medianMs, EMBEDDED.p99Ms);
  }
}

/** Each order once; there is no webhook. */
export async function measureApprove(service) {
  const order = { notes: 'to be approved', processing_status: 'validated' };
  const ids = await createdIds(service.client, 'dyn_transport_order', WARM_UP + WRITES, () => order);
  const person = await signIn(service);
  const approve = () =>
    person.ok('POST', `${PLATFORM}/orders/${ids.pop()}/approve`, { override: true, reason: 'It is empty.' });
  await timesOf(WARM_UP, approve);
  const times = await timesOf(WRITES, approve);
  person.close();
  medianAndP99('approve one order, one client', times, EMBEDDED.medianMs, EMBEDDED.p99Ms);
}

async function createdIds(client, table, count, body) {
  const ids = [];
  const create = async (n) => {
    const created = await client.ok('POST', `${ASSETS}/${table}/assets`, body(n));
    ids.push(JSON.parse(created).data.id);
  };
  await timesOf(count, create, CLIENTS);
  return ids;
}

/** @param write gets 0, 1, 2 and so on @returns milliseconds of each write */
async function timesOf(count, write, clients = 1) {
  const times = [];
  let next = 0;
  const writer = async () => {
    while (next < count) {
      const start = performance.now();
      await write(next++);
      times.push(performance.now() - start);
    }
  };
  await Promise.all(Array.from({ length: clients }, writer));
  return times;
}
