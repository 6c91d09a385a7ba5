/** The undo of a large operation: piece by piece, in one request or several, by one process or several (decision 0026). */
import { createRecord } from '#app/commands/records.js';
import { cleanUpTable, upsertBatch } from '#app/commands/referenceTables/synchronize.js';
import { undoOnce } from '#app/commands/referenceTables/synchronizeOnce.js';
import { type UndoOptions, undoOperation } from '#app/commands/referenceTables/undo.js';
import { type Inside, openInside, openTenant } from '../projections/harness.js';

const RECORDS = 2500;
let one: Inside;
let operation: string;

beforeEach(async () => {
  one = await openInside();
  await openTenant(one, 'acme');
  const [caller, party] = [one.caller('acme'), one.assetType('acme', 'dyn_party')];
  for (let from = 0; from < RECORDS; from += 500) {
    const items = Array.from({ length: 500 }, (_, n) => ({ external_id: `P${from + n}`, name: `Party ${from + n}` }));
    await upsertBatch(one.commands, caller, party, { items });
  }
  const { operationId = '' } = await cleanUpTable(one.commands, caller, party, { batch_id: 'a typing error' });
  operation = operationId;
});
afterEach(() => one.close());

const undo = (inside: Inside, body: object = {}, options?: UndoOptions) =>
  undoOperation(
    inside.commands,
    inside.caller('acme'),
    inside.assetType('acme', 'dyn_party'),
    operation,
    body,
    options,
  );

async function total(): Promise<number> {
  await one.caughtUp();
  const query = { filters: [], sort: [], offset: 0, limit: 25 };
  return (await one.readModels.list({ tenant: 'acme', table: 'dyn_party' }, query)).total;
}

const isGone = { hasLeft: () => true };

it('all is undone by one call', async () => {
  const done = { restored: RECORDS, unchanged: 0, leftInAll: 0, unavailable: 0, remaining: 0, next: undefined };
  expect(await undo(one)).toMatchObject(done);
  expect(await total()).toBe(RECORDS);
});

it('it ends with the piece at which the client has left; what is done stands, and the next request goes on behind it', async () => {
  const first = await undo(one, undefined, isGone);
  expect(first).toMatchObject({ restored: 1000, unavailable: 0, remaining: 1500, next: expect.any(String) });
  expect(await total()).toBe(1000);
  const second = await undo(one, { after: first.next }, isGone);
  expect(second).toMatchObject({ restored: 1000, remaining: 500, next: expect.any(String) });
  expect(second.unavailable).toBeUndefined();
  const last = await undo(one, { after: second.next }, isGone);
  expect(last).toMatchObject({ restored: 500, remaining: 0, next: undefined });
  expect(await undo(one)).toMatchObject({ restored: 0, unchanged: RECORDS, remaining: 0 });
});

it('a dry run counts as far as it comes, how many remain, and where it goes on; nothing is written', async () => {
  expect(await undo(one, undefined, { dryRun: true })).toMatchObject({ restored: RECORDS, remaining: 0 });
  const first = await undo(one, undefined, { ...isGone, dryRun: true });
  expect(first).toMatchObject({ restored: 1000, remaining: 1500 });
  expect(await undo(one, { after: first.next }, { dryRun: true })).toMatchObject({ restored: 1500, remaining: 0 });
  expect(await total()).toBe(0);
});

it("others write to the table between two pieces: none of them waits for the undo's end", async () => {
  const created: Promise<{ readonly position: number }>[] = [];
  const hasLeft = (): boolean => {
    const party = { external_id: `between ${created.length}`, name: 'Another' };
    created.push(createRecord(one.commands, one.caller('acme'), one.assetType('acme', 'dyn_party'), party));
    return false;
  };
  const { position, restored } = await undo(one, undefined, { hasLeft });
  const [first, second] = await Promise.all(created);
  expect([restored, created.length]).toEqual([RECORDS, 2]);
  expect(first?.position).toBeLessThan(second?.position ?? 0);
  expect(second?.position).toBeLessThan(position);
});

it('by two processes at once, each record comes back once', async () => {
  const two = await openInside(one);
  try {
    const undone = await Promise.all([undo(one), undo(two)]);
    expect(undone.map(({ restored, unchanged }) => restored + unchanged)).toEqual([RECORDS, RECORDS]);
    expect(undone.reduce((sum, { restored }) => sum + restored, 0)).toBe(RECORDS);
    expect(await total()).toBe(RECORDS);
  } finally {
    await two.close();
  }
});

it('with a key that was sent before a crash, the answer tells what both have undone', async () => {
  const keyed = (options: UndoOptions) => {
    const [caller, party] = [one.caller('acme'), one.assetType('acme', 'dyn_party')];
    const named = { table: party.name, key: 'k', of: operation, body: {} };
    return undoOnce(one.commands, caller, named, (own) =>
      undoOperation(one.commands, own, party, operation, {}, options),
    );
  };
  const hasLeft = (): boolean => {
    throw new Error('killed');
  };
  await expect(keyed({ hasLeft })).rejects.toThrow('killed');
  expect(await total()).toBe(1000);
  const answer = { restored: RECORDS, unchanged: 0, remaining: 0 };
  expect(await keyed({})).toMatchObject(answer);
  expect(await keyed({})).toMatchObject(answer);
});
