import { randomUUID } from 'node:crypto';
import {
  type EventStore,
  MAX_EVENT_BYTES,
  type RecordedEvent,
  WrongExpectedRevisionError,
} from '#app/ports/eventStore.js';
import { describeConcurrentWriters } from './eventStoreConcurrency.js';
import { event, events, ids, storedSlices } from './eventStoreFixtures.js';
import { describeSubscriptions } from './eventStoreSubscriptions.js';

/** A log under test. It may hold other data: nothing here expects it to be empty. */
export type LogUnderTest = Awaited<ReturnType<typeof logUnderTest>>;

/** @param openStore opens the log, each time as another process would */
export async function logUnderTest(openStore: () => Promise<EventStore>, dispose = async () => {}) {
  const opened: EventStore[] = [];
  const open = async () => {
    const store = await openStore();
    opened.push(store);
    return store;
  };
  const store = await open();
  return {
    store,
    openSecond: open,
    reopen: async () => {
      await store.close();
      return open();
    },
    close: async () => {
      for (const each of opened) await each.close();
      await dispose();
    },
  };
}

/** The specification of the port `EventStore`, run over each adapter. */
export function describeEventStore(name: string, open: () => Promise<LogUnderTest>): void {
  describe(`event store: ${name}`, () => {
    let log: LogUnderTest;
    const store = () => log.store;

    beforeAll(async () => {
      log = await open();
    });
    afterAll(() => log.close());

    describeStreams(store);
    describeExpectedRevision(store);
    describeIdempotency(store);
    describeLimits(store);
    describeIdentity(store, () => log.openSecond());
    describeSubscriptions(store);
    describeConcurrentWriters(store, () => log.openSecond());
    describeLife(open);
  });
}

function describeStreams(store: () => EventStore): void {
  describe('streams', () => {
    test('an event is read back as it was appended, with its stream, revision and position', async () => {
      const stream = `order-${randomUUID()}`;
      const given = event({ lines: [{ quantity: 1.5, note: null }], open: true });
      const { revision, position } = await store().append(stream, [given], 'no-stream');
      expect(revision).toBe(0);
      expect(await store().readStream(stream)).toEqual([{ ...given, stream, revision, position }]);
    });

    test('the request that caused an event is read back where it has one, traced or not', async () => {
      const stream = `order-${randomUUID()}`;
      const { metadata } = event();
      const request = { method: 'PUT', path: '/api/v1/dynamic-assets/dyn/dyn_item/assets/batch' };
      const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
      const given = [
        { ...metadata, request },
        { ...metadata, traceparent, request },
      ];
      await store().append(
        stream,
        given.map((each) => ({ ...event(), metadata: each })),
        'no-stream',
      );
      expect((await store().readStream(stream)).map((read) => read.metadata)).toStrictEqual(given);
    });

    test('the last append to a stream can be asked for, as it was answered', async () => {
      const stream = `order-${randomUUID()}`;
      expect(await store().lastAppend(stream)).toBeUndefined();
      for (const count of [1, 3]) {
        const answer = await store().append(stream, events(count), 'any');
        await store().append(`order-${randomUUID()}`, events(1), 'any');
        expect(await store().lastAppend(stream)).toEqual(answer);
      }
    });

    test('revisions count from 0 without a gap and positions grow', async () => {
      const stream = `order-${randomUUID()}`;
      await store().append(stream, events(3), 'no-stream');
      const last = await store().append(stream, events(2), 2);
      const stored = await store().readStream(stream);
      expect(stored.map(({ revision }) => revision)).toEqual([0, 1, 2, 3, 4]);
      const positions = stored.map(({ position }) => position);
      expect(positions).toEqual([...new Set(positions)].sort((one, other) => one - other));
      expect(last).toEqual({ revision: 4, position: positions.at(-1) });
    });

    test('a stream is read between two revisions, also inside an append', async () => {
      const stream = `order-${randomUUID()}`;
      const given = events(5);
      await store().append(stream, given.slice(0, 4), 'no-stream');
      await store().append(stream, given.slice(4), 3);
      const whole = await store().readStream(stream);
      expect(await store().readStream(stream, 1, 2)).toEqual(whole.slice(1, 3));
      expect(await store().readStream(stream, 4, 4)).toEqual(whole.slice(4));
      expect(await store().readStream(stream, 3, 99)).toEqual(whole.slice(3));
      expect(await store().readStream(stream, 3, 2)).toEqual([]);
      expect(await store().readStream(stream, 5, 9)).toEqual([]);
    });

    test.each([{ backwards: false }, { backwards: true }])(
      'a stream is read in slices of a few events or a megabyte, also inside an append: $backwards',
      async ({ backwards }) => {
        const stream = `order-${randomUUID()}`;
        const large = event({ text: 'x'.repeat(600_000) });
        await store().append(stream, [...events(5), large, event({ text: 'y'.repeat(600_000) })], 'no-stream');
        await store().append(stream, [event({ text: 'z'.repeat(600_000) })], 6);
        const whole = await store().readStream(stream);
        const read: RecordedEvent[][] = [];
        for (let range = { from: 1, to: 7 }, isOver = false; !isOver; ) {
          const { events: slice, next } = await store().readSlice(stream, { ...range, maxCount: 3, backwards });
          read.push([...slice]);
          isOver = next === undefined;
          if (next !== undefined) range = backwards ? { from: 1, to: next } : { from: next, to: 7 };
        }
        expect((backwards ? read.toReversed() : read).flat()).toEqual(whole.slice(1));
        const counts = read.map((slice) => slice.length).filter((count) => count > 0);
        expect(counts).toEqual(backwards ? [2, 3, 2] : [3, 3, 1]);
      },
    );

    test('text of any script survives', async () => {
      const stream = `order-${randomUUID()}`;
      const data = { 'clé "ü"': 'Łódź 東京 🚚 \u0000 \u2028 \\ \n', '': 'empty key', __proto__x: [''] };
      await store().append(stream, [event(data)], 'no-stream');
      expect((await store().readStream(stream))[0]?.data).toEqual(data);
    });

    test('the head is the position of the last append', async () => {
      const { position } = await store().append(`order-${randomUUID()}`, events(2), 'no-stream');
      expect(await store().head()).toBe(position);
    });
  });
}

function describeExpectedRevision(store: () => EventStore): void {
  describe('expected revision', () => {
    test.each([
      { expected: 'no-stream' as const, actual: 2 },
      { expected: 1, actual: 2 },
      { expected: 3, actual: 2 },
    ])('$expected is refused on a stream at $actual, and nothing is stored', async ({ expected, actual }) => {
      const stream = `order-${randomUUID()}`;
      const given = events(3);
      await store().append(stream, given, 'no-stream');
      const refusal = await store()
        .append(stream, events(2), expected)
        .catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(WrongExpectedRevisionError);
      expect(refusal).toHaveProperty('message', `Stream ${stream} is at ${actual}, not at ${expected}.`);
      expect(ids(await store().readStream(stream))).toEqual(ids(given));
    });

    test('of many appends at once that expect the same revision one wins', async () => {
      const stream = `order-${randomUUID()}`;
      const attempts = await Promise.allSettled(
        Array.from({ length: 20 }, () => store().append(stream, events(2), 'no-stream')),
      );
      expect(attempts.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect(await store().readStream(stream)).toHaveLength(2);
    });
  });
}

function describeIdempotency(store: () => EventStore): void {
  describe('appending the same event ids again', () => {
    test('gives the same answer and stores them once', async () => {
      const stream = `order-${randomUUID()}`;
      const given = events(3);
      const answer = await store().append(stream, given, 'no-stream');
      expect(await store().append(stream, given, 'no-stream')).toEqual(answer);
      expect(await store().append(stream, given, 'any')).toEqual(answer);
      expect(ids(await store().readStream(stream))).toEqual(ids(given));
    });

    test('together with new ones is refused', async () => {
      const stream = `order-${randomUUID()}`;
      const given = events(1);
      await store().append(stream, given, 'no-stream');
      await expect(store().append(stream, [...given, event()], 'no-stream')).rejects.toThrow(
        WrongExpectedRevisionError,
      );
      expect(await store().readStream(stream)).toHaveLength(1);
    });
  });
}

function describeLimits(store: () => EventStore): void {
  describe('size', () => {
    const dataOf = (bytes: number) => 'é'.repeat((bytes - 2) / 2);

    test('an event of exactly MAX_EVENT_BYTES is stored', async () => {
      const stream = `order-${randomUUID()}`;
      await store().append(stream, [event(dataOf(MAX_EVENT_BYTES))], 'no-stream');
      expect((await store().readStream(stream))[0]?.data).toHaveLength((MAX_EVENT_BYTES - 2) / 2);
    });

    test('an append of many events that are large together is stored whole', async () => {
      const stream = `order-${randomUUID()}`;
      const given = Array.from({ length: 12 }, () => event(dataOf(600_000)));
      await store().append(stream, given, 'no-stream');
      expect(ids(await store().readStream(stream))).toEqual(ids(given));
    });
  });
}

function describeIdentity(store: () => EventStore, openSecond: () => Promise<EventStore>): void {
  describe('the log is known again', () => {
    test('it has one id, also when several ask for it at once', async () => {
      const second = await openSecond();
      const asked = [store(), second, store(), second].map((each) => each.identity());
      const [identity = '', ...others] = await Promise.all(asked);
      expect(identity).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/);
      expect(new Set(others)).toEqual(new Set([identity]));
      expect((await store().readStream('log-identity'))[0]).toMatchObject({ id: identity, type: 'LogCreated' });
    });

    test('it holds the place of each slice, with the event there', async () => {
      const prefix = `place${randomUUID().slice(0, 8)}-`;
      for (let n = 0; n < 3; n++) {
        await store().append(`${prefix}${n}`, events(2), 'no-stream');
        await store().append(`other-${randomUUID()}`, events(1), 'no-stream');
      }
      const last = event();
      await store().append(`other-${randomUUID()}`, [last], 'no-stream');
      for (const filter of [{}, { streamPrefixes: [prefix] }]) {
        const slices = await storedSlices(store(), { after: 0, maxCount: 2, ...filter });
        for (const slice of slices) {
          expect(await store().holds(slice)).toBe(true);
          const its = slice.events.findLast(({ position }) => position === slice.position);
          if (its !== undefined) expect(slice.eventId).toBe(its.id);
        }
        expect(slices.at(-1)?.eventId).toBe(last.id);
      }
    });

    test('it does not hold a place where another event stands, nor one behind its end', async () => {
      const { position } = await store().append(`order-${randomUUID()}`, events(1), 'no-stream');
      expect(await store().holds({ position, eventId: randomUUID() })).toBe(false);
      const behind = position + 1_000_000_000;
      expect(await store().holds({ position: behind, eventId: randomUUID() })).toBe(false);
      expect(await store().holds({ position: behind })).toBe(false);
    });
  });
}

function describeLife(open: () => Promise<LogUnderTest>): void {
  describe('closing and opening', () => {
    test('what was appended is there after a restart, at the same position', async () => {
      const log = await open();
      const stream = `order-${randomUUID()}`;
      await log.store.append(stream, events(3), 'no-stream');
      const before = await log.store.readStream(stream);
      const reopened = await log.reopen();
      expect(await reopened.readStream(stream)).toEqual(before);
      expect((await reopened.append(stream, events(1), 2)).revision).toBe(3);
      await log.close();
    });

    test('closing waits for the appends in flight', async () => {
      const log = await open();
      const stream = `order-${randomUUID()}`;
      const appends = Array.from({ length: 20 }, () => log.store.append(stream, events(1), 'any'));
      const reopened = await log.reopen();
      await Promise.all(appends);
      expect(await reopened.readStream(stream)).toHaveLength(20);
      await log.close();
    });
  });
}
