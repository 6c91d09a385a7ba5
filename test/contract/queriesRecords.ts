/** Single records, the snapshots that decisions are made on, and batches. */
import type { AssetField } from '#app/domain/assetTypes/assetType.js';
import type { RecordChange } from '../support/writtenRows.js';
import {
  acmePlaces,
  at,
  contains,
  fill,
  found,
  id,
  insert,
  type OpenQueries,
  places,
  placesWithRegion,
  query,
  write,
} from './queriesFixture.js';

const unknown = { tenant: 'acme', table: 'unheard_of' };

export function describeRecords(name: string, open: OpenQueries): void {
  describe(`records: ${name}`, () => {
    let reads: Awaited<ReturnType<OpenQueries>>['reads'];
    let writer: Awaited<ReturnType<OpenQueries>>['writer'];

    beforeEach(async () => {
      ({ reads, writer } = await open());
    });

    describe('records', () => {
      test('are sent as JSON text: id, times, then each field of the asset type in its order', async () => {
        await fill(writer, [insert(1, { size: 12.5, name: 'Ünïcode "quoted"\n🚚', open: false })]);
        const text =
          `{"id":"${id(1)}","created_at":"${at(1)}","updated_at":"${at(1)}","code":"C1",` +
          '"name":"Ünïcode \\"quoted\\"\\n🚚","size":12.5,"open":false,"notes":null}';
        expect(await reads.get(acmePlaces, id(1))).toBe(text);
        expect(await reads.get(acmePlaces, id(1).toUpperCase())).toBe(text);
        expect((await reads.list(acmePlaces, query())).records).toBe(text);
      });

      test('that are not there, of unknown tables, or with malformed ids are not found', async () => {
        expect(await reads.get(unknown, id(1))).toBeUndefined();
        await fill(writer, []);
        for (const wrong of [id(1), '', 'x', "' OR 1", `${id(1)}0`]) {
          expect(await reads.get(acmePlaces, wrong)).toBeUndefined();
        }
      });

      test('written before a field was added show it as null, and can be found by it once it is set', async () => {
        await fill(writer, [insert(1, {}), insert(2, {})]);
        await write(writer, async () => {
          await writer.defineTable(acmePlaces, placesWithRegion);
          await writer.applyToTable(
            acmePlaces,
            [insert(3, { region: 'North' }), { kind: 'patch', id: id(2), at: at(9), set: { region: 'Far north' } }],
            { revision: 5, at: at(9) },
          );
        });
        const regions = await found(reads, { sort: [{ field: 'region', direction: 'desc' }] }, acmePlaces, 'region');
        expect(regions.records).toEqual(['North', 'Far north', null]);
        expect(await found(reads, { filters: [contains('region', 'nor')] })).toMatchObject({ total: 2 });
        expect(JSON.parse((await reads.get(acmePlaces, id(1))) ?? '')).toMatchObject({ region: null });
      });

      test('of a field named like what every object has are its own values, and null where there is none', async () => {
        const named = (field: AssetField, more: Partial<AssetField>): AssetField => ({ ...field, ...more });
        const [code, name, ...rest] = places.fields.map((field) =>
          named(field, field.name === 'name' ? { name: 'constructor' } : {}),
        ) as [AssetField, AssetField, ...AssetField[]];
        const shown = named(name, { name: 'prototype', filterable: false, sortable: false });
        await write(writer, async () => {
          await writer.defineTable(acmePlaces, { ...places, fields: [code, name, ...rest, shown] });
          const changes = [insert(1, {}), insert(2, { constructor: 'Gaudí' }), insert(3, { constructor: null })];
          await writer.applyToTable(acmePlaces, changes, { revision: 0, at: at(3) });
        });
        const patch = { kind: 'patch', id: id(1), at: at(9), set: { size: 2 } } as const;
        await write(writer, () => writer.applyToTable(acmePlaces, [patch], { revision: 1, at: at(9) }));
        const sorted = { sort: [{ field: 'constructor', direction: 'desc' }] } as const;
        expect((await found(reads, sorted, acmePlaces, 'constructor')).records).toEqual(['Gaudí', null, null]);
        expect(await found(reads, { filters: [contains('constructor', 'gau')] })).toMatchObject({ total: 1 });
        expect(JSON.parse((await reads.get(acmePlaces, id(1))) ?? '')).toMatchObject({
          constructor: null,
          size: 2,
        });
        const { records } = await reads.snapshot(acmePlaces, { keys: [], ids: [id(1)] });
        expect(records[0]?.fields).toMatchObject({ constructor: null, prototype: null });
      });
    });

    describe('snapshots', () => {
      test('of an unknown table show revision -1; of a table without events too', async () => {
        const nothing = { revision: -1, lastEventAt: '', records: [], formerIds: new Map() };
        expect(await reads.snapshot(unknown, { keys: ['C1'], ids: [id(1)] })).toEqual(nothing);
        await write(writer, () => writer.defineTable(acmePlaces, places));
        expect(await reads.snapshot(acmePlaces, { keys: ['C1'], ids: [] })).toEqual(nothing);
      });

      test('have each record once that is named by key or id, exactly, and the revision they were read at', async () => {
        await fill(
          writer,
          Array.from({ length: 100 }, (_, n) => insert(n, { name: 'x' }, n === 3 ? 'b' : null)),
        );
        const snapshot = await reads.snapshot(acmePlaces, {
          keys: ['C3', 'C4', 'C4', 'c5', 'C%', 'none'],
          ids: [id(3), id(6), 'no id', id(1000)],
        });
        expect(snapshot.revision).toBe(4);
        expect(snapshot.lastEventAt).toBe(at(4));
        expect(snapshot.records.map(({ id, batchId }) => [id, batchId]).sort()).toEqual([
          [id(3), 'b'],
          [id(4), null],
          [id(6), null],
        ]);
        const many = await reads.snapshot(acmePlaces, {
          keys: Array.from({ length: 1000 }, (_, n) => `C${n}`),
          ids: [],
        });
        expect(many.records).toHaveLength(100);
      });

      test('find reads full records by a value', async () => {
        await fill(writer, [insert(1, { name: 'a', notes: 'x' }), insert(2, { name: 'A' }), insert(3, { name: 'b' })]);
        const codes = async (field: string, ...values: string[]) =>
          (await reads.find(acmePlaces, field, values)).map(({ fields }) => fields.code).sort();
        expect(await codes('name', 'a', 'b')).toEqual(['C1', 'C3']);
        expect(await codes('id', id(2), 'nonsense')).toEqual(['C2']);
        expect(await codes('code', 'C3', 'C2')).toEqual(['C2', 'C3']);
        expect(await codes('notes', 'x')).toEqual(['C1']);
        expect(await reads.find(unknown, 'code', ['C1'])).toEqual([]);
      });
    });

    describe('batches', () => {
      beforeEach(() => fill(writer, [insert(1, {}, 'old'), insert(2, {}, 'new'), insert(3, {}), insert(4, {}, 'old')]));

      const apply = (change: Parameters<typeof writer.applyToTable>[1][number], revision = 5) =>
        write(writer, () => writer.applyToTable(acmePlaces, [change], { revision, at: at(revision) }));

      test('what is seen again moves to the batch and keeps updated_at', async () => {
        await apply({ kind: 'seen', ids: [id(1), id(3)], batchId: 'new' });
        expect(await reads.outsideBatch(acmePlaces, 'new')).toEqual({
          revision: 5,
          lastEventAt: at(5),
          count: 1,
          inside: 3,
          records: [],
        });
        const { records } = await reads.snapshot(acmePlaces, { keys: [], ids: [id(1)] });
        expect(records).toMatchObject([{ batchId: 'new', updatedAt: at(1) }]);
      });

      test('a sweep deletes all others, those without a batch id as well', async () => {
        expect(await reads.outsideBatch(acmePlaces, 'old')).toMatchObject({ count: 2 });
        const some = async (limit: number) =>
          (await reads.outsideBatch(acmePlaces, 'old', limit)).records.map((record) => record.fields.code);
        expect(await some(2)).toEqual(['C2', 'C3']);
        expect(await some(1)).toHaveLength(1);
        const typo = await reads.outsideBatch(acmePlaces, 'typo', 9);
        expect(typo.records.map((record) => record.fields.code)).toEqual(['C1', 'C2', 'C3', 'C4']);
        await apply({ kind: 'cleanUp', batchId: 'old' });
        expect(await found(reads, {})).toEqual({ records: ['C1', 'C4'], total: 2 });
        expect(await found(reads, { filters: [contains('code', 'c2', 'c3', 'c4')] })).toEqual({
          records: ['C4'],
          total: 1,
        });
        expect(await reads.outsideBatch(acmePlaces, 'old')).toMatchObject({ count: 0 });
      });

      test('a sweep keeps the ids of the keys that go: the last of each key', async () => {
        const ids = async (...keys: string[]) => {
          const { formerIds, records } = await reads.snapshot(acmePlaces, { keys, ids: [] });
          return { former: Object.fromEntries(formerIds), records: records.map((record) => record.id) };
        };
        expect(await ids('C1', 'C9')).toEqual({ former: {}, records: [id(1)] });
        await apply({ kind: 'cleanUp', batchId: 'old' });
        expect(await ids('C1', 'C2', 'C3', 'C9')).toEqual({ former: { C2: id(2), C3: id(3) }, records: [id(1)] });
        await apply({ ...insert(2, {}), id: id(7) } as RecordChange, 6);
        await apply({ ...insert(5, {}), id: id(3) } as RecordChange, 7);
        expect(await ids('C2', 'C3')).toEqual({ former: { C3: id(3) }, records: [id(7), id(3)] });
        await apply({ kind: 'cleanUp', batchId: 'typo' }, 8);
        const former = { C1: id(1), C2: id(7), C4: id(4), C5: id(3) };
        expect(await ids('C1', 'C2', 'C4', 'C5')).toEqual({ former, records: [] });
      });

      test('records are read by their ids, in the order asked', async () => {
        const records = await reads.byIds(acmePlaces, [id(3), id(99), id(1)]);
        expect(records.map((record) => record && JSON.parse(record).code)).toEqual(['C3', null, 'C1']);
        expect(await reads.byIds(acmePlaces, [])).toEqual([]);
        expect(await reads.byIds(unknown, [id(1)])).toEqual([null]);
      });

      test('of unknown tables count nothing', async () => {
        const nothing = { revision: -1, lastEventAt: '', count: 0, inside: 0, records: [] };
        expect(await reads.outsideBatch(unknown, 'x', 5)).toEqual(nothing);
      });
    });
  });
}
