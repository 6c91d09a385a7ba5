import { type CommitNews, MAX_NEWS_SIZE, RecentCommits } from '#app/adapters/eventstore/sqlite/commitNews.js';
import type { EventRow } from '#app/adapters/eventstore/sqlite/encoding.js';

const METADATA = JSON.stringify(['acme', { kind: 'client', id: 'c' }, 'r', 'r', '2026-11-22T00:00:00.000Z']);

const row = (position: number, stream: string, data = '{}'): EventRow => ({
  position,
  revision: 0,
  following: 0,
  id: String(position).padStart(32, '0'),
  stream,
  type: 'Happened',
  schema_version: 1,
  metadata: METADATA,
  data,
});

const commit = (...rows: readonly EventRow[]): CommitNews => ({
  after: (rows[0]?.position ?? 0) - 1,
  head: rows.at(-1)?.position ?? 0,
  rows,
});

const heard = (...commits: readonly CommitNews[]): RecentCommits => {
  const recent = new RecentCommits();
  for (const news of commits) recent.add(news);
  return recent;
};

const positions = (recent: RecentCommits, after: number, prefixes?: readonly string[], maxCount = 500) => {
  const slice = recent.slice(after, prefixes, maxCount);
  return slice && { events: slice.events.map(({ position }) => position), at: slice.position };
};

test('commits that follow one another are read from the place that a follower has', () => {
  const recent = heard(commit(row(1, 'a-1'), row(2, 'b-1')), commit(row(3, 'a-2')));
  expect(positions(recent, 0)).toEqual({ events: [1, 2, 3], at: 3 });
  expect(positions(recent, 2)).toEqual({ events: [3], at: 3 });
  expect(recent.slice(2, undefined, 500)).toMatchObject({
    eventId: '00000000-0000-0000-0000-000000000003',
    events: [{ id: '00000000-0000-0000-0000-000000000003', metadata: { tenant: 'acme' }, data: {} }],
  });
});

test('what the filter leaves out is passed over, not read', () => {
  const recent = heard(commit(row(1, 'a-1')), commit(row(2, 'b-1')));
  expect(positions(recent, 0, ['b-'])).toEqual({ events: [2], at: 2 });
  expect(positions(recent, 1, ['a-'])).toEqual({ events: [], at: 2 });
});

test('a slice ends with a commit; where it must end within one, between two appends, the file is read', () => {
  const recent = heard(commit(row(1, 'a-1'), row(2, 'b-1')), commit(row(3, 'a-1')));
  expect(positions(recent, 0, undefined, 2)).toEqual({ events: [1, 2], at: 2 });
  expect(positions(recent, 0, undefined, 1)).toBeUndefined();
  expect(positions(recent, 2, undefined, 1)).toEqual({ events: [3], at: 3 });
});

test('where another process has written between, the file is read', () => {
  const recent = heard(commit(row(1, 'a-1')), commit(row(3, 'a-1')));
  expect(positions(recent, 0)).toBeUndefined();
  expect(positions(recent, 1)).toBeUndefined();
  expect(positions(recent, 2)).toEqual({ events: [3], at: 3 });
});

test('what was not handed over is read from the file, with all before it', () => {
  const recent = heard(commit(row(1, 'a-1')), { after: 1, head: 900, rows: [] }, commit(row(901, 'a-1')));
  expect(positions(recent, 0)).toBeUndefined();
  expect(positions(recent, 1)).toBeUndefined();
  expect(positions(recent, 900)).toEqual({ events: [901], at: 901 });
});

test('so much is kept, the last commit at least', () => {
  const half = JSON.stringify('x'.repeat(MAX_NEWS_SIZE / 2));
  const recent = heard(commit(row(1, 'a-1', half)), commit(row(2, 'a-1', half)));
  expect(positions(recent, 0)).toBeUndefined();
  expect(positions(recent, 1)).toEqual({ events: [2], at: 2 });
});

test('a place in the middle of a commit, or behind all, is left to the file', () => {
  const recent = heard(commit(row(1, 'a-1'), row(2, 'a-1')));
  expect(positions(recent, 1)).toBeUndefined();
  expect(positions(recent, 2)).toBeUndefined();
});

test('what is refused is passed over, and its data is not parsed', () => {
  const recent = heard(commit(row(1, 'a-1'), row(2, 'b-1', 'no JSON')), commit(row(3, 'b-1', 'no JSON')));
  const slice = recent.slice(0, undefined, 500, (stream) => stream !== 'b-1');
  expect(slice).toMatchObject({ events: [{ position: 1 }], position: 3 });
});
