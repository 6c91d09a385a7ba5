/** Entries of the activity that are shown as one. */
import { activityGroups, idOf, placeIn } from '#app/api/activityGroups.js';
import type { ActivityEntry, ActivityPage, ActivityPlace } from '#app/ports/activity.js';

const entry = (n: number, more: Partial<ActivityEntry> = {}): ActivityEntry => ({
  kind: 'record.changed',
  table: 'dyn_item',
  at: `2026-11-21T03:11:47.${String(n).padStart(6, '0')}Z`,
  position: n,
  revision: n,
  eventId: `e${n}`,
  actor: { kind: 'client', id: 'c' },
  correlationId: `r${n}`,
  causationId: `r${n}`,
  ...more,
});
const part = (n: number, request: string): ActivityEntry => {
  const counts = { created: 1, updated: 2, seen: 0, deleted: 0 };
  return entry(n, { kind: 'table.batch', correlationId: request, counts, details: { batch_ids: [`b${n}`] } });
};

/** Reads these entries, newest first, as a read model does. */
const reading =
  (all: readonly ActivityEntry[]) =>
  async ({
    before,
    limit,
  }: {
    readonly before?: ActivityPlace | undefined;
    readonly limit: number;
  }): Promise<ActivityPage> => ({
    entries: all.filter(({ position }) => before === undefined || position < before.position).slice(0, limit),
  });

test('the events of one batch are one entry: the first of them, with the counts of all', async () => {
  const all = [entry(6), part(5, 'x'), part(4, 'x'), part(3, 'x'), part(2, 'y'), entry(1)];
  const { groups, next } = await activityGroups(reading(all), { limit: 10 });
  expect(groups.map(({ eventId }) => eventId)).toEqual(['e6', 'e3', 'e2', 'e1']);
  expect(groups[1]).toMatchObject({
    counts: { created: 3, updated: 6, seen: 0, deleted: 0 },
    details: { batch_ids: ['b3', 'b4', 'b5'] },
  });
  expect(next).toBeUndefined();
});

test('a page does not end within a batch, and the next one goes on behind it', async () => {
  const all = [entry(6), part(5, 'x'), part(4, 'x'), part(3, 'x'), entry(2), entry(1)];
  const first = await activityGroups(reading(all), { limit: 2 });
  expect(first.groups.map(({ eventId }) => eventId)).toEqual(['e6', 'e3']);
  expect(first.next?.position).toBe(3);
  const second = await activityGroups(reading(all), { before: first.next, limit: 2 });
  expect([second.groups.map(({ eventId }) => eventId), second.next]).toEqual([['e2', 'e1'], undefined]);
});

test('a page ends where a search ended', async () => {
  const place = { at: entry(1).at, position: 1, revision: 1 };
  const read = async () => ({ entries: [entry(9)], searchedTo: place });
  expect(await activityGroups(read, { limit: 5 })).toEqual({ groups: [entry(9)], next: place });
});

test('single changes by one request stay apart', async () => {
  const all = [2, 1].map((n) => entry(n, { correlationId: 'same' }));
  expect((await activityGroups(reading(all), { limit: 5 })).groups).toHaveLength(2);
});

test('a place as text is the same place again', () => {
  const place = { at: '2026-11-21T03:11:47.000042Z', position: 1042, revision: 7 };
  expect(placeIn(idOf(place))).toEqual(place);
});
