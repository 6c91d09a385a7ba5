/** Tables whose asset type another release, or the tenant, has changed while they hold records. */
import type { AssetField, AssetType } from '#app/domain/assetTypes/assetType.js';
import { type Filter, ReadModelsWithheldError } from '#app/ports/readModels.js';
import type { ReadModelWriter, RebuildableReadModels } from '#app/ports/readModelWriter.js';
import type { ReadModels } from '#app/ports/readSide.js';
import { textField } from '../fixtures/textField.js';
import {
  acmePlaces,
  at,
  contains,
  fill,
  found,
  id,
  insert,
  type OpenReadModels,
  places,
  placesWithRegion,
  query,
  write,
} from './readModelsFixture.js';

const [code, name, size, open, notes] = places.fields as [AssetField, AssetField, AssetField, AssetField, AssetField];
const region = textField('region', { custom: true });

/** Another release: `kind` in the middle and `capacity` before the tenant's own `region`. */
export const grown: AssetType = {
  ...places,
  fields: [code, textField('kind'), name, size, open, notes, textField('capacity', { type: 'Integer' }), region],
};
/** That release, and after it a field that the tenant adds. */
const grownWithOwn: AssetType = { ...grown, fields: [...grown.fields, textField('grade', { custom: true })] };
/** A release in which `notes` can be sorted and searched, and `name` is longer. */
const searchable: AssetType = {
  ...placesWithRegion,
  fields: [code, { ...name, type: 'LongText' }, size, open, { ...notes, filterable: true, sortable: true }, region],
};

export function describeLayouts(engine: string, openReadModels: OpenReadModels): void {
  describe(`read models of a changed asset type: ${engine}`, () => {
    let readModels: ReadModels;
    let writer: ReadModelWriter & RebuildableReadModels;

    beforeEach(async () => {
      ({ readModels, writer } = await openReadModels());
      await fill(writer, [insert(1, { name: 'Ghent', size: 1, notes: 'Second' }), insert(2, { name: 'Bruges' })]);
      await write(writer, async () => {
        await writer.defineTable(acmePlaces, placesWithRegion);
        const changes = [insert(3, { name: 'Ath', notes: 'first', region: 'South' })];
        await writer.applyToTable(acmePlaces, changes, { revision: 5, at: at(5) });
      });
    });

    const define = (assetType: AssetType) => write(writer, () => writer.defineTable(acmePlaces, assetType));
    const apply = (changes: Parameters<typeof writer.applyToTable>[1], revision = 6) =>
      write(writer, () => writer.applyToTable(acmePlaces, changes, { revision, at: at(9) }));
    const shown = async (n: number) => JSON.parse((await readModels.get(acmePlaces, id(n))) ?? '');
    /** With the keys in the order of the asset type. */
    const inOrderOf = async ({ fields }: AssetType, n: number) => {
      const { id: own, created_at, updated_at, ...stored } = await shown(n);
      return {
        id: own,
        created_at,
        updated_at,
        ...Object.fromEntries(fields.map(({ name: field }) => [field, stored[field]])),
      };
    };
    const sorted = async (field: string, direction: 'asc' | 'desc' = 'asc') =>
      (await found(readModels, { sort: [{ field, direction }] })).records;
    const filtered = async (field: string, ...anyOf: string[]) =>
      (await found(readModels, { filters: [contains(field, ...anyOf)] })).records;

    test('fields added in the middle and before a custom one are null in old records, and the rest stays', async () => {
      await define(grown);
      const nothing = { kind: null, capacity: null };
      expect(await shown(1)).toMatchObject({ code: 'C1', name: 'Ghent', size: 1, notes: 'Second', ...nothing });
      expect(await shown(2)).toMatchObject({ code: 'C2', name: 'Bruges', region: null, ...nothing });
      expect(await shown(3)).toMatchObject({ code: 'C3', name: 'Ath', notes: 'first', region: 'South', ...nothing });
      expect(Object.keys(await shown(3)).sort()).toEqual(
        ['id', 'created_at', 'updated_at', ...grown.fields.map((field) => field.name)].sort(),
      );
      const inOrder = await readModels.get(acmePlaces, id(1), grown.fields);
      expect(inOrder).toBe(JSON.stringify(await inOrderOf(grown, 1)));
      expect(await readModels.get(acmePlaces, id(1), grown.fields)).toBe(inOrder);
      const turned = { ...grown, fields: grown.fields.toReversed() };
      expect(await readModels.get(acmePlaces, id(1), turned.fields)).toBe(JSON.stringify(await inOrderOf(turned, 1)));
      const { records } = await readModels.snapshot(acmePlaces, { keys: ['C1', 'C3'], ids: [] });
      expect(records.map(({ fields }) => [fields.code, fields.kind, fields.region]).sort()).toEqual([
        ['C1', null, null],
        ['C3', null, 'South'],
      ]);
    });

    test('they hold what comes, and are sorted and filtered by over old records and new ones', async () => {
      await define(grown);
      await apply([
        insert(4, { name: 'Mons', kind: 'Harbour', capacity: 20, region: 'West' }),
        { kind: 'patch', id: id(2), at: at(8), set: { kind: 'Airport', capacity: 3 } },
        { kind: 'patch', id: id(3), at: at(8), set: { name: 'Aat' } },
      ]);
      expect(await shown(4)).toMatchObject({ kind: 'Harbour', capacity: 20, region: 'West', notes: null });
      expect(await shown(3)).toMatchObject({ name: 'Aat', kind: null, notes: 'first', region: 'South' });
      expect(await sorted('kind')).toEqual(['C1', 'C3', 'C2', 'C4']);
      expect(await sorted('capacity', 'desc')).toEqual(['C4', 'C2', 'C3', 'C1']);
      expect(await sorted('region', 'desc')).toEqual(['C4', 'C3', 'C2', 'C1']);
      expect(await sorted('name')).toEqual(['C3', 'C2', 'C1', 'C4']);
      expect(await filtered('kind', 'arb', 'x')).toEqual(['C4']);
      expect(await filtered('kind', 'p')).toEqual(['C2']);
      expect(await filtered('capacity', '20')).toEqual(['C4']);
      expect(await filtered('region', 'st', 'south')).toEqual(['C3', 'C4']);
      expect(await filtered('name', 'aat')).toEqual(['C3']);
      expect(await filtered('name', 'ath')).toEqual([]);
    });

    test('a tenant may add a field after that, and the same definition again changes nothing', async () => {
      await define(grown);
      await apply([insert(4, { kind: 'Harbour', region: 'West' })]);
      await define(grownWithOwn);
      await define(grownWithOwn);
      await apply([insert(5, { kind: 'Border', region: 'East', grade: 'A', capacity: 7 })], 7);
      expect(await shown(4)).toMatchObject({ kind: 'Harbour', region: 'West', grade: null, capacity: null });
      expect(await shown(5)).toMatchObject({ kind: 'Border', region: 'East', grade: 'A', capacity: 7 });
      expect(await shown(3)).toMatchObject({ name: 'Ath', region: 'South', grade: null });
      expect(await sorted('grade', 'desc')).toEqual(['C5', 'C4', 'C3', 'C2', 'C1']);
      expect(await filtered('grade', 'a')).toEqual(['C5']);
      expect(await writer.outdatedTables('acme')).toEqual([]);
    });

    test('a field that the asset type no longer has keeps what it holds, so that a release can be taken back', async () => {
      await define(grown);
      await apply([insert(4, { kind: 'Harbour', region: 'West' })]);
      await define(placesWithRegion);
      await apply([insert(5, { region: 'East' }), { kind: 'patch', id: id(4), at: at(9), set: { size: 4 } }], 7);
      expect(await shown(4)).toMatchObject({ size: 4, region: 'West' });
      await define(grown);
      expect(await shown(4)).toMatchObject({ kind: 'Harbour', size: 4, region: 'West' });
      expect(await shown(5)).toMatchObject({ kind: null, region: 'East' });
      expect(await sorted('kind', 'desc')).toEqual(['C4', 'C5', 'C3', 'C2', 'C1']);
    });

    test('a table that is not yet brought to the release says so when it is sorted or filtered by a new field', async () => {
      await expect(sorted('kind')).rejects.toThrow(ReadModelsWithheldError);
      await expect(filtered('kind', 'x')).rejects.toThrow(ReadModelsWithheldError);
    });

    test('a field made searchable is listed right, or with the reason refused, and is outdated until a rebuild', async () => {
      expect(await writer.outdatedTables('acme')).toEqual([]);
      await define(searchable);
      await apply([insert(4, { name: 'Mons', notes: 'THIRD' })]);
      const orWithheld = (asked: Promise<unknown>) =>
        asked.catch((error: unknown) => {
          expect(error).toBeInstanceOf(ReadModelsWithheldError);
          return 'withheld';
        });
      expect([['C2', 'C3', 'C1', 'C4'], 'withheld']).toContainEqual(await orWithheld(sorted('notes')));
      expect([['C3', 'C4'], 'withheld']).toContainEqual(await orWithheld(filtered('notes', 'ir')));
      const compared = { kind: 'compares', field: 'notes', is: 'gt', value: 'FIRST' } as const;
      const behind = async (...filters: Filter[]) => (await found(readModels, { filters })).records;
      expect([['C1', 'C4'], 'withheld']).toContainEqual(await orWithheld(behind(compared)));
      const without = { kind: 'null', field: 'notes', isNull: true } as const;
      expect([['C2'], 'withheld']).toContainEqual(await orWithheld(behind(without)));
      // What served before goes on.
      expect(await sorted('name')).toEqual(['C3', 'C2', 'C1', 'C4']);
      expect(await filtered('name', 'on', 'gh')).toEqual(['C1', 'C4']);
      expect(await writer.outdatedTables('acme')).toEqual(['places']);
      expect(await writer.outdatedTables('other')).toEqual([]);

      const rebuild = await writer.beginRebuild({ projection: 'records', ...acmePlaces });
      await rebuild.writer.begin();
      await rebuild.writer.defineTable(acmePlaces, searchable);
      const all = ['Second', null, 'first', 'THIRD'].map((notes, n) => insert(n + 1, { name: `N${n}`, notes }));
      await rebuild.writer.applyToTable(acmePlaces, all, { revision: 6, at: at(9) });
      await rebuild.writer.commit(new Map());
      await rebuild.holdLive();
      await rebuild.swap();
      expect(await sorted('notes')).toEqual(['C2', 'C3', 'C1', 'C4']);
      expect(await filtered('notes', 'ir')).toEqual(['C3', 'C4']);
      expect(await filtered('notes', 'thir')).toEqual(['C4']);
      expect(await writer.outdatedTables('acme')).toEqual([]);
    });

    test('a table without records gets its new layout at once', async () => {
      const empty = { tenant: 'acme', table: 'empty' };
      await write(writer, () => writer.defineTable(empty, placesWithRegion));
      await write(writer, () => writer.defineTable(empty, searchable));
      await fill(writer, [], empty);
      await write(writer, () => writer.defineTable(empty, searchable));
      await write(writer, () => writer.applyToTable(empty, [insert(1, { notes: 'n' })], { revision: 0, at: at(1) }));
      expect(await writer.outdatedTables('acme')).toEqual([]);
      const page = await readModels.list(empty, query({ sort: [{ field: 'notes', direction: 'asc' }] }));
      expect(page.total).toBe(1);
    });

    test('the tenants that have tables are told one after another', async () => {
      await fill(writer, [], { tenant: 'acme-two', table: 'places' });
      await fill(writer, [], { tenant: 'acme', table: 'places2' });
      await fill(writer, [insert(1, {})], { tenant: 'other', table: 'places' });
      const tenants: string[] = [];
      for (let next = await writer.nextTenant(); next !== undefined; next = await writer.nextTenant(next))
        tenants.push(next);
      expect(tenants.sort()).toEqual(['acme', 'acme-two', 'other']);
    });
  });
}
