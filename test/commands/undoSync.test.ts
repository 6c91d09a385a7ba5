/** The undo of a whole sync session in several requests: each goes on where the one before has ended. */

import { upsertBatch } from '#app/commands/referenceTables/synchronize.js';
import { commitSync, startSync } from '#app/commands/referenceTables/syncs.js';
import type { UndoResult } from '#app/commands/referenceTables/undo.js';
import { undoSync } from '#app/commands/referenceTables/undoSync.js';
import { type Inside, openInside, openTenant } from '../projections/harness.js';

let inside: Inside;
beforeEach(async () => {
  inside = await openInside();
  await openTenant(inside, 'acme');
});
afterEach(() => inside.close());

it('goes on within a clean-up and between batches, says how many records remain, and ends with the table of before', async () => {
  const party = inside.assetType('acme', 'dyn_party');
  const caller = () => inside.caller('acme');
  const batch = (from: number, more: object) =>
    upsertBatch(inside.commands, caller(), party, {
      items: Array.from({ length: 500 }, (_, n) => ({
        external_id: `P${from + n}`,
        name: `Party ${from + n}`,
        ...more,
      })),
    });
  const total = async () => {
    await inside.caughtUp();
    const query = { filters: [], sort: [], offset: 0, limit: 25 };
    return (await inside.readModels.list({ tenant: 'acme', table: 'dyn_party' }, query)).total;
  };
  for (let from = 0; from < 2500; from += 500) await batch(from, { _batch_id: 'before' });
  const { id } = await startSync(inside.commands, caller(), party);
  for (const from of [0, 500, 2500]) await batch(from, { _batch_id: id, notes: 'new' });
  await commitSync(inside.commands, caller(), party, id, { records: 1500 });
  expect(await total()).toBe(1500);

  const answers: UndoResult[] = [];
  let after: string | undefined;
  do {
    const body = after === undefined ? {} : { after };
    const answer = await undoSync(inside.commands, caller(), party, id, body, { hasLeft: () => true });
    answers.push(answer);
    after = answer.next;
  } while (after !== undefined && answers.length < 10);
  expect(answers.map(({ restored, deleted, remaining }) => [restored, deleted, remaining])).toEqual([
    [1000, 0, 2000],
    [500, 0, 1500],
    [0, 500, 1000],
    [500, 0, 500],
    [500, 0, 0],
  ]);
  expect(answers.map(({ unavailable }) => unavailable)).toEqual([0, undefined, undefined, undefined, undefined]);
  expect(await total()).toBe(2500);
  const all = await undoSync(inside.commands, caller(), party, id, {});
  expect(all).toMatchObject({ restored: 0, deleted: 0, unchanged: 3000, remaining: 0 });
});
