/** What is left of a tenant that was deleted: nothing, of all projections, and only of that tenant. */
import type { ReadModelWriter } from '#app/ports/readModelWriter.js';
import {
  acmePlaces,
  activityEntry,
  at,
  contains,
  delivery,
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
const wholeHistory = { page: 1, perPage: 10 };
const wholeActivity = { filters: {}, limit: 10 };

export function describeDropTenant(name: string, open: OpenReadModels): void {
  describe(`read models, a tenant dropped: ${name}`, () => {
    let opened: Awaited<ReturnType<OpenReadModels>>;
    const drop = async (writer: ReadModelWriter) => {
      await writer.dropTenant('records', 'acme');
      await writer.dropTenant('order_history', 'acme');
      await writer.dropTenant('deliveries', 'acme');
      await writer.dropTenant('activity', 'acme');
    };
    const clearAll = async (writer: ReadModelWriter) => {
      while (await writer.clearDropped());
    };

    beforeEach(async () => {
      opened = await open();
      const { writer } = opened;
      await fill(writer, [insert(1, {}), insert(2, {})]);
      await write(writer, async () => {
        for (const tenant of ['acme', 'other']) {
          await writer.addHistory(tenant, id(1), [historyEntry(0)]);
          await writer.putDelivery(tenant, delivery(1));
          await writer.addActivity(tenant, [activityEntry(1)]);
        }
        await writer.defineTable(otherPlaces, places);
        await writer.applyToTable(otherPlaces, [insert(3, {})], { revision: 0, at: at(3) });
      });
    });
    afterEach(async () => {
      await opened.readModels.close();
      await opened.writer.close();
    });

    const expectDropped = async () => {
      const { readModels } = opened;
      expect(await readModels.get(acmePlaces, id(1))).toBeUndefined();
      expect(await readModels.history('acme', id(1), wholeHistory)).toMatchObject({ total: 0 });
      expect(await readModels.delivery('acme', delivery(1).id)).toBeUndefined();
      expect(await readModels.activity('acme', wholeActivity)).toEqual({ entries: [] });
      expect(await readModels.activity('other', wholeActivity)).toEqual({ entries: [activityEntry(1)] });
      expect(await readModels.get(otherPlaces, id(3))).toContain('"code":"C3"');
      expect(await readModels.history('other', id(1), wholeHistory)).toMatchObject({ total: 1 });
      expect(await readModels.delivery('other', delivery(1).id)).toMatchObject({ id: delivery(1).id });
    };

    test('all of it is gone with the commit, and cleared away afterwards', async () => {
      const { writer } = opened;
      await write(writer, () => drop(writer), { records: 9 });
      await expectDropped();
      expect(await writer.clearDropped()).toBe(true);
      await clearAll(writer);
      expect(await writer.clearDropped()).toBe(false);
      await expectDropped();
    });

    test('a rollback keeps it', async () => {
      const { readModels, writer } = opened;
      await writer.begin();
      await drop(writer);
      await writer.rollback();
      await clearAll(writer);
      expect(await found(readModels, { filters: [contains('code', 'C')] })).toEqual({
        records: ['C1', 'C2'],
        total: 2,
      });
    });

    test('what the same transaction wrote of it before is gone as well', async () => {
      const { writer } = opened;
      await write(writer, async () => {
        await writer.applyToTable(acmePlaces, [insert(5, {})], { revision: 7, at: at(7) });
        await writer.addHistory('acme', id(5), [historyEntry(1)]);
        await writer.putDelivery('acme', delivery(5));
        await writer.addActivity('acme', [activityEntry(5)]);
        await drop(writer);
      });
      await expectDropped();
      expect(await opened.readModels.delivery('acme', delivery(5).id)).toBeUndefined();
    });

    test('a writer that dies in between leaves the rest to the next', async () => {
      const { writer, anotherWriter } = opened;
      await write(writer, () => drop(writer));
      await writer.clearDropped();
      await writer.close();
      const next = await anotherWriter();
      opened = { ...opened, writer: next };
      await next.begin();
      await next.rollback();
      await clearAll(next);
      await expectDropped();
      await fill(next, [insert(1, {})]);
      expect(await found(opened.readModels, {})).toEqual({ records: ['C1'], total: 1 });
    });

    test('a rebuild that saw the tenant before its end puts nothing of it in place', async () => {
      const { writer, readModels } = opened;
      const rebuild = await writer.beginRebuild({ projection: 'records' });
      await rebuild.writer.begin();
      for (const [table, n] of [
        [acmePlaces, 1],
        [otherPlaces, 3],
      ] as const) {
        await rebuild.writer.defineTable(table, places);
        await rebuild.writer.applyToTable(table, [insert(n, {})], { revision: 0, at: at(n) });
      }
      await rebuild.writer.commit(new Map([['records', 1]]));
      await write(writer, () => drop(writer), { records: 2 });
      await rebuild.holdLive();
      await rebuild.writer.dropTenant('records', 'acme');
      await rebuild.swap();
      await clearAll(writer);
      expect(await readModels.get(acmePlaces, id(1))).toBeUndefined();
      expect(await readModels.get(otherPlaces, id(3))).toBeDefined();
    });
  });
}
