import type { TableRef } from '#app/ports/readModels.js';
import {
  MismatchError,
  type ReadModelRebuild,
  type ReadModelWriter,
  type RebuildableReadModels,
  RebuildInProgressError,
  type RebuildScope,
} from '#app/ports/readModelWriter.js';
import type { ReadModels } from '#app/ports/readSide.js';
import {
  acmePlaces,
  at,
  contains,
  fill,
  found,
  historyEntry,
  id,
  insert,
  type OpenReadModels,
  places,
  write,
} from './readModelsFixture.js';

const otherPlaces = { tenant: 'other', table: 'places' };
const acmeItems = { tenant: 'acme', table: 'items' };
const wholeHistory = { page: 1, perPage: 10 };

export function describeReset(name: string, open: OpenReadModels): void {
  describe(`read models, reset: ${name}`, () => {
    test('drops what a projection wrote, its checkpoint, and nothing else', async () => {
      const { readModels, writer } = await open();
      await fill(writer, [insert(1, {})]);
      await write(writer, () => writer.addHistory('acme', id(1), [historyEntry(0)]), { records: 5, order_history: 6 });

      await writer.reset('records');
      expect(await readModels.get(acmePlaces, id(1))).toBeUndefined();
      expect(await readModels.checkpoint('records')).toBe(0);
      expect(await readModels.checkpoint('order_history')).toBe(6);
      expect(await readModels.history('acme', id(1), wholeHistory)).toMatchObject({ total: 1 });

      await writer.reset('order_history');
      expect(await readModels.history('acme', id(1), wholeHistory)).toMatchObject({ total: 0 });
      expect(await readModels.checkpoint('order_history')).toBe(0);
      await fill(writer, [insert(1, {}), insert(2, {})]);
      expect(await found(readModels, {})).toEqual({ records: ['C1', 'C2'], total: 2 });
    });
  });
}

export function describeRebuilds(name: string, open: OpenReadModels): void {
  describe(`read models, rebuilt: ${name}`, () => {
    let readModels: ReadModels;
    let writer: ReadModelWriter & RebuildableReadModels;
    let anotherWriter: () => Promise<ReadModelWriter & RebuildableReadModels>;

    beforeEach(async () => {
      ({ readModels, writer, anotherWriter } = await open());
      await fill(writer, [insert(1, { name: 'live' })]);
      await fill(writer, [insert(2, { name: 'live' })], acmeItems);
      await fill(writer, [insert(3, { name: 'live' })], otherPlaces);
      await write(writer, () => writer.addHistory('acme', id(1), [historyEntry(0)]), {
        records: 7,
      });
      await write(writer, () => writer.addHistory('other', id(1), [historyEntry(0)]));
    });

    const names = async () => {
      const of = async (table: typeof acmePlaces) => (await found(readModels, {}, table, 'name')).records.join();
      return [await of(acmePlaces), await of(acmeItems), await of(otherPlaces)];
    };

    /** Writes what a replay of the log would: nothing outside of the scope. */
    const fillCopy = async ({ writer: copy }: ReadModelRebuild, { projection, tenant, table }: RebuildScope) => {
      const inScope = (ref: TableRef) =>
        (tenant === undefined || ref.tenant === tenant) && (table === undefined || ref.table === table);
      await write(
        copy,
        async () => {
          for (const [n, ref] of [acmePlaces, acmeItems, otherPlaces].entries()) {
            if (projection !== 'records' || !inScope(ref)) continue;
            await copy.defineTable(ref, places);
            await copy.applyToTable(ref, [insert(n + 1, { name: 'rebuilt' })], { revision: 0, at: at(0) });
          }
          for (const ref of [acmePlaces, otherPlaces]) {
            if (projection !== 'order_history' || !inScope(ref)) continue;
            await copy.addHistory(ref.tenant, id(1), [historyEntry(0), historyEntry(1)]);
          }
        },
        { [projection]: 7 },
      );
    };

    test.each([
      ['everything', {}, ['rebuilt', 'rebuilt', 'rebuilt']],
      ['one tenant', { tenant: 'acme' }, ['rebuilt', 'rebuilt', 'live']],
      ['one table', { tenant: 'acme', table: 'items' }, ['live', 'rebuilt', 'live']],
    ])('records of %s take the place of what was served, in one step', async (_, part, expected) => {
      const scope: RebuildScope = { projection: 'records', ...part };
      const rebuild = await writer.beginRebuild(scope);
      await fillCopy(rebuild, scope);
      expect(rebuild.position()).toBe(7);
      expect(await names()).toEqual(['live', 'live', 'live']);
      const got = async () => JSON.parse((await readModels.get(acmePlaces, id(1))) ?? '{}').name;
      expect(await got()).toBe('live');
      expect(await rebuild.holdLive()).toBe(7);
      await rebuild.swap();
      expect(await names()).toEqual(expected);
      expect(await got()).toBe(expected[0]);
      expect(await found(readModels, { filters: [contains('name', 'liv')] }, acmeItems)).toMatchObject({
        total: 0,
      });
      expect(await readModels.checkpoint('records')).toBe(7);
      expect(await readModels.history('acme', id(1), wholeHistory)).toMatchObject({ total: 1 });

      // The live projection goes on, on the copy.
      await write(writer, () =>
        writer.applyToTable(acmeItems, [insert(9, { name: 'next' })], { revision: 1, at: at(9) }),
      );
      expect((await names())[1]).toBe('rebuilt,next');
    });

    test('histories of one tenant take the place of what was served', async () => {
      const scope: RebuildScope = { projection: 'order_history', tenant: 'acme' };
      const rebuild = await writer.beginRebuild(scope);
      await fillCopy(rebuild, scope);
      await rebuild.holdLive();
      await rebuild.swap();
      expect(await readModels.history('acme', id(1), wholeHistory)).toMatchObject({ total: 2 });
      expect(await readModels.history('other', id(1), wholeHistory)).toMatchObject({ total: 1 });
      expect(await names()).toEqual(['live', 'live', 'live']);
      await write(writer, () => writer.addHistory('acme', id(1), [historyEntry(2)]));
      expect(await readModels.history('acme', id(1), wholeHistory)).toMatchObject({ total: 3 });
    });

    test('what the live projection writes meanwhile is not lost: it is held until the copy has it too', async () => {
      const rebuild = await writer.beginRebuild({ projection: 'records' });
      await fillCopy(rebuild, { projection: 'records' });
      const late = () => writer.applyToTable(acmePlaces, [insert(8, { name: 'late' })], { revision: 1, at: at(8) });
      await write(writer, late, { records: 8 });

      expect(await rebuild.holdLive()).toBe(8);
      const held = write(
        writer,
        () => writer.applyToTable(acmePlaces, [insert(9, { name: 'held' })], { revision: 2, at: at(9) }),
        {
          records: 9,
        },
      );
      await rebuild.writer.applyToTable(acmePlaces, [insert(8, { name: 'late' })], { revision: 1, at: at(8) });
      await rebuild.swap();
      await held;
      expect((await names())[0]).toBe('rebuilt,late,held');
      expect(await readModels.checkpoint('records')).toBe(9);
    });

    test('an abandoned rebuild leaves everything as it was, and the live projection goes on', async () => {
      const rebuild = await writer.beginRebuild({ projection: 'records' });
      await fillCopy(rebuild, { projection: 'records' });
      await rebuild.holdLive();
      await rebuild.abandon();
      await write(writer, () =>
        writer.applyToTable(acmePlaces, [insert(9, { name: 'on' })], { revision: 1, at: at(9) }),
      );
      expect(await names()).toEqual(['live,on', 'live', 'live']);
    });

    test.each([
      ['of a record that is not there', { kind: 'patch', id: id(99), at: at(9), set: { name: 'x' } }],
      ['that creates a record again', insert(2, { name: 'again' })],
      ['that sees a record that is not there', { kind: 'seen', ids: [id(99)], batchId: 'x' }],
    ] as const)('a change %s does not fit, and the position of its event is told', async (_, change) => {
      const rebuild = await writer.beginRebuild({ projection: 'records' });
      await fillCopy(rebuild, { projection: 'records' });
      const refused = write(rebuild.writer, async () => {
        await rebuild.writer.applyToTable(acmeItems, [insert(50, {})], { revision: 1, at: at(9), position: 11 });
        await rebuild.writer.applyToTable(acmeItems, [change], { revision: 2, at: at(9), position: 12 });
      });
      await expect(refused).rejects.toBeInstanceOf(MismatchError);
      await expect(refused).rejects.toMatchObject({ mismatch: { position: 12 } });
      await rebuild.writer.rollback();
      await rebuild.abandon();
      expect(await names()).toEqual(['live', 'live', 'live']);
    });

    test('there is one at a time, also over several processes', async () => {
      const other = await anotherWriter();
      const rebuild = await writer.beginRebuild({ projection: 'records' });
      await expect(other.beginRebuild({ projection: 'records' })).rejects.toBeInstanceOf(RebuildInProgressError);
      await rebuild.abandon();
      await (await other.beginRebuild({ projection: 'records' })).abandon();
      await other.close();
    });
  });
}
