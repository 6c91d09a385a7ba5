import { setTimeout as wait } from 'node:timers/promises';
import type { OutOfOrder } from '#app/ports/projectionProgress.js';
import type { ReadModelWriter, RebuildableReadModels, StepwiseWriter } from '#app/ports/readModelWriter.js';
import type { ReadModels } from '#app/ports/readSide.js';
import {
  acmePlaces,
  at,
  contains,
  fill,
  found,
  id,
  insert,
  type OpenReadModels,
  openedOnce,
  query,
  write,
} from './readModelsFixture.js';

const aheadAt = (position: number, more: Partial<OutOfOrder> = {}): OutOfOrder => ({
  projection: 'records',
  tenant: 'acme',
  position,
  pieces: null,
  ...more,
});

/** For engines that apply events in pieces. */
export function describeAhead(name: string, open: OpenReadModels): void {
  describe(`read models, ahead of the checkpoint: ${name}`, () => {
    const emptied = openedOnce(open);
    let readModels: ReadModels;
    let writer: ReadModelWriter & RebuildableReadModels;
    let stepwise: StepwiseWriter;

    beforeEach(async () => {
      ({ readModels, writer } = await emptied());
      if (writer.stepwise === undefined) throw new Error('It applies each event as a whole.');
      ({ stepwise } = writer);
    });

    test('an event is waited for by itself, once all of it is applied', async () => {
      const waited = readModels.waitForEvent('records', 7, 10_000, 'acme');
      await write(writer, () => stepwise.putOutOfOrder(aheadAt(6, { pieces: 2 })), { records: 5 });
      expect(await readModels.waitForEvent('records', 6, 0, 'acme')).toBe(false);
      await write(writer, () => stepwise.putOutOfOrder(aheadAt(7)));
      expect(await waited).toBe(true);
      expect(await readModels.waitForEvent('records', 7, 0, 'acme')).toBe(true);
      expect(await readModels.waitFor('records', 7, 0, 'acme')).toBe(false);
      expect(await readModels.waitForEvent('deliveries', 7, 0, 'acme')).toBe(false);
      expect(await readModels.outOfOrder()).toEqual([aheadAt(6, { pieces: 2 }), aheadAt(7)]);
      expect(await writer.outOfOrder()).toEqual(await readModels.outOfOrder());
    });

    test('what the checkpoint has passed is forgotten, but for what is parked', async () => {
      const parked = { tenant: 'acme', projection: 'records', checkpoint: 3, position: 4 };
      const about = { eventId: id(4), eventType: 'RecordUpdated', error: 'No.', since: at(1), retryAsked: false };
      await write(writer, async () => {
        await stepwise.putOutOfOrder(aheadAt(6));
        await stepwise.putOutOfOrder(aheadAt(7, { tenant: 'other' }));
        await stepwise.putOutOfOrder(aheadAt(9, { tenant: 'other' }));
        await writer.park({ ...parked, ...about });
      });
      await write(writer, async () => {}, { records: 8 });
      expect(await readModels.outOfOrder()).toEqual([aheadAt(6), aheadAt(9, { tenant: 'other' })]);
      await write(writer, () => writer.unpark(parked), { records: 9 });
      expect(await readModels.outOfOrder()).toEqual([]);
    });

    test('it is noted with the commit, or not at all, and gone after a reset', async () => {
      await writer.begin();
      await stepwise.putOutOfOrder(aheadAt(6));
      await writer.rollback();
      expect(await writer.outOfOrder()).toEqual([]);
      await write(writer, () => stepwise.putOutOfOrder(aheadAt(6)));
      await writer.reset('records');
      expect(await readModels.outOfOrder()).toEqual([]);
    });

    test('nothing may overtake while a copy is filled, which holds what is served still once nothing is ahead', async () => {
      expect(await stepwise.mayOvertake()).toBe(true);
      const copy = await writer.beginRebuild({ projection: 'records' });
      expect(await stepwise.mayOvertake()).toBe(false);
      await write(writer, () => stepwise.putOutOfOrder(aheadAt(6)), { records: 5 });
      let isHeld = false;
      const holding = copy.holdLive().finally(() => {
        isHeld = true;
      });
      await wait(50);
      expect(isHeld).toBe(false);
      await write(writer, async () => {}, { records: 6 });
      expect(await holding).toBe(6);
      await copy.abandon();
      expect(await stepwise.mayOvertake()).toBe(true);
    });

    test('a clean-up goes in pieces, and leaves what it is to leave', async () => {
      const kept = [insert(2, {}, 'kept'), insert(5, {}, 'kept')];
      const gone = [1, 3, 4, 6, 7].map((n) => insert(n, { name: `Place ${n}` }, n === 6 ? null : 'old'));
      await fill(writer, [...kept, ...gone]);
      const event = { revision: 1, at: at(9) };
      const totals: number[] = [];
      let after: number | undefined;
      do {
        await write(writer, async () => {
          after = await stepwise.cleanUpSome(acmePlaces, { batchId: 'kept', revision: 1, limit: 2, after }, event);
        });
        totals.push((await readModels.list(acmePlaces, query())).total);
      } while (after !== undefined);
      expect(totals).toEqual([5, 3, 2]);
      expect(await found(readModels, { filters: [contains('name', 'Place')] })).toEqual({ records: [], total: 0 });
      const { formerIds } = await readModels.snapshot(acmePlaces, { keys: ['C1', 'C2', 'C7'], ids: [] });
      expect(Object.fromEntries(formerIds)).toEqual({ C1: id(1), C7: id(7) });
    });

    test('a piece of it ends after a megabyte of documents, however few records those are', async () => {
      const gone = [1, 2, 3, 4].map((n) => insert(n, { notes: 'x'.repeat(600_000) }, 'old'));
      await fill(writer, [...gone, insert(5, {}, 'kept')]);
      const totals: number[] = [];
      let after: number | undefined;
      do {
        await write(writer, async () => {
          const piece = { batchId: 'kept', revision: 1, limit: 100, after };
          after = await stepwise.cleanUpSome(acmePlaces, piece, { revision: 1, at: at(9) });
        });
        totals.push((await readModels.list(acmePlaces, query())).total);
      } while (after !== undefined);
      expect(totals).toEqual([3, 1]);
    });

    test('a clean-up of all leaves nothing but the ids, which are kept in pieces first', async () => {
      const numbers = Array.from({ length: 20 }, (_, n) => n + 1);
      await fill(
        writer,
        numbers.map((n) => insert(n, {}, 'old')),
      );
      const totals: number[] = [];
      let after: number | undefined;
      do {
        await write(writer, async () => {
          const sweep = { batchId: 'new', revision: 1, limit: 1, after };
          after = await stepwise.cleanUpSome(acmePlaces, sweep, { revision: 1, at: at(9) });
        });
        totals.push((await readModels.list(acmePlaces, query())).total);
      } while (after !== undefined);
      expect(totals).toEqual([20, 20, 0]);
      const { formerIds } = await readModels.snapshot(acmePlaces, { keys: numbers.map((n) => `C${n}`), ids: [] });
      expect(formerIds).toEqual(new Map(numbers.map((n) => [`C${n}`, id(n)])));
      expect(await readModels.deletedRecords(acmePlaces, 1, { limit: 5, isCounted: true })).toMatchObject({
        total: 20,
        next: id(5),
      });
    });
  });
}
