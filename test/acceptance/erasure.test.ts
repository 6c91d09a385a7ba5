/** On all engines (npm run test:all): after an erasure no answer of any operation has the erased values, nor what is sent, also after a rebuild. */
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { openSqlite } from '#app/adapters/openSqlite.js';
import { type ProductionEngines, startProductionEngines } from '../engines/productionEngines.js';
import { isRepetition } from '../onProductionEngines/repetition.js';
import { type Json, operationsOf } from './apiDocument.js';
import { addWebhook, approve, quickDelivery, reaches, validatedOrder } from './export.js';
import { addPerson } from './people.js';
import { Receiver } from './receiver.js';
import { party } from './samples.js';
import { Service } from './service.js';
import { wholeDocument, withTables } from './tableDocument.js';
import { ASSETS, PLATFORM, type TenantClient } from './tenant.js';
import { useService } from './useService.js';

/** In each value that will be erased. */
const SECRET = /zaandam/i;
const REASON = 'Request 4711';

const receiver = Receiver.ofTests();
let engines: ProductionEngines | undefined;
const { acme, service } = useService(async () => {
  engines = isRepetition ? await startProductionEngines() : undefined;
  return {
    tenants: { acme: 'dyn_stock_order' },
    env: { ...engines?.env, ...quickDelivery(receiver), CHECKPOINT_MINUTES: '1' },
  };
});
afterAll(() => engines?.dispose());

/** Values of path parameters, several for those that name records. */
const ids: { [parameter: string]: readonly string[] } = {
  table: ['dyn_party', 'dyn_stock_order', 'dyn_order_line'],
  page: ['audit'],
};
const add = (parameter: string, ...values: readonly string[]): void => {
  ids[parameter] = [...(ids[parameter] ?? []), ...values];
};
/** A moment at which all of it is there. */
let then = '';
/** A moment before all of it. */
let early = '';
let orderPosition = '';
let approvedPath = '';
const keyed = { body: { ...party('KEYED'), name: 'Zaandam keyed' }, headers: { 'Idempotency-Key': 'once' } };

const entries = z.object({ data: z.array(z.looseObject({ id: z.string(), event_id: z.string() })) });

/** A path for each set of values that its parameters can have. */
function pathsOf(template: string): readonly string[] {
  const name = /\{(\w+)\}/.exec(template)?.[1];
  if (name === undefined) return [template];
  return (ids[name] ?? ['1']).flatMap((value) => pathsOf(template.replace(`{${name}}`, value)));
}

async function get(path: string): Promise<string> {
  const token = await acme().tokenFor(path);
  for (;;) {
    const { status, text } = await acme().send('GET', path, { token });
    // A table as it was is being made, or others are.
    if (status !== 202 && status !== 429) return text;
    await wait(20);
  }
}

/** The paths whose answers have a value that is to be erased, of all operations that read. */
async function found(): Promise<readonly string[]> {
  const document: Json = withTables(await wholeDocument(acme()));
  const reads = operationsOf(document).filter(({ method }) => method === 'GET');
  expect(reads.length).toBeGreaterThan(50);
  // Other tables have the same operations.
  const others = /\/dyn_(?!party\/|order_line\/|stock_order\/)\w+\//;
  const paths = reads
    .filter(({ path }) => !others.test(path))
    .flatMap(({ path }) => pathsOf(path))
    .flatMap((path) => [path, ...more(path)]);
  const having: string[] = [];
  for (const path of new Set(paths)) if (SECRET.test(await get(path))) having.push(path);
  return having;
}

/** The same path at an earlier moment, compared with it, by a filter, and for each event. */
function more(path: string): readonly string[] {
  const isOfOrders = /stock_order|order_line|\/orders/.test(path);
  if (path.endsWith('/compare')) return [`${path}?from=${early}&to=${then}`];
  if (path.endsWith('/proof')) return (ids.event ?? []).map((event) => `${path}?event=${event}`);
  if (path.endsWith('/assets'))
    return [`${path}?at=${isOfOrders ? orderPosition : then}`, `${path}?filter[name]=aanda`];
  return /\/assets\/|\/orders\/|\/info$/.test(path) ? [`${path}?at=${isOfOrders ? orderPosition : then}`] : [];
}

const erase = async (...args: string[]): Promise<void> => {
  const { code, stderr } = await service().cli('erase', '--tenant', 'acme', '--reason', REASON, ...args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
};

let erased: { readonly party: string; readonly deleted: string; readonly order: string; readonly line: string };
/** Another order, and the line that was in it when it was made. */
let rejected: { readonly order: string; readonly line: string };
let userId = 0;
let kept: { readonly clean: string; readonly batch: string };

beforeAll(async () => {
  const tenant = acme();
  early = new Date().toISOString();
  const webhook = await addWebhook(tenant, receiver.url('/orders'), { events: ['order.approved'] });
  const eva = await addPerson(tenant, 'Zaandam', ['admin']);
  userId = eva.id;
  const { order, line, buyer } = await validatedOrder(tenant);
  await tenant.update('dyn_party', buyer.id, { name: 'Zaandam One', city_name: 'Zaandam' });
  const key = String(buyer.external_id);
  const batch = await tenant.batch('dyn_party', [
    { ...party(key), name: 'Zaandam Two', _batch_id: 'b' },
    { ...party('GONE'), name: 'Zaandam gone', _batch_id: 'a' },
  ]);
  const keyedParty = z
    .object({ data: z.object({ id: z.string() }) })
    .parse((await tenant.postRecord('dyn_party', keyed.body, { headers: keyed.headers })).body).data.id;
  await tenant.batch('dyn_party', [{ ...party('KEYED'), name: 'Zaandam keyed', _batch_id: 'b' }]);
  const [gone] = (await tenant.list('dyn_party', 'filter[external_id]=GONE')).data;
  await tenant.update('dyn_stock_order', order.id, { customer_reference: 'Zaandam order' });
  await tenant.update('dyn_order_line', line.id, { description: 'Zaandam line' });
  await eva.call('PUT', `/orders/${order.id}`, { processing_status: 'validated' });
  await approve(tenant, order.id);
  await reaches(tenant, order.id, 'submitted');
  const [call] = await receiver.received('/orders', 1);
  expect(String(call?.body)).toMatch(SECRET);
  const clean = await tenant.cleanUp('dyn_party', 'b');
  rejected = await rejectedOrder(tenant, eva);
  then = new Date().toISOString();
  const history = await tenant.send('GET', `${ASSETS}/dyn_stock_order/assets/${order.id}/history`);
  orderPosition = /.*"position":(\d+)/s.exec(history.text)?.[1] ?? '';
  const activity = entries.parse((await tenant.platform('GET', '/activity?limit=12')).body).data;
  add('entry_id', ...activity.map(({ id }) => id));
  add('event', ...activity.map(({ event_id }) => event_id));
  add('asset_id', buyer.id, order.id, line.id, gone?.id ?? '', rejected.order, rejected.line);
  add('order_id', order.id, rejected.order);
  add('webhook_id', webhook.id);
  add('delivery_id', String(call?.headers['webhook-id']));
  add('operation_id', batch.operation_id ?? '', clean.operation_id ?? '');
  add('user_id', String(userId));
  add('client_id', tenant.client.client_id);
  approvedPath = `${PLATFORM}/webhooks/${webhook.id}/deliveries/${String(call?.headers['webhook-id'])}`;
  while (!(await get(approvedPath)).includes('"state":"succeeded"')) await wait(20);
  expect((await tenant.platform('DELETE', `/users/${userId}`)).status).toBeLessThan(300);
  erased = { party: buyer.id, deleted: gone?.id ?? '', order: order.id, line: line.id };
  kept = { clean: clean.operation_id ?? '', batch: batch.operation_id ?? '' };
  // It is named by a request that was kept.
  add('asset_id', keyedParty);
  ids.keyed = [keyedParty];
});

/** It was made with a line, which was removed. */
async function rejectedOrder(tenant: TenantClient, person: Awaited<ReturnType<typeof addPerson>>) {
  const body = { notes: 'Zaandam notes', lines: [{ quantity: 1, description: 'Zaandam first' }] };
  const { id, lines } = z
    .object({ data: z.object({ id: z.string(), lines: z.array(z.object({ id: z.string() })) }) })
    .parse((await tenant.postRecord('dyn_stock_order', body)).body).data;
  await tenant.update('dyn_stock_order', id, { lines: [] });
  const answer = await person.call('POST', `/orders/${id}/reject`, { reasons: ['Zaandam has moved'] });
  expect(answer.status).toBe(200);
  return { order: id, line: lines[0]?.id ?? '' };
}

test('before, each kind of answer has them', async () => {
  const having = (await found()).join('\n');
  for (const path of ['/dyn_party/assets', '/history', '/body', 'at=', '/compare?', 'filter', `${PLATFORM}/activity`])
    expect(having).toContain(path);
});

test('afterwards none has', async () => {
  for (const id of [erased.party, erased.deleted, ids.keyed?.[0] ?? ''])
    await erase('--table', 'dyn_party', '--record', id);
  for (const { order, line } of [erased, rejected]) {
    await erase('--table', 'dyn_stock_order', '--record', order);
    await erase('--table', 'dyn_order_line', '--record', line, '--order', order);
  }
  await erase('--user', String(userId));
  expect(await found()).toEqual([]);
  expect((await acme().get('dyn_party', erased.party)).name).toBe('erased');
  const { text } = await acme().platform('GET', '/activity?kind=data.erased&limit=100');
  expect(text.split(REASON)).toHaveLength(9);
});

test('nor has what is answered or sent again', async () => {
  const again = await acme().postRecord('dyn_party', keyed.body, { headers: keyed.headers });
  expect(again.text).not.toMatch(SECRET);
  const undone = await acme().postUndo('dyn_party', kept.clean, { body: {} });
  expect(undone).toMatchObject({ status: 200, text: expect.not.stringMatching(SECRET) });
  expect((await acme().get('dyn_party', erased.deleted)).name).toBe('erased');
  expect((await acme().platform('POST', `${approvedPath.slice(PLATFORM.length)}/resend`)).status).toBeLessThan(300);
  const calls = await receiver.received('/orders', 2);
  expect(String(calls[1]?.body)).not.toMatch(SECRET);
  expect(String(calls[1]?.body)).toContain('"customer_reference":null');
});

test('nor do they come back by a rebuild or a kill, and the read models are equal to the log', async () => {
  expect((await service().cli('projections', 'rebuild', '--tenant', 'acme')).code).toBe(0);
  await service().restart('kill');
  expect(await found()).toEqual([]);
  expect(await service().cli('projections', 'verify', '--tenant', 'acme')).toMatchObject({
    code: 0,
    stdout: 'acme: equal to the log.\n',
  });
});

test.each([
  [['--table', 'dyn_party', '--record', '0198c1f2-0000-7000-8000-000000000001'], 'has ever existed in dyn_party.'],
  [['--table', 'dyn_order_line', '--record', '1'], 'name the order as well'],
  [['--user', '1'], 'can still sign in'],
  [['--user', '1', '--table', 'dyn_party'], 'Name --table and --record, or --user.'],
])('%p is refused', async (args, message) => {
  const { code, stderr } = await service().cli('erase', '--tenant', 'acme', '--reason', REASON, ...args);
  expect({ isRefused: code !== 0, stderr }).toEqual({ isRefused: true, stderr: expect.stringContaining(message) });
});

// This tests the embedded log; `migrate.test.ts` tests copies to the other engine.
(isRepetition ? describe.skip : describe)('a log that is written again with migrate --erase', () => {
  let copy: Service;
  const target = () => `${service().dataDir}-erased`;
  const filesIn = async (directory: string): Promise<readonly string[]> =>
    (await readdir(directory, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name));
  const filesWith = async (directory: string): Promise<readonly string[]> => {
    const having = await Promise.all(
      (await filesIn(directory)).map(async (file) => ((await readFile(file, 'latin1')).match(SECRET) ? [file] : [])),
    );
    return having.flat();
  };
  const onCopy = (sql: string): void => {
    const db = openSqlite(join(target(), 'events.db'));
    db.exec(sql);
    db.close();
  };
  let checkpoint = '';
  const verified = () => copy.cli('audit', 'verify', '--checkpoint', checkpoint);

  beforeAll(async () => {
    checkpoint = join(service().dataDir, 'kept');
    await writeFile(checkpoint, (await service().cli('audit', 'checkpoint')).stdout);
    await service().stop();
  });
  afterAll(() => rm(target(), { recursive: true, force: true }));

  test('has the same tree, and nothing of what is erased', async () => {
    const places = ['--from', service().dataDir, '--to', target()];
    expect(await service().cli('migrate', ...places, '--erase')).toMatchObject({ code: 0 });
    await cp(join(service().dataDir, 'keys'), join(target(), 'keys'), { recursive: true });
    copy = new Service(target(), {});
    const stdout = expect.stringMatching(/\d\d events have lost erased values/);
    expect(await verified()).toMatchObject({ code: 0, stdout });
    await copy.start();
    while (!(await copy.readiness()).text.includes('"ready"')) await wait(50);
    await copy.stop();
    expect(await filesWith(service().dataDir)).toContain(join(service().dataDir, 'events.db'));
    expect(await filesIn(target())).toContainEqual(expect.stringMatching(/rows\/acme\.[^.]+\.db$/));
    expect(await filesWith(target())).toEqual([]);
  });

  test('shows an event that says so, and that no erasure names', async () => {
    const forged = `UPDATE events SET metadata = json_set(metadata, '$[5]', NULL, '$[6]', NULL, '$[7]', 'AAAA') WHERE position = 3`;
    onCopy(forged);
    expect(await verified()).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('no erasure in the log names it'),
    });
  });
});
