/** What every adapter of the read models port must do. */

import { KEPT_DELETED_DAYS } from '#app/domain/limits.js';
import type { RecordChange } from '#app/domain/referenceTable/changes.js';
import type { HistoryEntry } from '#app/ports/orderHistory.js';
import { MismatchError, type ReadModelWriter, type RebuildableReadModels } from '#app/ports/readModelWriter.js';
import type { ReadModels } from '#app/ports/readSide.js';
import { describeActivity } from './readModelsActivity.js';
import { describeDeliveries } from './readModelsDeliveries.js';
import { describeDeliveryRebuilds } from './readModelsDeliveryRebuild.js';
import { describeDropTenant } from './readModelsDropTenant.js';
import {
  acmePlaces,
  at,
  fill,
  found,
  historyEntry,
  id,
  insert,
  type OpenReadModels,
  openedOnce,
  places,
  write,
} from './readModelsFixture.js';
import { describeLayouts } from './readModelsLayouts.js';
import { describeLists } from './readModelsLists.js';
import { describeParked } from './readModelsParked.js';
import { describeProof } from './readModelsProof.js';
import { describeRebuilds, describeReset } from './readModelsRebuild.js';
import { describeRecordEvents } from './readModelsRecordEvents.js';
import { describeRecords } from './readModelsRecords.js';
import { describeAnswerSizes, describeSizes } from './readModelsSizes.js';

const NO_HISTORY = { entries: [], before: 0, pages: 0, total: 0 };
const asStored = ({ changes, ...entry }: HistoryEntry) => ({ ...entry, changes: JSON.stringify(changes) });

const unknown = { tenant: 'acme', table: 'unheard_of' };

export function describeReadModels(name: string, open: OpenReadModels): void {
  const emptied = openedOnce(open);

  describe(`read models: ${name}`, () => {
    let readModels: ReadModels;
    let writer: ReadModelWriter & RebuildableReadModels;

    beforeEach(async () => {
      ({ readModels, writer } = await emptied());
    });

    describe('what clean-ups deleted', () => {
      beforeEach(() => fill(writer, [insert(1, {}, 'old'), insert(2, {}, 'new'), insert(3, {}), insert(4, {}, 'old')]));

      const apply = (change: Parameters<typeof writer.applyToTable>[1][number], revision = 5) =>
        write(writer, () => writer.applyToTable(acmePlaces, [change], { revision, at: at(revision) }));

      test('a change of a record that is gone is a mismatch', async () => {
        await expect(apply({ kind: 'delete', id: id(9) })).rejects.toThrow(MismatchError);
      });

      test('a sweep keeps what goes, to be read in pages by its revision, as far as no later one has it', async () => {
        const page = async (cleanUp: number, after?: string, limit = 2) => {
          const asked = { after, limit, isCounted: true };
          const { records, ...rest } = await readModels.deletedRecords(acmePlaces, cleanUp, asked);
          return { ...rest, records: records.map((record) => [record.id, record.batchId, record.fields.code]) };
        };
        expect(await page(5)).toEqual({ records: [], total: 0 });
        await apply({ kind: 'patch', id: id(4), at: at(5), set: { name: 'Changed', size: 4 } }, 4);
        await apply({ kind: 'cleanUp', batchId: 'new' }, 5);
        expect(await page(5)).toEqual({
          records: [
            [id(1), 'old', 'C1'],
            [id(3), null, 'C3'],
          ],
          total: 3,
          next: id(3),
        });
        expect(await page(5, id(3))).toEqual({ records: [[id(4), 'old', 'C4']], total: 1 });
        expect((await page(5, undefined, 3)).next).toBeUndefined();
        const [last] = (await readModels.deletedRecords(acmePlaces, 5, { after: id(3), limit: 1 })).records;
        expect(last?.fields).toEqual({ code: 'C4', name: 'Changed', size: 4, open: null, notes: null });
        await apply(insert(1, { name: 'again' }), 6);
        await apply({ ...insert(3, {}), id: id(9) } as RecordChange, 7);
        await apply({ kind: 'cleanUp', batchId: 'new' }, 8);
        expect((await page(5)).records).toEqual([[id(4), 'old', 'C4']]);
        expect((await page(8)).records.map(([of]) => of)).toEqual([id(1), id(9)]);
        // Ids are kept of all that went, also where a key has had another one since.
        expect(await readModels.cleanedUpIds(acmePlaces, 5, { limit: 9 })).toEqual([id(3), id(4)]);
        expect(await readModels.cleanedUpIds(acmePlaces, 8, { limit: 1 })).toEqual([id(1)]);
        expect(await readModels.cleanedUpIds(acmePlaces, 8, { limit: 9, behind: id(1) })).toEqual([id(9)]);
        expect(await readModels.cleanedUpIds(acmePlaces, 7, { limit: 9 })).toEqual([]);
        expect(await readModels.cleanedUpIds(unknown, 5, { limit: 9 })).toEqual([]);
      });

      test('what a sweep kept is forgotten by one that comes more than KEPT_DELETED_DAYS later, and not sooner', async () => {
        const later = (days: number) => new Date(Date.parse(at(0)) + days * 86_400_000).toISOString();
        const cleanUpAfter = async (days: number, revision: number, code: number) => {
          const changes = [insert(code, {}, 'gone'), { kind: 'cleanUp', batchId: 'new' }] as const;
          await write(writer, () => writer.applyToTable(acmePlaces, changes, { revision, at: later(days) }));
        };
        await apply({ kind: 'cleanUp', batchId: 'new' }, 5);
        await cleanUpAfter(KEPT_DELETED_DAYS - 1, 6, 20);
        expect(await readModels.cleanedUpIds(acmePlaces, 5, { limit: 9 })).toHaveLength(3);
        for (const n of [1, 2, 3]) await cleanUpAfter(KEPT_DELETED_DAYS + n, 6 + n, 20 + n);
        expect(await readModels.cleanedUpIds(acmePlaces, 5, { limit: 9 })).toEqual([]);
        expect(await readModels.deletedRecords(acmePlaces, 5, { limit: 9 })).toEqual({ records: [] });
        const { formerIds } = await readModels.snapshot(acmePlaces, { keys: ['C1', 'C20', 'C23'], ids: [] });
        expect(new Set(formerIds.keys())).toEqual(new Set(['C20', 'C23']));
      });
    });

    describe('checkpoints', () => {
      test('are 0 at first, and stand with what was written with them', async () => {
        expect(await readModels.checkpoint('records')).toBe(0);
        await write(writer, () => writer.defineTable(acmePlaces, places), { records: 7, deliveries: 3 });
        expect(await readModels.checkpoint('records')).toBe(7);
        expect(await writer.checkpoint('deliveries')).toBe(3);
      });

      test('the place of the log stands with them, and stays where a commit names none', async () => {
        const place = { log: id(1), position: 7, eventId: id(2) };
        await writer.begin();
        await writer.commit(new Map([['records', 7]]), place);
        expect(await readModels.anchor()).toEqual(place);
        await write(writer, async () => {}, { records: 8 });
        expect(await writer.anchor()).toEqual(place);
        await writer.begin();
        await writer.commit(new Map([['records', 9]]), { log: id(1), position: 9 });
        expect(await readModels.anchor()).toEqual({ log: id(1), position: 9 });
      });

      test('waiting ends when the position is reached, at once where it has been, false after the time-out', async () => {
        await write(writer, async () => {}, { waited: 7 });
        expect(await readModels.waitFor('waited', 7, 0)).toBe(true);
        expect(await readModels.waitFor('waited', 8, 20)).toBe(false);
        const waiting = Promise.all([readModels.waitFor('waited', 9, 10_000), readModels.waitFor('never', 1, 50)]);
        await write(writer, async () => {}, { waited: 10 });
        expect(await waiting).toEqual([true, false]);
      });

      test('a rollback leaves nothing behind', async () => {
        await fill(writer, [insert(1, {})]);
        await writer.begin();
        await writer.applyToTable(acmePlaces, [insert(2, {}), { kind: 'cleanUp', batchId: 'x' }], {
          revision: 9,
          at: at(9),
        });
        await writer.addHistory('acme', id(1), [historyEntry(0)]);
        expect(await found(readModels, {})).toEqual({ records: ['C1'], total: 1 });
        await writer.rollback();
        await write(writer, () => writer.applyToTable(acmePlaces, [insert(3, {})], { revision: 5, at: at(5) }), {
          records: 1,
        });
        expect(await found(readModels, {})).toEqual({ records: ['C1', 'C3'], total: 2 });
        expect(await readModels.history('acme', id(1), { page: 1, perPage: 10 })).toEqual(NO_HISTORY);
      });
    });

    describe('order history', () => {
      test('is kept by order, oldest first, each revision once', async () => {
        const entries = [historyEntry(0), historyEntry(1, { reasons: ['no stock'], statusFrom: 'saved' })];
        await write(writer, () => writer.addHistory('acme', id(1), entries));
        await write(writer, () => writer.addHistory('acme', id(1), [historyEntry(1), historyEntry(2)]));
        const all = await readModels.history('acme', id(1), { page: 1, perPage: 10 });
        const stored = [...entries, historyEntry(2)].map(asStored);
        expect(all).toEqual({ entries: stored, before: 0, pages: 1, total: 3 });
        const page = await readModels.history('acme', id(1), { page: 2, perPage: 1 });
        expect(page).toEqual({ entries: [stored[1]], before: 1, pages: 3, total: 3 });
        expect(await readModels.history('acme', id(1), { page: 4, perPage: 1 })).toMatchObject({
          entries: [],
          total: 3,
        });
        expect(await readModels.history('other', id(1), { page: 1, perPage: 10 })).toEqual(NO_HISTORY);
        expect(await readModels.history('acme', id(2), { page: 1, perPage: 10 })).toEqual(NO_HISTORY);
      });

      test('tells the latest approval of each of some orders', async () => {
        const approval = (revision: number) =>
          historyEntry(revision, { eventType: 'OrderApproved', warnings: [{ code: 'no_webhook' }] });
        const spoof = historyEntry(4, { reasons: ['"eventType":"OrderApproved"'] });
        await write(writer, async () => {
          await writer.addHistory('acme', id(1), [historyEntry(0), approval(1), historyEntry(2), approval(3), spoof]);
          await writer.addHistory('acme', id(2), [approval(0)]);
          await writer.addHistory('acme', id(3), [historyEntry(0)]);
        });
        const asked = [id(1), id(3), id(9)];
        expect(await readModels.approvals('acme', asked)).toEqual(new Map([[id(1), approval(3)]]));
        expect(await readModels.approvals('acme', [])).toEqual(new Map());
        expect(await readModels.approvals('other', asked)).toEqual(new Map());
      });
    });
  });
  describeRecords(name, emptied);
  describeLists(name, emptied);
  describeLayouts(name, emptied);
  describeAnswerSizes(name, emptied);
  describeSizes(name, emptied);
  describeParked(name, emptied);
  describeReset(name, emptied);
  describeRebuilds(name, emptied);
  describeProof(name, emptied);
  describeDropTenant(name, open);
  describeDeliveries(name, emptied);
  describeActivity(name, emptied);
  describeRecordEvents(name, emptied);
  describeDeliveryRebuilds(name, emptied);
}
