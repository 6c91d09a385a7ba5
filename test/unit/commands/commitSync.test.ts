/** A sync session is committed once, wherever the process dies, and only while it is the open one (decision 0034). */
import { ConflictError, ValidationError } from '#app/commands/context.js';
import { upsertBatch } from '#app/commands/referenceTables/synchronize.js';
import { commitSync, startSync } from '#app/commands/referenceTables/syncs.js';
import { standardTables } from '#app/domain/identity/tenantTables.js';
import { SYNC_HOURS } from '#app/domain/limits.js';
import { syncStream, tableStream } from '#app/domain/streams.js';
import { metadata } from '../../contract/eventStoreFixtures.js';
import { LogInMemory } from './logInMemory.js';

const units = standardTables('dyn_stock_order').get('dyn_unit_code');
if (units === undefined) throw new Error('There is no dyn_unit_code.');
const UNITS = units;
const { tenant, actor, correlationId, causationId } = metadata;
const caller = { tenant, actor, correlationId, causationId };
const SYNCS = syncStream(tenant, UNITS.name);

const unit = (code: string, batchId: string) => ({ code, value: code, _batch_id: batchId });

/** A table with A and B of another batch, and C of an open session. */
async function open() {
  const log = new LogInMemory();
  const batch = (...items: object[]) => upsertBatch(log.commands(), caller, UNITS, { items });
  await batch(unit('A', 'monday'), unit('B', 'monday'));
  const { id } = await startSync(log.commands(), caller, UNITS);
  await batch(unit('C', id));
  const codes = async () => {
    const known = await log.commands().readModels.snapshot({ tenant, table: UNITS.name }, { keys: [], ids: [] });
    return known.records.map(({ fields }) => fields.code);
  };
  return {
    log,
    id,
    batch,
    codes,
    start: () => startSync(log.commands(), caller, UNITS),
    commit: (body: object = { records: 1 }, options: Parameters<typeof commitSync>[5] = {}, of = id) =>
      commitSync(log.commands(), caller, UNITS, of, body, options),
    events: (stream: string, type: string) => log.stream(stream).filter((event) => event.type === type).length,
  };
}

// The appends of a commit: the session is closed, the table cleaned up, the commit noted.
test.each([
  { at: 1, stored: false, deleted: 3 },
  { at: 1, stored: true, deleted: 3 },
  { at: 2, stored: false, deleted: 3 },
  { at: 2, stored: true, deleted: 2 },
  { at: 3, stored: false, deleted: 2 },
  { at: 3, stored: true, deleted: 2 },
])('dying at append $at (stored: $stored): what is created after the deletion stays', async (death) => {
  const { log, batch, codes, commit, events } = await open();
  log.dieAtAppend(death.at, death.stored);
  await commit().catch(() => undefined);
  await batch(unit('D', 'by another'));
  const { deleted, operationId } = await commit();
  expect(deleted).toBe(death.deleted);
  expect(await codes()).toEqual(death.deleted === 2 ? ['C', 'D'] : ['C']);
  await batch(unit('E', 'by another'));
  expect(await commit()).toMatchObject({ deleted, operationId });
  expect(await codes()).toContain('E');
  expect(events(tableStream(tenant, UNITS.name), 'TableCleanedUp')).toBe(1);
  expect(events(SYNCS, 'SyncCommitted')).toBe(1);
});

test('without a clean-up it deletes nothing, takes no more batches, and is answered the same again', async () => {
  const { id, log, commit, codes, batch } = await open();
  const kept = { records: 1, clean_up: false };
  await expect(commit({ ...kept, records: 2 })).rejects.toThrow(ValidationError);
  expect(await commit(kept, { guard: { maxPercent: 0 } })).toMatchObject({ deleted: 0 });
  expect(await codes()).toEqual(['A', 'B', 'C']);
  await expect(batch(unit('D', id))).rejects.toThrow(ConflictError);
  const { position } = log;
  expect(await commit(kept)).toMatchObject({ deleted: 0 });
  await expect(commit()).rejects.toThrow(new ConflictError(`${id} was committed without a clean-up.`));
  expect(log.position).toBe(position);
});

test.each<[string, (session: Awaited<ReturnType<typeof open>>) => Promise<unknown>]>([
  ['another one is started', ({ start }) => start()],
  ['a batch of it is refused', ({ id, batch }) => batch({ code: 'A', _batch_id: id, value: 7 }).catch(() => undefined)],
])('a session of which, while it is committed, %s deletes nothing', async (_what, work) => {
  const session = await open();
  session.log.beforeAppend(SYNCS, () => work(session));
  await expect(session.commit()).rejects.toThrow(ConflictError);
  expect(await session.codes()).toEqual(['A', 'B', 'C']);
  expect(session.events(SYNCS, 'SyncClosed')).toBe(0);
});

test('a session that expires while it is committed deletes nothing', async () => {
  const { log, commit, codes } = await open();
  log.beforeAppend(SYNCS, async () => {
    await commit().catch(() => undefined);
    log.pass(SYNC_HOURS);
  });
  log.dieAtAppend(2, false);
  await expect(commit()).rejects.toThrow(ConflictError);
  expect(await codes()).toEqual(['A', 'B', 'C']);
});

test.each<[string, object, Parameters<typeof commitSync>[5], string]>([
  ['without the number of records that it has carried', {}, {}, 'records'],
  ['with fewer than it has carried', { records: 0 }, {}, 'records'],
  ['with more than it has carried', { records: 2 }, {}, 'records'],
  ['where it deletes more than is confirmed', { records: 1, confirm: 1 }, {}, 'confirm'],
  ['where the guard refuses it', { records: 1 }, { guard: { maxPercent: 50 } }, 'confirm'],
])('a commit is refused, and the session stays open, %s', async (_what, body, options, field) => {
  const { log, id, commit, codes, batch, events } = await open();
  const refused = await commit(body, options).catch((error: unknown) => error);
  expect(refused).toMatchObject({ name: ValidationError.name, errors: { [field]: [expect.any(String)] } });
  expect(await codes()).toEqual(['A', 'B', 'C']);
  await batch(unit('D', id));
  expect(await commit({ records: 2, confirm: 2 })).toMatchObject({ deleted: 2 });
  expect(await codes()).toEqual(['C', 'D']);
  expect([events(SYNCS, 'SyncClosed'), log.stream(SYNCS).length]).toEqual([1, 3]);
});

describe('a batch that is refused', () => {
  const bad = { code: 'A', value: 'x'.repeat(5_000) };

  test('is noted in its session, once, with its keys and the beginning of the reason', async () => {
    const { log, id, commit, batch } = await open();
    for (let times = 0; times < 2; times += 1) {
      await expect(batch({ ...bad, _batch_id: id, ['x'.repeat(5_000)]: 1 })).rejects.toThrow(ValidationError);
    }
    const failed = log.stream(SYNCS).filter(({ type }) => type === 'SyncFailed');
    expect(failed).toMatchObject([{ data: { id, reason: expect.any(String), keys: ['A'] } }]);
    await expect(commit()).rejects.toThrow('was refused');
  });

  test('for what may pass, or in a dry run, fails none', async () => {
    const { log, id, commit, batch } = await open();
    log.dieAtAppend(1, false);
    await expect(batch(unit('D', id))).rejects.toThrow('died');
    const dry = upsertBatch(log.commands(), caller, UNITS, { items: [{ ...bad, _batch_id: id }] }, { dryRun: true });
    await expect(dry).rejects.toThrow(ValidationError);
    expect(await commit()).toMatchObject({ deleted: 2 });
  });
});
