/**
 * What one tenant can make the others wait, with legal requests that are sent all at once. A process of its own asks for
 * `/health/live` meanwhile, and creates and lists as another tenant.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { atMost, note } from '../figures.js';
import { endWithThis } from '../interruption.js';
import { callCli, createClient, PLATFORM, signInClient, startService } from '../service.js';

const EMBEDDED = { EVENTSTORE_URL: '', MONGODB_URL: '', RABBITMQ_URL: '' };
const ASSETS = '/api/v1/dynamic-assets/dyn';
/** Wanted of every crowd. */
const HEALTH_MS = 150;
const OTHERS_P99_MS = 250;
const MEMORY_MB = 600;

/** Of the table whose operations are asked for. */
const OPERATIONS = 100;

const repeated = (count, request) => Array.from({ length: count }, () => request);

export async function measureCrowds(directory) {
  const data = join(directory, 'data');
  const created = {};
  for (const name of ['crowd', 'other'])
    created[name] = await callCli(data, EMBEDDED, 'tenant', 'create', name, '--order-model', 'dyn_stock_order');
  const service = await startService(data, EMBEDDED);
  const client = await signInClient(service.port, 'crowd', created.crowd);
  const other = await signInClient(service.port, 'other', created.other);
  const person = createClient(service.port, 'crowd.localhost');
  try {
    const { email, password } = created.crowd.admin;
    const session = JSON.parse(await person.ok('POST', `${PLATFORM}/session`, { email, password }));
    person.headers.authorization = `Bearer ${session.data.token}`;
    const crowds = await crowdsOf(client, person);
    for (const crowd of crowds) await measure(directory, service, other, crowd);
  } finally {
    for (const each of [client, other, person]) each.close();
    await service.stop();
  }
}

/** Makes the data. @returns each crowd's name, who sends it, and its requests */
async function crowdsOf(client, person) {
  await person.ok('POST', `${PLATFORM}/asset-types/dyn_item/fields`, { name: 'story', type: 'LongText' });
  const item = JSON.parse(
    await client.ok('POST', `${ASSETS}/dyn_item/assets`, { external_id: 'I', name: 'Tea', story: 'x'.repeat(14_000) }),
  ).data.id;
  const lines = Array.from({ length: 1_000 }, (_, n) => ({ item_id: item, quantity: n + 1 }));
  const body = { customer_reference: 'PO', lines };
  const order = JSON.parse(await client.ok('POST', `${ASSETS}/dyn_stock_order/assets`, body)).data.id;
  const texts = Array.from({ length: 14 }, (_, n) => `text_${n}`);
  for (const name of texts)
    await person.ok('POST', `${PLATFORM}/asset-types/dyn_unit_code/fields`, {
      name,
      type: 'LongText',
      filterable: true,
    });
  const items = Array.from({ length: 1_000 }, (_, n) => ({ external_id: `B${n}`, story: 'z'.repeat(3_900) }));
  const batch = (name) => ({ items: items.map((each) => ({ ...each, name })) });
  for (let n = 0; n < OPERATIONS; n++) {
    const few = Array.from({ length: 10 }, (_, at) => ({ external_id: `O${at}`, name: `name ${n}` }));
    await client.ok('POST', `${ASSETS}/dyn_item/assets/batch`, { items: few });
  }
  const operations = { method: 'GET', path: `${ASSETS}/dyn_item/operations` };
  const long = (m, n) => `${m} ${n} `.repeat(20_000).slice(0, 62_000);
  return [
    {
      name: '300 documents of an order of 1,000 lines',
      by: person,
      requests: repeated(300, { method: 'GET', path: `${PLATFORM}/orders/${order}` }),
    },
    {
      name: '300 OpenAPI documents',
      by: client,
      requests: repeated(300, { method: 'GET', path: '/openapi.json' }),
    },
    {
      name: '12 batches of 4 MB',
      by: client,
      requests: Array.from({ length: 12 }, (_, n) => ({
        method: 'POST',
        path: `${ASSETS}/dyn_item/assets/batch`,
        body: JSON.stringify(batch(`name ${n}`)),
      })),
    },
    { name: '300 pages of their operations', by: client, requests: repeated(300, operations) },
    { name: '300 of them whose client leaves', by: client, requests: repeated(300, operations), leaveAfterMs: 100 },
    {
      name: '100 orders of 1,000 lines',
      by: client,
      requests: repeated(100, {
        method: 'POST',
        path: `${ASSETS}/dyn_stock_order/assets`,
        body: JSON.stringify({ lines: lines.map(({ quantity }) => ({ quantity })) }),
      }),
    },
    {
      name: '20 records of 870 KB with 14 filterable texts',
      by: client,
      requests: Array.from({ length: 20 }, (_, m) => ({
        method: 'POST',
        path: `${ASSETS}/dyn_unit_code/assets`,
        body: JSON.stringify({
          code: `C${m}`,
          value: 'v',
          ...Object.fromEntries(texts.map((name, n) => [name, long(m, n)])),
        }),
      })),
    },
  ];
}

async function measure(directory, service, other, { name, by, requests, leaveAfterMs }) {
  const file = join(directory, 'requests.json');
  const whole = requests.map((request) => ({ ...request, headers: by.headers }));
  await writeFile(file, JSON.stringify({ port: service.port, requests: whole, leaveAfterMs }));
  const looking = program('bystanders.js', String(service.port), other.headers.host, other.headers.authorization);
  await wait(500);
  const memory = watchMemory(service);
  const crowd = JSON.parse(await program('requests.js', file).said);
  looking.child.stdin.end();
  const { health, create, list } = JSON.parse(await looking.said);
  const answers = Object.entries(crowd.statuses).map(([status, count]) => `${count} × ${status}`);
  note(name, `${crowd.ms} ms: ${answers.join(', ')}`);
  atMost('  longest wait of /health/live', health.longest, HEALTH_MS, 'ms');
  atMost("  another tenant's create, p99", create.p99, OTHERS_P99_MS, 'ms');
  atMost("  another tenant's list, p99", list.p99, OTHERS_P99_MS, 'ms');
  atMost('  most memory', await memory.end(), MEMORY_MB, 'MB');
  // The next crowd does not find work of this one.
  await wait(3_000);
}

function program(name, ...args) {
  const path = fileURLToPath(new URL(name, import.meta.url));
  const child = spawn(process.execPath, [path, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  endWithThis(child);
  return { child, said: Promise.all([text(child.stdout), once(child, 'exit')]).then(([said]) => said) };
}

function watchMemory(service) {
  let isOver = false;
  let most = 0;
  const watching = (async () => {
    for (; !isOver; await wait(50)) most = Math.max(most, await service.residentMb());
  })();
  return {
    async end() {
      isOver = true;
      await watching;
      return most;
    },
  };
}
