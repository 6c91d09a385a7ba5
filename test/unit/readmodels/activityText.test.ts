/** An entry of the activity as it is stored. */
import { activityPage, activityText, provenText } from '#app/adapters/readmodels/shared/activity.js';
import type { ActivityEntry } from '#app/ports/activity.js';

const bare: ActivityEntry = {
  at: '2026-11-21T03:11:47.000001Z',
  position: 1,
  revision: 0,
  kind: 'settings.rate_limit_removed',
  eventId: 'e',
  actor: { kind: 'client', id: 'c' },
  correlationId: 'r',
  causationId: 'r',
};
const whole: ActivityEntry = {
  ...bare,
  kind: 'order.part_changed',
  actor: { kind: 'user', id: '7', name: 'Ünïcode "quoted" 🚚' },
  causationId: 'other',
  request: { method: 'PUT', path: '/api' },
  table: 'dyn_order_line',
  subject: { kind: 'record', id: 'x' },
  orderId: 'o',
  counts: { created: 1, updated: 2, seen: 3, deleted: 4 },
  fields: ['a', 'b'],
  details: { status_from: 'saved' },
};

test.each([bare, whole])('it is read as it was written: $kind', async (entry) => {
  expect(await activityPage({ entries: [activityText(entry)] }, {})).toStrictEqual({ entries: [entry] });
  expect(JSON.parse(provenText(activityText(entry)))).toEqual(entry);
});

test('a damaged text is proven as it is', () => {
  expect(provenText('[1')).toBe('[1');
});

test('an entry that only shares the number of a filter is not shown', async () => {
  const entries = [bare, whole].map(activityText);
  expect((await activityPage({ entries }, { actor: '7' })).entries).toEqual([whole]);
});
