/** Streams are read page by page: a long one is never in memory as a whole. */
import { eventAt, streamPages, streamPagesBackwards } from '#app/commands/streamPages.js';
import { READ_SLICE_BYTES } from '#app/domain/limits.js';
import type { EventStore, RecordedEvent } from '#app/ports/eventStore.js';
import { Cancellation } from '#app/supervision/cancellation.js';
import { sliceOf } from '../../contract/eventStoreFixtures.js';

/** A stream of so many events, and the most of them that one call was answered with. */
function streamOf(count: number, data = '') {
  const events = Array.from({ length: count }, (_, revision) => ({ revision, data }) as RecordedEvent);
  const read = { atOnce: 0, times: 0 };
  const readSlice: EventStore['readSlice'] = async (_, range) => {
    const slice = sliceOf(events, range);
    read.atOnce = Math.max(read.atOnce, slice.events.length);
    read.times += 1;
    return slice;
  };
  return { read, eventStore: { readSlice } };
}

test.each([
  [0, 0, Number.MAX_SAFE_INTEGER, 0],
  [1, 0, Number.MAX_SAFE_INTEGER, 1],
  [100, 0, Number.MAX_SAFE_INTEGER, 100],
  [250, 0, Number.MAX_SAFE_INTEGER, 250],
  [250, 120, 230, 111],
  [250, 240, 9, 0],
])('of %s events those from %s to %s', async (count, from, to, expected) => {
  const { read, eventStore } = streamOf(count);
  const found: number[] = [];
  for await (const page of streamPages(eventStore, 's', { from, to })) {
    expect(page).not.toHaveLength(0);
    found.push(...page.map(({ revision }) => revision));
  }
  expect(found).toEqual(Array.from({ length: expected }, (_, n) => from + n));
  expect(read.atOnce).toBeLessThanOrEqual(100);
});

test.each([
  [250, -1, []],
  [1, 0, [[0, 0]]],
  [250, 99, [[0, 99]]],
  [
    250,
    249,
    [
      [150, 249],
      [50, 149],
      [0, 49],
    ],
  ],
])('of %s events those up to %s, the last ones first', async (count, to, expected) => {
  const { read, eventStore } = streamOf(count);
  const found: (readonly unknown[])[] = [];
  for await (const page of streamPagesBackwards(eventStore, 's', { to })) {
    found.push([page[0]?.revision, page.at(-1)?.revision]);
  }
  expect(found).toEqual(expected);
  expect(read.atOnce).toBeLessThanOrEqual(100);
});

test('large events are read few at a time, in either direction', async () => {
  const { read, eventStore } = streamOf(10, 'x'.repeat(READ_SLICE_BYTES / 2));
  for (const pages of [streamPages(eventStore, 's'), streamPagesBackwards(eventStore, 's', { to: 9 })]) {
    const found: number[] = [];
    for await (const page of pages) found.push(...page.map(({ revision }) => revision));
    expect(found.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  }
  expect(read.atOnce).toBe(2);
});

test('reading ends at its cancellation', async () => {
  const cancellation = new Cancellation();
  const { read, eventStore } = streamOf(250);
  const reading = async () => {
    for await (const _ of streamPages(eventStore, 's', { cancellation })) cancellation.cancel(new Error('over'));
  };
  await expect(reading()).rejects.toThrow('over');
  expect(read.times).toBe(1);
});

test('one event is read alone', async () => {
  const { eventStore } = streamOf(3);
  expect(await eventAt(eventStore, 's', 1)).toMatchObject({ revision: 1 });
  expect(await eventAt(eventStore, 's', 3)).toBeUndefined();
  expect(await eventAt(eventStore, 's', -1)).toBeUndefined();
});
