import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type EventStore, type RecordedEvent, WrongExpectedRevisionError } from '#app/ports/eventStore.js';
import { event, firstEvents, ids } from './eventStoreFixtures.js';

const WRITERS = 8;
const APPENDS_EACH = 40;

type Counted = { readonly writer: number; readonly number: number; readonly part: number; readonly of: number };

/** Several writers, over two stores on one log, while others read. */
export function describeConcurrentWriters(store: () => EventStore, openSecond: () => Promise<EventStore>): void {
  describe('concurrent writers', () => {
    let second: EventStore;
    beforeAll(async () => {
      second = await openSecond();
    });
    afterAll(() => second.close());

    test('what one store appends another reads, and its subscription sees it', async () => {
      const stream = `order-${randomUUID()}`;
      const seen = firstEvents(second, { after: await second.head(), streamPrefixes: [stream] }, 1);
      const given = event();
      await store().append(stream, [given], 'no-stream');
      expect(ids(await second.readStream(stream))).toEqual([given.id]);
      expect(ids(await seen)).toEqual([given.id]);
      expect((await second.append(stream, [event()], 0)).revision).toBe(1);
      await expect(store().append(stream, [event()], 0)).rejects.toThrow(WrongExpectedRevisionError);
    });

    test('lose nothing: every reader sees exactly the order that is stored', async () => {
      const category = `shared${randomUUID().slice(0, 8)}-`;
      const streams = [`${category}a`, `${category}b`, `${category}c`];
      const after = await store().head();
      const planned = Array.from({ length: WRITERS }, (_, writer) => plan(writer));
      const total = planned.flat(2).length;
      const live = [
        firstEvents(store(), { after, streamPrefixes: [category], maxCount: 5 }, total),
        firstEvents(second, { after, streamPrefixes: [category] }, total),
      ];

      await Promise.all(planned.map((appends, writer) => write(writer % 2 === 0 ? store() : second, streams, appends)));

      const [one, other] = await Promise.all(live);
      const stored = await firstEvents(second, { after, streamPrefixes: [category] }, total);
      expect(one).toEqual(stored);
      expect(other).toEqual(stored);
      expect(stored.map(described).sort()).toEqual(planned.flat(2).map(text).sort());
      expectWholeAppends(stored);
      for (const stream of streams) {
        const own = stored.filter((each) => each.stream === stream);
        expect(own.map(({ revision }) => revision)).toEqual(own.map((_, index) => index));
        expect(own).toEqual(await store().readStream(stream));
      }
    });
  });
}

/** The appends of one writer: one to three events each. */
function plan(writer: number): readonly (readonly Counted[])[] {
  return Array.from({ length: APPENDS_EACH }, (_, number) => {
    const of = 1 + (number % 3);
    return Array.from({ length: of }, (__, part) => ({ writer, number, part, of }));
  });
}

/** Appends with the revision it has read, and reads again on a conflict, as commands do. */
async function write(store: EventStore, streams: readonly string[], appends: readonly (readonly Counted[])[]) {
  const known = new Map<string, number>();
  for (const [number, counted] of appends.entries()) {
    const stream = streams[(number + counted.length) % streams.length] ?? '';
    const given = counted.map((each) => event(each));
    await delay((number * 7) % 4);
    for (let done = false; !done; ) {
      const before = known.get(stream) ?? -1;
      const revision = (await store.readStream(stream, before + 1)).at(-1)?.revision ?? before;
      known.set(stream, revision);
      done = await store.append(stream, given, revision === -1 ? 'no-stream' : revision).then(
        () => true,
        (error: unknown) => {
          if (error instanceof WrongExpectedRevisionError) return false;
          throw error;
        },
      );
    }
  }
}

function expectWholeAppends(stored: readonly RecordedEvent[]): void {
  let expected: Counted | undefined;
  for (const each of stored) {
    const counted = countedOf(each);
    if (expected !== undefined) expect(counted).toEqual(expected);
    expected = counted.part + 1 < counted.of ? { ...counted, part: counted.part + 1 } : undefined;
  }
  expect(expected).toBeUndefined();
}

function countedOf({ data }: RecordedEvent): Counted {
  const { writer, number, part, of } = Object(data);
  return { writer, number, part, of };
}

function described(recorded: RecordedEvent): string {
  return text(countedOf(recorded));
}

function text({ writer, number, part }: Counted): string {
  return `writer ${writer}, append ${number}, part ${part}`;
}
