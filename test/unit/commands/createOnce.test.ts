/** A create with a key is carried out once, wherever the process dies and whoever sends it again. */
import { createRecord } from '#app/commands/records.js';
import { standardTables } from '#app/domain/identity/tenantTables.js';
import { IDEMPOTENCY_KEY_HOURS } from '#app/domain/limits.js';
import { orderStream } from '#app/domain/streams.js';
import { metadata } from '../../contract/eventStoreFixtures.js';
import { LogInMemory } from './logInMemory.js';

const orders = standardTables('dyn_stock_order').get('dyn_stock_order');
if (orders === undefined) throw new Error('There is no dyn_stock_order.');
const ORDERS = orders;
const { tenant, actor, correlationId, causationId } = metadata;
const caller = { tenant, actor, correlationId, causationId };
const BODY = { notes: 'by post', customer_reference: 'PO 1' };

function openLog() {
  const log = new LogInMemory();
  const commands = log.commands();
  return {
    send: (body: unknown = BODY, key = 'k', client = 'c') =>
      createRecord(commands, { ...caller, actor: { kind: 'client', id: client } }, ORDERS, body, key),
    dieAt: (at: number, stored: boolean) => log.dieAtAppend(at, stored),
    pass: (hours: number) => log.pass(hours),
    /** What happens before the order of this id is made. */
    beforeOrder: (id: string, work: () => Promise<unknown>) => log.beforeAppend(orderStream(tenant, id), work),
    inAnotherProcess: () =>
      createRecord(log.commands(), { ...caller, actor: { kind: 'client', id: 'c' } }, ORDERS, BODY, 'k'),
    orders: () => log.streams('order').length,
    appends: () => log.position,
  };
}

test('the same body again is answered as before, and nothing is appended', async () => {
  const log = openLog();
  const first = await log.send();
  const appends = log.appends();
  const { customer_reference, notes } = BODY;
  for (const body of [BODY, { customer_reference, notes }]) {
    expect(await log.send(body)).toEqual({ ...first, position: appends, isReplayed: true });
  }
  expect([log.orders(), log.appends()]).toEqual([1, appends]);
});

test.each([1, 2, 3].flatMap((at) => [false, true].map((stored) => ({ at, stored }))))(
  'dying at append $at (stored: $stored): sent again there is one order, and its answer stays',
  async ({ at, stored }) => {
    const log = openLog();
    log.dieAt(at, stored);
    const died = await log.send().catch(() => undefined);
    const again = await log.send();
    expect(again).toMatchObject({ id: died?.id ?? again.id, record: { notes: 'by post' } });
    // Which of them made the order.
    expect(again.isReplayed ?? false).toBe(at > 2 || (at === 2 && stored));
    expect((await log.send()).record).toEqual(again.record);
    expect(log.orders()).toBe(1);
  },
);

test('many at once make one order and have one answer', async () => {
  const log = openLog();
  const answers = await Promise.all(Array.from({ length: 100 }, () => log.send()));
  expect(new Set(answers.map(({ record }) => JSON.stringify(record))).size).toBe(1);
  expect(log.orders()).toBe(1);
});

test('sent to two processes at once it makes one order, and both have its answer', async () => {
  // Ids are counted, so the order has the same one in each log.
  const { id } = await openLog().send();
  const log = openLog();
  let other: unknown;
  log.beforeOrder(id, async () => {
    other = await log.inAnotherProcess();
  });
  const one = await log.send();
  expect(other).toMatchObject({ id, record: one.record });
  expect(log.orders()).toBe(1);
});

test('an id of the client’s own is refused beside a key', async () => {
  const log = openLog();
  const id = '0190a000-0000-4000-8000-000000000001';
  await expect(log.send({ ...BODY, id })).rejects.toMatchObject({ errors: { id: [expect.any(String)] } });
  expect(log.appends()).toBe(0);
});

test('another body is refused, also where the first was never answered, and stores nothing', async () => {
  const log = openLog();
  log.dieAt(2, false);
  await expect(log.send()).rejects.toThrow('died');
  const refused = expect.objectContaining({ errors: { 'Idempotency-Key': [expect.any(String)] } });
  await expect(log.send({ ...BODY, notes: 'other' })).rejects.toThrow(refused);
  await log.send();
  await expect(log.send({ ...BODY, notes: 'other' })).rejects.toThrow(refused);
  expect(log.orders()).toBe(1);
});

test('a body that is refused by itself leaves the key free', async () => {
  const log = openLog();
  await expect(log.send({ nonsense: 1 })).rejects.toThrow('nonsense is not a field');
  expect(log.appends()).toBe(0);
  await log.send();
});

test('a key is its client’s own, and is forgotten after its time', async () => {
  const log = openLog();
  await log.send();
  await log.send(BODY, 'k', 'another client');
  expect(log.orders()).toBe(2);
  log.pass(IDEMPOTENCY_KEY_HOURS - 1);
  await log.send();
  expect(log.orders()).toBe(2);
  log.pass(1);
  await log.send({ notes: 'a new request' });
  expect(log.orders()).toBe(3);
});
