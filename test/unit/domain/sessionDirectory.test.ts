import { evolveTenant, type Tenant } from '#app/domain/identity/directory.js';
import type { DirectoryEvent } from '#app/domain/identity/events.js';

const tenant: DirectoryEvent = {
  type: 'TenantCreated',
  data: { name: 'acme', displayName: 'Acme', orderModel: 'dyn_stock_order' },
};
const time = (hour: string): string =>
  new Date(Date.UTC(2026, 10, 21, Number(hour))).toISOString().replace('Z', '000Z');
const ended = (userId: number, sessionId: string, expires: string): DirectoryEvent => ({
  type: 'SessionEnded',
  data: { userId, sessionId, expiresAt: time(expires) },
});

/** The sessions of each user that are remembered as ended, after these events at their hours. */
function given(...events: readonly (readonly [hour: string, DirectoryEvent])[]) {
  const folded = [['00', tenant] as const, ...events].reduce<Tenant | undefined>(
    (state, [hour, event]) => evolveTenant(state, event, time(hour)),
    undefined,
  );
  return [...(folded?.endedSessions ?? [])].map(([user, sessions]) => [user, [...sessions.keys()]]);
}

describe('ended sessions as the directory folds them', () => {
  test('each counts for its user', () => {
    expect(given(['01', ended(1, 'a', '08')], ['01', ended(2, 'b', '08')], ['02', ended(1, 'c', '09')])).toEqual(
      [
        [2, ['b']],
        [1, ['a', 'c']],
      ].sort(),
    );
  });

  test('one that would be over by itself for a day is dropped with the next', () => {
    expect(given(['01', ended(1, 'a', '08')], ['32', ended(1, 'b', '36')])).toEqual([[1, ['b']]]);
  });

  test('a user takes them along', () => {
    expect(given(['01', ended(1, 'a', '08')], ['02', { type: 'UserRemoved', data: { id: 1 } }])).toEqual([]);
  });
});
