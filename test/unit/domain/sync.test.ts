import {
  evolve,
  expiryOf,
  isSyncId,
  refusalOfSync,
  type Sync,
  type SyncEvent,
} from '#app/domain/referenceTable/sync.js';

const at = '2026-11-23T01:00:00.000000Z';
const after = (...events: SyncEvent[]): Sync | undefined =>
  events.reduce<Sync | undefined>((sync, event) => evolve(sync, event, at), undefined);
const started = (id: string): SyncEvent => ({ type: 'SyncStarted', data: { id } });
const failed = (id: string): SyncEvent => ({ type: 'SyncFailed', data: { id, reason: 'No name.' } });

it('only the newest session counts, whatever became of the one before', () => {
  expect(refusalOfSync(undefined, 'a', at)).toContain('not the newest');
  expect(after(failed('a'))).toBeUndefined();
  expect(refusalOfSync(after(started('a')), 'a', at)).toBeUndefined();
  expect(refusalOfSync(after(started('a'), started('b')), 'a', at)).toContain('not the newest');
  expect(refusalOfSync(after(started('a'), started('b'), failed('a')), 'b', at)).toBeUndefined();
});

it('one with a refused batch, or older than a day, is over', () => {
  expect(refusalOfSync(after(started('a'), failed('a')), 'a', at)).toContain('No name.');
  const sync = after(started('a'));
  expect(sync && expiryOf(sync)).toBe('2026-11-24T01:00:00.000Z');
  expect(refusalOfSync(sync, 'a', '2026-11-24T00:59:59.999999Z')).toBeUndefined();
  expect(refusalOfSync(sync, 'a', '2026-11-24T01:00:00.000000Z')).toContain('older than 24 hours');
});

it('a batch id that a client has made up is no session', () => {
  expect(isSyncId('sync-session-0198c1f2-0000-7000-8000-000000000001')).toBe(true);
  for (const other of [
    'sync-1',
    'sync-0198c1f2-0000-7000-8000-000000000001',
    '0198c1f2-0000-7000-8000-000000000001',
    'xxxx-session-0198c1f2-0000-7000-8000-000000000001',
    'sync-session-monday',
    '',
  ]) {
    expect(isSyncId(other)).toBe(false);
  }
});
