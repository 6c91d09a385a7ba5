/** The activity: its order, its filters, its cursor, and that an entry is stored once. */
import { MAX_ACTIVITY_SEARCHED } from '#app/domain/limits.js';
import type { ActivityEntry, ActivityFilters, ActivityQuery } from '#app/ports/activity.js';
import { activityEntry, at, id, type OpenQueries, write } from './readModelsFixture.js';

export function describeActivity(name: string, open: OpenQueries<'addActivity'>): void {
  describe(`read models, activity: ${name}`, () => {
    let opened: Awaited<ReturnType<OpenQueries<'addActivity'>>>;

    beforeEach(async () => {
      opened = await open();
    });

    const add = (entries: readonly ActivityEntry[], tenant = 'acme') =>
      write(opened.writer, () => opened.writer.addActivity(tenant, entries));
    const page = (query: Partial<ActivityQuery> = {}, tenant = 'acme') =>
      opened.readModels.activity(tenant, { filters: {}, limit: 25, ...query });
    const foundBy = async (query: Partial<ActivityQuery> = {}, tenant = 'acme') =>
      (await page(query, tenant)).entries.map(({ position }) => position);

    test('entries come back as they were added, each once, newest first, and only of their tenant', async () => {
      expect(await page()).toEqual({ entries: [] });
      await add([1, 3, 2].map((n) => activityEntry(n)));
      await add([activityEntry(3), activityEntry(4, { kind: 'user.added' })]);
      await add([activityEntry(9)], 'other');
      expect(await page()).toEqual({
        entries: [activityEntry(4, { kind: 'user.added' }), activityEntry(3), activityEntry(2), activityEntry(1)],
      });
      expect(await foundBy({}, 'other')).toEqual([9]);
      expect(await foundBy({}, 'unknown')).toEqual([]);
    });

    test('they go by time, then by place in the log: events of one append may share a position', async () => {
      await add([
        activityEntry(5, { at: at(1) }),
        activityEntry(4, { at: at(2) }),
        activityEntry(6, { at: at(3), position: 6, revision: 1 }),
        activityEntry(6, { at: at(3), position: 6, revision: 0 }),
      ]);
      const places = async (query: Partial<ActivityQuery>) =>
        (await page(query)).entries.map(({ position, revision }) => `${position}.${revision}`);
      expect(await places({})).toEqual(['6.1', '6.0', '4.4', '5.5']);
      const [first] = (await page({ limit: 1 })).entries;
      expect(await places({ before: first })).toEqual(['6.0', '4.4', '5.5']);
      expect(await places({ before: { at: at(2), position: 4, revision: 4 } })).toEqual(['5.5']);
    });

    test('a time is found with its bounds, also behind a cursor', async () => {
      await add([1, 2, 3, 4, 5].map((n) => activityEntry(n)));
      expect(await foundBy({ from: at(2), to: at(4) })).toEqual([4, 3, 2]);
      expect(await foundBy({ from: at(2), to: at(4), before: activityEntry(4) })).toEqual([3, 2]);
      expect(await foundBy({ from: at(2), to: at(4), before: activityEntry(3), limit: 1 })).toEqual([2]);
      expect(await foundBy({ to: at(4), before: activityEntry(9) })).toEqual([4, 3, 2, 1]);
    });

    test('each filter finds what it names, whatever the case of an id; several must all hold', async () => {
      const ofUser = { kind: 'user', id: '7', name: 'Ada' } as const;
      await add([
        activityEntry(1),
        activityEntry(2, { actor: ofUser, kind: 'order.approved', orderId: id(90), table: 'dyn_stock_order' }),
        activityEntry(3, { subject: { kind: 'webhook', id: id(3) }, kind: 'webhook.changed' }),
        activityEntry(4, { subject: { kind: 'record', id: id(3) }, correlationId: id(77) }),
        activityEntry(5, { actor: ofUser }),
      ]);
      const by = (filters: ActivityFilters) => foundBy({ filters });
      expect(await by({ actor: '7' })).toEqual([5, 2]);
      expect(await by({ actor: id(1).toUpperCase() })).toEqual([4, 3, 1]);
      expect(await by({ kind: 'order.approved' })).toEqual([2]);
      expect(await by({ table: 'dyn_item' })).toEqual([5, 4, 3, 1]);
      expect(await by({ subject: { kind: 'record', id: id(3).toUpperCase() } })).toEqual([4]);
      expect(await by({ subject: { kind: 'webhook', id: id(3) } })).toEqual([3]);
      expect(await by({ orderId: id(90).toUpperCase() })).toEqual([2]);
      expect(await by({ correlationId: id(77) })).toEqual([4]);
      expect(await by({ actor: '7', table: 'dyn_item', kind: 'record.changed' })).toEqual([5]);
      expect(await by({ actor: '7', kind: 'webhook.changed' })).toEqual([]);
      expect(await foundBy({ filters: { actor: id(1), table: 'dyn_item' }, before: activityEntry(4) })).toEqual([3, 1]);
    });

    test('with several filters a search ends after so many entries, says where, and goes on from there', async () => {
      const rare = activityEntry(1, { table: 'rare' });
      const many = Array.from({ length: MAX_ACTIVITY_SEARCHED + 5 }, (_, n) => activityEntry(n + 2));
      await add([rare, ...many]);
      const filters = { actor: id(1), table: 'rare' };
      const first = await page({ filters });
      expect(first.entries).toEqual([]);
      expect(first.searchedTo?.position).toBe(7);
      expect(await page({ filters, before: first.searchedTo })).toEqual({ entries: [rare] });
      // One filter alone needs no search.
      expect(await page({ filters: { table: 'rare' } })).toEqual({ entries: [rare] });
      expect((await page({ filters: { actor: id(1), table: 'dyn_item' }, limit: 3 })).searchedTo).toBeUndefined();
    });
  });
}
