import type { RecordChange } from '#app/domain/referenceTable/changes.js';
import type { Difference, ProofSubject } from '#app/ports/readModelProof.js';
import type {
  ReadModelRebuild,
  ReadModelWriter,
  RebuildableReadModels,
  RebuildScope,
} from '#app/ports/readModelWriter.js';
import {
  acmePlaces,
  activityEntry,
  at,
  delivery,
  failed,
  historyEntry,
  id,
  insert,
  type OpenReadModels,
  places,
  placesWithRegion,
  succeeded,
  write,
} from './readModelsFixture.js';
import { grown } from './readModelsLayouts.js';

type Target = Pick<
  ReadModelWriter,
  'begin' | 'commit' | 'defineTable' | 'applyToTable' | 'addHistory' | 'addActivity' | 'putDelivery'
>;

/** Everything that a copy's proof finds, and how many records it looked at. */
export async function proven(
  copy: ReadModelRebuild,
  subject: ProofSubject = 'live',
  droppedBefore?: string,
): Promise<{ differences: Difference[]; records: number; slices: number }> {
  const differences: Difference[] = [];
  let [records, slices] = [0, 0];
  for (const part of await copy.proof.parts()) {
    let after: string | undefined;
    do {
      const slice = await copy.proof.slice(part, { subject, after, droppedBefore });
      differences.push(...slice.differences);
      records += slice.records;
      slices += 1;
      after = slice.next;
    } while (after !== undefined);
    differences.push(...(await copy.proof.structure(part, { subject })).differences);
  }
  return { differences: [...differences, ...(await copy.proof.shared())], records, slices };
}

/** Many kinds of change: what is stored at the end came about in several ways. */
export async function fillWithAll(target: Target): Promise<void> {
  const apply = (revision: number, ...changes: RecordChange[]) =>
    target.applyToTable(acmePlaces, changes, { revision, at: at(revision), noted: revision });
  await write(target, async () => {
    await target.defineTable(acmePlaces, places);
    await target.defineTable({ tenant: 'acme', table: 'empty' }, places);
    await apply(
      0,
      ...Array.from({ length: 30 }, (_, n) => insert(n, { name: `Place ${n}`, size: n, open: true }, 'a')),
    );
    await apply(1, { kind: 'seen', ids: [id(1), id(2)], batchId: 'b' });
  });
  await write(
    target,
    async () => {
      await target.defineTable(acmePlaces, placesWithRegion);
      const patches = [4, 5].map(
        (n) => ({ kind: 'patch', id: id(n), at: at(50), set: { region: `North ${n}` } }) as const,
      );
      await apply(2, ...patches, insert(40, { name: null, size: null, notes: '\u{d800} half' }));
      await apply(3, { kind: 'patch', id: id(3), at: at(51), set: { name: 'İstanbul 🚚', size: 1.5 }, batchId: 'b' });
    },
    { records: 7 },
  );
  await write(
    target,
    async () => {
      await target.addHistory('acme', id(1), [historyEntry(0), historyEntry(1), historyEntry(11)]);
      await target.addHistory('acme', id(2), [historyEntry(0)]);
    },
    { order_history: 7 },
  );
  await write(
    target,
    async () => {
      for (const entry of [delivery(1), succeeded(1, 10), failed(2, 12), delivery(3)]) {
        await target.putDelivery('acme', entry);
      }
    },
    { deliveries: 7 },
  );
  const activity = [activityEntry(1), activityEntry(2, { orderId: id(9) }), activityEntry(3)];
  await write(target, () => target.addActivity('acme', activity), { activity: 7 });
}

/** As a replay does: nothing outside of the projection. */
const onlyOf = (copy: ReadModelRebuild['writer'], projection: RebuildScope['projection']): Target => ({
  begin: () => copy.begin(),
  commit: (checkpoints) => copy.commit(checkpoints),
  defineTable: async (...asked) => (projection === 'records' ? copy.defineTable(...asked) : undefined),
  applyToTable: async (...asked) => (projection === 'records' ? copy.applyToTable(...asked) : undefined),
  addHistory: async (...asked) => (projection === 'order_history' ? copy.addHistory(...asked) : undefined),
  addActivity: async (...asked) => (projection === 'activity' ? copy.addActivity(...asked) : undefined),
  putDelivery: async (...asked) => (projection === 'deliveries' ? copy.putDelivery(...asked) : undefined),
});

export async function filledCopy(
  writer: RebuildableReadModels,
  projection: RebuildScope['projection'],
): Promise<ReadModelRebuild> {
  const copy = await writer.beginRebuild({ projection });
  await fillWithAll(onlyOf(copy.writer, projection));
  return copy;
}

export function describeProof(name: string, open: OpenReadModels): void {
  describe(`read models, their proof: ${name}`, () => {
    let writer: ReadModelWriter & RebuildableReadModels;
    let copy: ReadModelRebuild;

    beforeEach(async () => {
      ({ writer } = await open());
      await fillWithAll(writer);
    });
    afterEach(async () => {
      await copy.abandon();
    });

    test.each([
      ['records', 31],
      ['order_history', 4],
      ['deliveries', 3],
      ['activity', 3],
    ] as const)('%s that are what the log says do not differ, and fit themselves', async (projection, count) => {
      copy = await filledCopy(writer, projection);
      const own = await proven(copy, 'copy');
      expect(own.differences).toEqual([]);
      expect(own.records).toBeGreaterThanOrEqual(count);
      expect((await proven(copy)).differences).toEqual([]);
    });

    test('a table that is made after its copy was filled is none of what the copy lacks', async () => {
      copy = await filledCopy(writer, 'records');
      await write(writer, () => writer.defineTable({ tenant: 'acme', table: 'new' }, places));
      expect((await proven(copy, 'copy')).differences).toEqual([]);
    });

    test('a table that is removed from both while it is looked for is missing in neither', async () => {
      copy = await filledCopy(writer, 'records');
      const [part] = await copy.proof.parts();
      for (const side of [writer, copy.writer]) await write(side, () => side.dropTenant('records', 'acme'));
      expect(part?.tenant).toBe('acme');
      if (part) expect((await copy.proof.structure(part, { subject: 'live' })).differences).toEqual([]);
    });

    test('records that are missing, too many or different are named, and so is a count', async () => {
      copy = await filledCopy(writer, 'records');
      await write(copy.writer, () =>
        copy.writer.applyToTable(acmePlaces, [insert(60, {})], { revision: 4, at: at(60) }),
      );
      await write(writer, () =>
        writer.applyToTable(
          acmePlaces,
          [
            insert(70, {}),
            insert(71, {}),
            { kind: 'patch', id: id(7), at: at(70), set: { name: 'Other', size: 3 } },
            { kind: 'seen', ids: [id(8)], batchId: 'z' },
          ],
          { revision: 4, at: at(60) },
        ),
      );
      const { differences } = await proven(copy);
      const named = differences.map(({ tenant, table, record, kind }) => [tenant, table, record, kind]);
      expect(named.sort()).toEqual(
        [
          ['acme', 'places', id(60), 'missing'],
          ['acme', 'places', id(70), 'unexpected'],
          ['acme', 'places', id(71), 'unexpected'],
          ['acme', 'places', id(7), 'different'],
          ['acme', 'places', id(8), 'different'],
          ['acme', 'places', null, 'different'],
        ].sort(),
      );
      const detail = (record: string | null) => differences.find((each) => each.record === record)?.detail;
      expect(detail(id(7))).toMatch(/updated_at, name, size/);
      expect(detail(id(8))).toMatch(/_batch_id/);
      expect(detail(null)).toMatch(/count is 33; by the log 32/);
    });

    test('a table that was brought to a release with other fields is what the log makes in that release', async () => {
      const table = { tenant: 'acme', table: 'grown' };
      const named = [insert(1, { name: 'One', size: 4 }), insert(2, { name: 'Two' })];
      const later = [insert(3, { name: 'Three', kind: 'Border' })];
      copy = await filledCopy(writer, 'records');
      for (const [target, first] of [
        [writer, places],
        [copy.writer, grown],
      ] as const) {
        await write(target, async () => {
          await target.defineTable(table, first);
          await target.applyToTable(table, named, { revision: 0, at: at(0) });
        });
        await write(target, async () => {
          await target.defineTable(table, grown);
          await target.applyToTable(table, later, { revision: 1, at: at(1) });
        });
      }
      expect((await proven(copy)).differences).toEqual([]);
      expect((await proven(copy, 'copy')).differences).toEqual([]);
    });

    test('many records are compared in slices, each once', async () => {
      const many = Array.from({ length: 2_500 }, (_, n) => insert(100 + n, {}));
      copy = await filledCopy(writer, 'records');
      for (const target of [writer, copy.writer]) {
        await write(target, () => target.applyToTable(acmePlaces, many, { revision: 4, at: at(60) }));
      }
      expect(await proven(copy)).toMatchObject({ differences: [], records: 2_531, slices: expect.any(Number) });
      expect((await proven(copy)).slices).toBeGreaterThan(2);
    });

    test('histories and deliveries that differ are named; deliveries that ended long ago may be missing', async () => {
      copy = await filledCopy(writer, 'order_history');
      await write(writer, () => writer.addHistory('acme', id(1), [historyEntry(12)]));
      await write(copy.writer, () => copy.writer.addHistory('other', id(1), [historyEntry(0)]));
      expect((await proven(copy)).differences).toMatchObject([
        { tenant: 'acme', table: null, record: `${id(1)} 12`, kind: 'unexpected' },
        { tenant: 'other', table: null, record: `${id(1)} 0`, kind: 'missing' },
      ]);
      await copy.abandon();

      copy = await filledCopy(writer, 'deliveries');
      await write(copy.writer, async () => {
        await copy.writer.putDelivery('acme', succeeded(3, 20));
        await copy.writer.putDelivery('acme', succeeded(4, 21));
      });
      const named = async (droppedBefore?: string) =>
        (await proven(copy, 'live', droppedBefore)).differences.map(({ record, kind }) => [record, kind]);
      expect(await named()).toEqual(
        expect.arrayContaining([
          [id(3), 'different'],
          [id(4), 'missing'],
          ['hook', 'different'],
        ]),
      );
      expect(await named(at(30))).not.toContainEqual([id(4), 'missing']);
      expect(await named(at(30))).toContainEqual([id(3), 'different']);
    });

    test('while the live projection is held, both are seen at one position; released, it goes on', async () => {
      copy = await filledCopy(writer, 'records');
      const late = [insert(80, {})];
      await write(writer, () => writer.applyToTable(acmePlaces, late, { revision: 4, at: at(80) }), { records: 8 });
      const [part = { tenant: '', table: null }] = (await copy.proof.parts()).filter(({ table }) => table === 'places');
      expect(await copy.proof.slice(part, { subject: 'live' })).toMatchObject({ exact: false });
      expect(await copy.holdLive()).toBe(8);
      await copy.writer.applyToTable(acmePlaces, late, { revision: 4, at: at(80) });
      expect(await copy.proof.slice(part, { subject: 'live' })).toMatchObject({ exact: true, differences: [] });
      await copy.release(8);
      expect(copy.position()).toBe(8);
      await write(writer, () => writer.applyToTable(acmePlaces, [insert(81, {})], { revision: 5, at: at(81) }), {
        records: 9,
      });
      expect((await proven(copy)).differences).toContainEqual(
        expect.objectContaining({ record: id(81), kind: 'unexpected' }),
      );
    });
  });
}
