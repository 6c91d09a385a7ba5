import { type Changes, changesAfter, currentCursor, type FeedCursor } from '#app/api/assets/changes.js';
import { KEPT_DELETED_DAYS, MAX_CHANGE_EVENTS, MAX_CHANGES } from '#app/domain/limits.js';
import { packIds } from '#app/domain/referenceTable/events.js';
import type { RecordedEvent, SliceRange } from '#app/ports/eventStore.js';
import { Cancellation } from '#app/supervision/cancellation.js';
import { metadata, sliceOf } from '../../contract/eventStoreFixtures.js';

const table = { tenant: 'acme', table: 'dyn_item' };
const id = (n: number): string => `0190a000-0000-7000-8000-${String(n).padStart(12, '0')}`;
const ids = (from: number, count: number) => Array.from({ length: count }, (_, n) => id(from + n));

type Said = { readonly type: string; readonly data: object };
const batch = (created: readonly string[], changed: readonly string[] = [], seen: readonly string[] = []): Said => ({
  type: 'BatchUpserted',
  data: {
    batchId: 'b',
    created: created.map((each) => ({ id: each, fields: {} })),
    changed: changed.map((each) => ({ id: each, set: {} })),
    seen: packIds(seen),
  },
});
const cleanUp: Said = { type: 'TableCleanedUp', data: { batchId: 'b', deleted: 0 } };
const created = (n: number): Said => ({ type: 'RecordCreated', data: { id: id(n), fields: {} } });

/** A table with this stream, of which so much is shown. */
class Table {
  /** What is there no more. */
  readonly deleted = new Set<string>();
  /** By revision of the clean-up. */
  readonly swept = new Map<number, readonly string[]>();
  /** How many records fit on a page. */
  fitting = Number.POSITIVE_INFINITY;
  read = 0;
  events: RecordedEvent[] = [];

  constructor(
    said: readonly Said[],
    readonly shown = said.length - 1,
  ) {
    this.add(...said);
  }

  add(...said: readonly Said[]): void {
    for (const { type, data } of said) {
      const revision = this.events.length;
      this.events.push({
        id: `event ${revision}`,
        type,
        data,
        stream: 's',
        revision,
        position: revision + 1,
        metadata,
      });
    }
  }

  now = metadata.occurredAt;

  get feed() {
    return {
      table,
      now: () => this.now,
      cancellation: new Cancellation(),
      eventStore: {
        readSlice: async (_stream: string, range: SliceRange) => {
          const slice = sliceOf(this.events, range);
          this.read += slice.events.length;
          return slice;
        },
      },
      readModels: {
        byIds: async (_table: object, asked: readonly string[]) => ({
          revision: this.shown,
          records: asked.slice(0, this.fitting).map((each) => (this.deleted.has(each) ? null : `{"id":"${each}"}`)),
        }),
        cleanedUpIds: async (
          _table: object,
          revision: number,
          { behind = '', limit }: { readonly behind?: string | undefined; readonly limit: number },
        ) => (this.swept.get(revision) ?? []).filter((each) => each > behind).slice(0, limit),
      },
    };
  }

  async behind(from: FeedCursor): Promise<Changes> {
    const changes = await changesAfter(this.feed, from);
    if (changes === undefined) throw new Error('The place is gone.');
    return changes;
  }

  /** All pages. */
  async all(from: FeedCursor): Promise<{ pages: string[][]; last: Changes }> {
    const pages: string[][] = [];
    for (let place = from; ; ) {
      const last = await this.behind(place);
      pages.push(last.changed.map((each) => each.id));
      if (!last.hasMore) return { pages, last };
      place = last.next;
    }
  }
}

const BEGIN: FeedCursor = { revision: -1, eventId: '' };

test('each record that an event names comes once, as it is now; what is only seen again does not', async () => {
  const of = new Table([created(1), batch([id(2), id(3)], [id(1)], [id(9)]), batch([], [id(2)])]);
  of.deleted.add(id(3));
  const { changed, next, hasMore } = await of.behind(BEGIN);
  expect(changed).toEqual([
    { id: id(1), record: `{"id":"${id(1)}"}` },
    { id: id(2), record: `{"id":"${id(2)}"}` },
    { id: id(3), record: null },
  ]);
  expect([next, hasMore]).toEqual([{ revision: 2, eventId: 'event 2' }, false]);
  expect(await of.behind(next)).toEqual({ changed: [], next, hasMore: false });
});

test('the undo of a batch tells what it deleted and what it put back', async () => {
  const undone = { undoes: 0, changed: [{ id: id(2), set: {} }], seen: packIds([id(9)]), deleted: packIds([id(1)]) };
  const of = new Table([batch([id(1)], [id(2)]), { type: 'BatchUndone', data: undone }]);
  of.deleted.add(id(1));
  const { changed } = await of.behind({ revision: 0, eventId: 'event 0' });
  expect(changed).toEqual([
    { id: id(1), record: null },
    { id: id(2), record: `{"id":"${id(2)}"}` },
  ]);
});

test('only what is shown is told', async () => {
  const of = new Table([created(1), created(2), created(3)], 1);
  const { changed, next, hasMore } = await of.behind(BEGIN);
  expect(changed.map((each) => each.id)).toEqual([id(1), id(2)]);
  expect([next.revision, hasMore]).toEqual([1, false]);
  expect(await currentCursor(of.feed, table)).toEqual(next);
  expect(await currentCursor(new Table([]).feed, table)).toEqual(BEGIN);
});

test('a page ends within an event, and the next goes on there', async () => {
  const of = new Table([batch(ids(0, 700)), batch(ids(700, 700), ids(0, 10)), created(5000)]);
  const { pages } = await of.all(BEGIN);
  expect(pages.map((page) => page.length)).toEqual([MAX_CHANGES, 411]);
  // What was on the page before comes again only where it is named again behind its end.
  expect(pages.flat()).toEqual([...ids(0, 1400), ...ids(0, 10), id(5000)]);
});

test('a clean-up of many is told in pages, by the ids that it deleted', async () => {
  const of = new Table([created(1), cleanUp, created(2)]);
  of.swept.set(1, ids(100, 2_500));
  for (const each of ids(100, 2_500)) of.deleted.add(each);
  const { pages } = await of.all(BEGIN);
  expect(pages.map((page) => page.length)).toEqual([1000, 1000, 502]);
  expect(pages.flat()).toEqual([id(1), ...ids(100, 2_500), id(2)]);
});

test('a page ends where its records are too large, and the next goes on with the first that had no room', async () => {
  const of = new Table([batch(ids(0, 5)), cleanUp, created(7)]);
  of.swept.set(1, ids(20, 2));
  of.fitting = 3;
  const { pages } = await of.all(BEGIN);
  expect(pages).toEqual([ids(0, 3), [id(3), id(4), id(20)], [id(21), id(7)]]);
});

test('what changes nothing is passed over, so many events a page', async () => {
  const same = batch([], [], [id(1)]);
  const of = new Table([...Array.from({ length: MAX_CHANGE_EVENTS + 5 }, () => same), created(1)]);
  const first = await of.behind(BEGIN);
  expect(first).toEqual({ changed: [], next: { revision: 499, eventId: 'event 499' }, hasMore: true });
  expect(of.read).toBe(MAX_CHANGE_EVENTS);
  expect((await of.behind(first.next)).changed.map((each) => each.id)).toEqual([id(1)]);
});

test('few events are read beyond those that fill a page', async () => {
  const note = 'x'.repeat(400);
  const large = (n: number): Said => {
    const created = ids(n * 1000, 1000).map((each) => ({ id: each, fields: { note } }));
    return { type: 'BatchUpserted', data: { batchId: 'b', created, changed: [], seen: packIds([]) } };
  };
  const of = new Table(Array.from({ length: 50 }, (_, n) => large(n)));
  await of.behind({ revision: 10, eventId: 'event 10' });
  expect(of.read).toBeLessThan(5);
});

test('a place that the log does not hold is told', async () => {
  const of = new Table([created(1), created(2)]);
  expect(await changesAfter(of.feed, { revision: 1, eventId: 'event of another log' })).toBeUndefined();
  expect(await changesAfter(of.feed, { revision: 2, eventId: 'event 2' })).toBeUndefined();
});

test('ends when nobody waits for it any more', async () => {
  const { feed } = new Table([created(1)]);
  const reason = new Error('left');
  feed.cancellation.cancel(reason);
  await expect(changesAfter(feed, BEGIN)).rejects.toBe(reason);
});

test('behind a clean-up of which it is not known any more what it deleted, there are no changes to tell', async () => {
  const of = new Table([created(1), cleanUp, created(2)]);
  of.swept.set(1, [id(1)]);
  const days = (count: number): string => new Date(Date.parse(metadata.occurredAt) + count * 86_400_000).toISOString();
  of.now = days(KEPT_DELETED_DAYS - 1);
  expect(await changesAfter(of.feed, BEGIN)).toBeDefined();
  of.now = days(KEPT_DELETED_DAYS + 1);
  expect(await changesAfter(of.feed, BEGIN)).toBeUndefined();
  expect(await changesAfter(of.feed, { revision: 1, eventId: 'event 1' })).toBeDefined();
});
