/** A batch or a clean-up with a key is carried out once, wherever the process dies and whoever sends it again. */
import { upsertBatch } from '#app/commands/referenceTables/synchronize.js';
import { cleanUpTableOnce, upsertBatchOnce } from '#app/commands/referenceTables/synchronizeOnce.js';
import { standardTables } from '#app/domain/identity/tenantTables.js';
import { MAX_EVENTS_LOOKED_THROUGH } from '#app/domain/limits.js';
import { tableStream } from '#app/domain/streams.js';
import { metadata } from '../../contract/eventStoreFixtures.js';
import { LogInMemory } from './logInMemory.js';

const units = standardTables('dyn_stock_order').get('dyn_unit_code');
if (units === undefined) throw new Error('There is no dyn_unit_code.');
const UNITS = units;
const { tenant, actor, correlationId, causationId } = metadata;
const caller = { tenant, actor, correlationId, causationId };
const STREAM = tableStream(tenant, UNITS.name);
const DEATHS = [1, 2, 3].flatMap((at) => [false, true].map((stored) => ({ at, stored })));

const unit = (code: string, value = code, batchId = 'b') => ({ code, value, _batch_id: batchId });

async function open() {
  const log = new LogInMemory();
  await upsertBatch(log.commands(), caller, UNITS, { items: [unit('A', 'old', 'a'), unit('B', 'B', 'a')] });
  const body = { items: [unit('A', 'new'), unit('B'), unit('C')] };
  return {
    log,
    batch: (items: unknown = body.items, key = 'k') => upsertBatchOnce(log.commands(), caller, UNITS, { items }, key),
    cleanUp: (key = 'c') => cleanUpTableOnce(log.commands(), caller, UNITS, { batch_id: 'b' }, key, {}),
    /** Somebody else's. */
    change: (value: string) => upsertBatch(log.commands(), caller, UNITS, { items: [{ code: 'A', value }] }),
    events: (type: string) => log.stream(STREAM).filter((event) => event.type === type).length,
  };
}

const COUNTS = { created: 1, updated: 1, unchanged: 1 };

test.each(DEATHS)(
  'dying at append $at (stored: $stored): a batch is there once, and what came after it stays',
  async (death) => {
    const { log, batch, change, events } = await open();
    log.dieAtAppend(death.at, death.stored);
    await batch().catch(() => undefined);
    await change('by another');
    const { position: _, isReplayed = false, ...answer } = await batch();
    expect(answer.counts).toEqual(COUNTS);
    // Which of them wrote the batch.
    expect(isReplayed).toBe(death.at > 2 || (death.at === 2 && death.stored));
    expect(log.stream(STREAM)[Number(answer.operationId)]?.data).toMatchObject({
      created: [{ fields: { code: 'C' } }],
    });
    await change('by another again');
    expect(await batch()).toMatchObject({ ...answer, isReplayed: true });
    const known = await log.commands().readModels.snapshot({ tenant, table: UNITS.name }, { keys: [], ids: [] });
    expect(known.records.find(({ fields }) => fields.code === 'A')?.fields.value).toBe('by another again');
    // The first, the one in question, and two by another.
    expect(events('BatchUpserted')).toBe(4);
  },
);

test.each(DEATHS)(
  'dying at append $at (stored: $stored): a clean-up deletes once, and counts what it deleted',
  async (death) => {
    const { log, batch, cleanUp, events } = await open();
    await batch([unit('C')]);
    log.dieAtAppend(death.at, death.stored);
    await cleanUp().catch(() => undefined);
    expect((await cleanUp()).deleted).toBe(2);
    await upsertBatch(log.commands(), caller, UNITS, { items: [unit('D', 'D', 'c')] });
    expect((await cleanUp()).deleted).toBe(2);
    expect(events('TableCleanedUp')).toBe(1);
  },
);

test('many at once, in processes of their own, are one', async () => {
  const { batch, events } = await open();
  const answers = await Promise.all(Array.from({ length: 10 }, () => batch()));
  expect(answers.map(({ counts }) => counts)).toEqual(Array(10).fill(COUNTS));
  expect(answers.filter(({ isReplayed }) => isReplayed === true)).toHaveLength(9);
  expect(events('BatchUpserted')).toBe(2);
});

test('other items, or another operation, are refused with the same key', async () => {
  const { batch, cleanUp } = await open();
  await batch();
  const refused = expect.objectContaining({ errors: { 'Idempotency-Key': [expect.any(String)] } });
  await expect(batch([unit('A', 'new'), unit('B')])).rejects.toThrow(refused);
  await expect(cleanUp('k')).rejects.toThrow(refused);
});

test('where too much was written since to tell, it is refused', async () => {
  const { log, batch } = await open();
  log.dieAtAppend(2, false);
  await batch().catch(() => undefined);
  log.fill(STREAM, MAX_EVENTS_LOOKED_THROUGH);
  await expect(batch()).rejects.toThrow('use a new Idempotency-Key');
});

describe('a clean-up that is sent again while the first still waits', () => {
  /** The first to count waits until somebody says so. */
  async function openWaiting() {
    const log = new LogInMemory();
    const [first, other] = [log.commands(), log.commands()];
    await upsertBatch(first, caller, UNITS, { items: [unit('A', 'A', 'a')] });
    let goOn: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const waits = jest.fn(() => gate);
    const { countOutsideBatch } = first.readModels;
    const readModels = Object.assign(Object.create(first.readModels), {
      countOutsideBatch: async (...asked: Parameters<typeof countOutsideBatch>) => {
        if (waits.mock.calls.length === 0) await waits();
        return countOutsideBatch(...asked);
      },
    });
    const slow = { ...first, readModels };
    const cleanUp = (commands: typeof first) =>
      cleanUpTableOnce(commands, caller, UNITS, { batch_id: 'b' }, 'same', {});
    const create = (commands: typeof first) => upsertBatch(commands, caller, UNITS, { items: [unit('X', 'X', 'c')] });
    const left = async () =>
      (await other.readModels.snapshot({ tenant, table: UNITS.name }, { keys: [], ids: [] })).records.map(
        ({ fields }) => fields.code,
      );
    const cleanedUp = () => log.stream(STREAM).filter(({ type }) => type === 'TableCleanedUp').length;
    return { slow, other, cleanUp, create, goOn, waits, left, cleanedUp };
  }

  test('to the same process deletes nothing that was created after the first', async () => {
    const { slow, cleanUp, create, goOn, waits, left, cleanedUp } = await openWaiting();
    const first = cleanUp(slow);
    while (waits.mock.calls.length === 0) await new Promise(setImmediate);
    const created = create(slow);
    const again = cleanUp(slow);
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
    goOn();
    expect([(await first).deleted, (await again).deleted]).toEqual([1, 1]);
    await created;
    expect(await left()).toEqual(['X']);
    expect(cleanedUp()).toBe(1);
  });

  test('to another process, which has its turn first, deletes nothing that was created after that', async () => {
    const { slow, other, cleanUp, create, goOn, waits, left, cleanedUp } = await openWaiting();
    const first = cleanUp(slow);
    while (waits.mock.calls.length === 0) await new Promise(setImmediate);
    expect((await cleanUp(other)).deleted).toBe(1);
    await create(other);
    goOn();
    expect((await first).deleted).toBe(1);
    expect(await left()).toEqual(['X']);
    expect(cleanedUp()).toBe(1);
  });
});
