/** Which events concern a record: that exists, or that was deleted; none that only saw it again. */
import type { RecordChange } from '#app/domain/referenceTable/changes.js';
import type { ReadModelWriter } from '#app/ports/readModelWriter.js';
import { acmePlaces, at, id, insert, type OpenReadModels, places, write } from './readModelsFixture.js';
import { proven } from './readModelsProof.js';

const otherPlaces = { tenant: 'other', table: 'places' };

type Target = Pick<ReadModelWriter, 'begin' | 'commit' | 'defineTable' | 'applyToTable'>;

const apply = (target: Target, revision: number, changes: readonly RecordChange[], table = acmePlaces) =>
  write(target, async () => {
    await target.defineTable(table, places);
    await target.applyToTable(table, changes, { revision, at: at(revision), position: revision, noted: revision });
  });

const patch = (n: number, name: string): RecordChange => ({ kind: 'patch', id: id(n), at: at(50), set: { name } });

/** Created, changed, seen, deleted by a clean-up and by itself, and back again. */
async function live(target: Target): Promise<void> {
  await apply(target, 0, [insert(1, {}, 'a'), insert(2, {}, 'a'), insert(3, {}, 'b')]);
  await apply(target, 1, [{ kind: 'seen', ids: [id(1), id(2)], batchId: 'c' }]);
  await apply(target, 2, [patch(1, 'One'), patch(3, 'Three'), { kind: 'seen', ids: [id(2)], batchId: 'b' }]);
  await apply(target, 3, [{ kind: 'cleanUp', batchId: 'b' }]);
  await apply(target, 4, [insert(1, {}, 'b'), { kind: 'delete', id: id(2) }]);
  await apply(target, 5, [{ kind: 'cleanUp', batchId: 'none' }]);
}

const LIVED = { 1: [5, 4, 3, 2, 0], 2: [4, 0], 3: [5, 2, 0] };

export function describeRecordEvents(name: string, open: OpenReadModels): void {
  describe(`read models, events of records: ${name}`, () => {
    let opened: Awaited<ReturnType<OpenReadModels>>;

    beforeEach(async () => {
      opened = await open();
    });

    const eventsOf = (n: number, page: { before?: number; limit?: number } = {}, table = acmePlaces) =>
      opened.readModels.recordEvents(table, id(n), { limit: 100, ...page });
    const all = async () => ({ 1: await eventsOf(1), 2: await eventsOf(2), 3: await eventsOf(3) });

    test('are its creation, changes and deletions, the latest first, also of a deleted record', async () => {
      await live(opened.writer);
      expect(await all()).toEqual(LIVED);
      expect(await opened.readModels.recordEvents(acmePlaces, id(1).toUpperCase(), { limit: 1 })).toEqual([5]);
      expect(await eventsOf(9)).toEqual([]);
      expect(await opened.readModels.recordEvents(acmePlaces, 'no id', { limit: 9 })).toEqual([]);
      expect(await eventsOf(1, {}, otherPlaces)).toEqual([]);
    });

    test('come in pages', async () => {
      await live(opened.writer);
      expect(await eventsOf(1, { limit: 2 })).toEqual([5, 4]);
      expect(await eventsOf(1, { before: 4, limit: 2 })).toEqual([3, 2]);
      expect(await eventsOf(1, { before: 0, limit: 2 })).toEqual([]);
    });

    test('are noted of a table and tenant alone, and not where nothing is to be noted', async () => {
      const { writer } = opened;
      await apply(writer, 0, [insert(1, {})]);
      await apply(writer, 7, [insert(1, {})], otherPlaces);
      await write(writer, () => writer.applyToTable(acmePlaces, [patch(1, 'x')], { revision: 1, at: at(1) }));
      expect([await eventsOf(1), await eventsOf(1, {}, otherPlaces)]).toEqual([[0], [7]]);
    });

    test('of a clean-up of thousands are noted of each', async () => {
      const { writer } = opened;
      const many = Array.from({ length: 2_500 }, (_, n) => insert(100 + n, {}, 'old'));
      await apply(writer, 0, [...many, insert(1, {}, 'new')]);
      await apply(writer, 1, [{ kind: 'cleanUp', batchId: 'new' }]);
      for (const n of [100, 1_500, 2_599]) expect(await eventsOf(n)).toEqual([1, 0]);
      expect(await eventsOf(1)).toEqual([0]);
    });

    test('of a part are those of its order, also after it was removed', async () => {
      const { readModels, writer } = opened;
      const noted = { order: id(77) };
      const of = (revision: number) => ({ revision, at: at(revision), noted });
      await write(writer, async () => {
        await writer.defineTable(acmePlaces, places);
        await writer.applyToTable(acmePlaces, [insert(1, {}), insert(2, {})], of(0));
        await writer.applyToTable(acmePlaces, [patch(1, 'One'), { kind: 'delete', id: id(1) }], of(1));
      });
      expect(await readModels.orderOfPart(acmePlaces, id(1))).toBe(id(77));
      expect(await readModels.orderOfPart(acmePlaces, id(2).toUpperCase())).toBe(id(77));
      expect(await readModels.orderOfPart(acmePlaces, id(3))).toBeUndefined();
      expect(await readModels.orderOfPart(acmePlaces, 'no id')).toBeUndefined();
    });

    test('the record that the last clean-up deleted is kept as it was', async () => {
      const { readModels } = opened;
      await live(opened.writer);
      const kept = { code: 'C3', name: 'Three', size: null, open: null, notes: null };
      expect(await readModels.cleanedUpRecord(acmePlaces, id(3))).toEqual({ revision: 5, fields: kept });
      expect(await readModels.cleanedUpRecord(acmePlaces, id(2))).toBeUndefined();
      expect(await readModels.cleanedUpRecord(acmePlaces, 'no id')).toBeUndefined();
    });

    test('are the same after a rebuild, and gone with their tenant', async () => {
      const { writer } = opened;
      await live(writer);
      const copy = await writer.beginRebuild({ projection: 'records' });
      await live(copy.writer);
      expect((await proven(copy)).differences).toEqual([]);
      await copy.holdLive();
      await copy.swap();
      expect(await all()).toEqual(LIVED);
      await write(writer, () => writer.dropTenant('records', 'acme'));
      while (await writer.clearDropped());
      expect(await eventsOf(1)).toEqual([]);
    });

    test('that are missing, or are not in the log, are named by the proof', async () => {
      const { writer } = opened;
      await live(writer);
      const copy = await writer.beginRebuild({ projection: 'records' });
      await live(copy.writer);
      const again = [insert(1, {}), { kind: 'delete', id: id(1) }] as const;
      await write(writer, () => writer.applyToTable(acmePlaces, again, { revision: 5, at: at(5), noted: 8 }));
      await write(copy.writer, () => copy.writer.applyToTable(acmePlaces, again, { revision: 5, at: at(5), noted: 9 }));
      const { differences } = await proven(copy);
      expect(differences.map(({ record, kind }) => [record, kind]).sort()).toEqual([
        [id(1), 'missing'],
        [id(1), 'unexpected'],
      ]);
      await copy.abandon();
    });
  });
}
