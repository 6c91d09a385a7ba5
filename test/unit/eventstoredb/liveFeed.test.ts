/** The feed that all subscriptions of a process share. */
import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { LiveFeed } from '#app/adapters/eventstore/eventstoredb/liveFeed.js';
import type { SizedSlice } from '#app/adapters/eventstore/eventstoredb/sliceBuilder.js';
import type { EventSlice, Position, RecordedEvent } from '#app/ports/eventStore.js';
import { metadata } from '../../contract/eventStoreFixtures.js';

const event = (position: Position, stream: string): RecordedEvent => ({
  id: `${position}`,
  type: 'Happened',
  data: {},
  metadata,
  stream,
  revision: 0,
  position,
});

const slice = (position: Position, stream: string, characters = 10): SizedSlice => ({
  events: [event(position, stream)],
  position,
  caughtUp: true,
  characters,
});

/** A log that the test fills, and a feed over it. */
class FilledLog {
  readonly ending = new AbortController();
  readonly begun: Position[] = [];
  #waiting: ((next: SizedSlice | Error) => void) | undefined;
  readonly feed = new LiveFeed((after) => this.#read(after), this.ending.signal);

  async *#read(after: Position): AsyncGenerator<SizedSlice> {
    this.begun.push(after);
    for (;;) {
      const next = await new Promise<SizedSlice | Error>((resolve) => {
        this.#waiting = resolve;
      });
      if (next instanceof Error) throw next;
      yield next;
    }
  }

  async add(...nexts: readonly (SizedSlice | Error)[]): Promise<void> {
    for (const next of nexts) {
      await eventLoopTurn();
      this.#waiting?.(next);
      await eventLoopTurn();
    }
  }

  follow(after: Position, streamPrefixes?: readonly string[], maxCount?: number) {
    const filter = { ...(streamPrefixes && { streamPrefixes }), ...(maxCount && { maxCount }) };
    return this.feed.follow(after, filter, this.ending.signal)[Symbol.asyncIterator]();
  }
}

let log: FilledLog;
beforeEach(() => {
  log = new FilledLog();
});
afterEach(() => log.ending.abort());

const summary = (result: IteratorResult<EventSlice>) =>
  result.done ? 'ended' : { positions: result.value.events.map(({ position }) => position), at: result.value.position };

test('is begun where the first who follows stands, and read once for all', async () => {
  const [orders, tables] = [log.follow(7, ['order-']), log.follow(7, ['table-'])];
  const [order, table] = [orders.next(), tables.next()];
  await log.add(slice(8, 'order-a'));
  expect([summary(await order), summary(await table)]).toEqual([
    { positions: [8], at: 8 },
    { positions: [], at: 8 },
  ]);
  expect(log.begun).toEqual([7]);
});

test('one who was busy gets all that came meanwhile, no more than it asks for at a time', async () => {
  const busy = log.follow(0, ['order-'], 2);
  const first = busy.next();
  await log.add(slice(1, 'order-a'));
  await first;
  await log.add(slice(2, 'order-a'), slice(3, 'table-b'), slice(4, 'order-a'), slice(5, 'order-a'));
  expect(summary(await busy.next())).toEqual({ positions: [2, 4], at: 4 });
  expect(summary(await busy.next())).toEqual({ positions: [5], at: 5 });
});

test('who comes later and knows more than it has begun with is told only what is new to it', async () => {
  const first = log.follow(0).next();
  await log.add({ ...slice(4, 'order-a'), events: [event(3, 'order-a'), event(4, 'order-a')] });
  await first;
  expect(summary(await log.follow(3).next())).toEqual({ positions: [4], at: 4 });
});

test('ends for one who is so far behind that what follows is no longer kept', async () => {
  const slow = log.follow(0);
  const first = slow.next();
  await log.add(slice(1, 'order-a'));
  await first;
  await log.add(...Array.from({ length: 6 }, (_, n) => slice(n + 2, 'order-a', 1_000_000)));
  expect(log.feed.keeps(1)).toBe(false);
  expect(summary(await slow.next())).toBe('ended');
  expect(summary(await log.follow(5).next())).toEqual({ positions: [6, 7], at: 7 });
});

test('a failure is told to all who follow, and the next begins anew', async () => {
  const [one, other] = [log.follow(0).next(), log.follow(0).next()];
  await log.add(new Error('away'));
  await expect(one).rejects.toThrow('away');
  await expect(other).rejects.toThrow('away');
  const again = log.follow(5).next();
  await log.add(slice(6, 'order-a'));
  expect(summary(await again)).toEqual({ positions: [6], at: 6 });
  expect(log.begun).toEqual([0, 5]);
});
