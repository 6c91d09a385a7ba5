/** A create with a key is carried out once, wherever the process dies and whoever sends it again. */
import type { Commands } from '#app/commands/context.js';
import { createRecord } from '#app/commands/records.js';
import { standardTables } from '#app/domain/identity/tenantTables.js';
import { IDEMPOTENCY_KEY_HOURS } from '#app/domain/limits.js';
import { type EventToAppend, type RecordedEvent, WrongExpectedRevisionError } from '#app/ports/eventStore.js';
import { metadata } from '../../contract/eventStoreFixtures.js';

const orders = standardTables('dyn_stock_order').get('dyn_stock_order');
if (orders === undefined) throw new Error('There is no dyn_stock_order.');
const ORDERS = orders;
const { tenant, actor, correlationId, causationId } = metadata;
const caller = { tenant, actor, correlationId, causationId };
const BODY = { notes: 'by post', customer_reference: 'PO 1' };

/** A log in memory, whose process may die before or after an append is stored. */
function openLog() {
  const streams = new Map<string, RecordedEvent[]>();
  let appends = 0;
  let ids = 0;
  let minutes = 0;
  let dies: { readonly at: number; readonly stored: boolean } | undefined;
  const store = (stream: string, events: readonly EventToAppend[], expected: number | 'no-stream') => {
    const stored = streams.get(stream) ?? [];
    if ((expected === 'no-stream' ? -1 : expected) !== stored.length - 1) {
      throw new WrongExpectedRevisionError(stream, expected, stored.length - 1);
    }
    for (const event of events) stored.push({ ...event, stream, revision: stored.length, position: ++appends });
    streams.set(stream, stored);
    return { revision: stored.length - 1, position: appends };
  };
  let asked = 0;
  const commands = {
    eventStore: {
      append: async (stream: string, events: readonly EventToAppend[], expected: number | 'no-stream') => {
        asked += 1;
        const isDying = dies?.at === asked;
        if (isDying && dies?.stored === false) throw new Error('died');
        const result = store(stream, events, expected);
        if (isDying) throw new Error('died');
        return result;
      },
      readStream: async (stream: string, from = 0, to = Number.MAX_SAFE_INTEGER) =>
        (streams.get(stream) ?? []).filter(({ revision }) => revision >= from && revision <= to),
      lastAppend: async (stream: string) => streams.get(stream)?.at(-1),
      head: async () => appends,
    },
    now: () => new Date(Date.UTC(2026, 10, 22, 0, minutes++)).toISOString().replace('Z', '000Z'),
    newId: () => `00000000-0000-7000-8000-${String(++ids).padStart(12, '0')}`,
  } as unknown as Commands;
  return {
    send: (body: unknown = BODY, key = 'k', client = 'c') =>
      createRecord(commands, { ...caller, actor: { kind: 'client', id: client } }, ORDERS, body, key),
    dieAt: (at: number, stored: boolean) => {
      asked = 0;
      dies = { at, stored };
    },
    pass: (hours: number) => {
      minutes += hours * 60;
    },
    orders: () => [...streams.keys()].filter((stream) => stream.startsWith('order-')).length,
    appends: () => appends,
  };
}

test('the same body again is answered as before, and nothing is appended', async () => {
  const log = openLog();
  const first = await log.send();
  const appends = log.appends();
  const { customer_reference, notes } = BODY;
  for (const body of [BODY, { customer_reference, notes }]) {
    expect(await log.send(body)).toEqual({ ...first, position: appends });
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
