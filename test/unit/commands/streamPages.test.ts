/** Streams are read page by page: a long one is never in memory as a whole. */
import { streamPages, streamPagesBackwards } from '#app/commands/streamPages.js';
import type { EventStore, RecordedEvent } from '#app/ports/eventStore.js';

/** A stream of so many events, and the most of them that one call was answered with. */
function streamOf(count: number) {
  const events = Array.from({ length: count }, (_, revision) => ({ revision }) as RecordedEvent);
  const read = { atOnce: 0 };
  const readStream: EventStore['readStream'] = async (_, from = 0, to = Number.MAX_SAFE_INTEGER) => {
    const page = events.slice(from, to + 1);
    read.atOnce = Math.max(read.atOnce, page.length);
    return page;
  };
  return { read, eventStore: { readStream } };
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
  for await (const page of streamPages(eventStore, 's', from, to)) {
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
  for await (const page of streamPagesBackwards(eventStore, 's', to)) {
    found.push([page[0]?.revision, page.at(-1)?.revision]);
  }
  expect(found).toEqual(expected);
  expect(read.atOnce).toBeLessThanOrEqual(100);
});
