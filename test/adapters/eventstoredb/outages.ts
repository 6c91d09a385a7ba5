import { openEventStoreDb } from '#app/adapters/eventstore/eventstoredb/store.js';
import { type EventStore, EventStoreUnavailableError, WrongExpectedRevisionError } from '#app/ports/eventStore.js';
import { events, ids, slicesUntil } from '../../contract/eventStoreFixtures.js';
import { scaled } from '../../engines/timeScale.js';

/** A server that a test may end and start again. */
type Stoppable = {
  readonly url: string;
  start(): Promise<void>;
  kill(): Promise<void>;
  freeze(frozen: boolean): void;
  dispose(): Promise<void>;
};

/** The server goes away, or hangs, and comes back. */
export function describeOutages(over: string, open: () => Promise<Stoppable>): void {
  describe(`outages, over ${over}`, () => {
    let server: Stoppable;
    let store: EventStore;
    beforeEach(async () => {
      server = await open();
      store = await openEventStoreDb({ url: server.url, timeoutMs: scaled(1_500) });
    });
    afterEach(async () => {
      await store.close();
      await server.dispose();
    });

    test.each(['is gone', 'hangs'])('calls reject in time where it %s, and succeed when it is back', async (how) => {
      await store.append('order-1', events(1), 'no-stream');
      if (how === 'hangs') server.freeze(true);
      else await server.kill();
      const started = Date.now();
      const calls = [store.append('order-1', events(1), 0), store.readStream('order-1'), store.head()];
      const outcomes = await Promise.allSettled(calls);
      expect(Date.now() - started).toBeLessThan(scaled(4_000));
      for (const outcome of outcomes) {
        expect(outcome).toEqual({ status: 'rejected', reason: expect.any(EventStoreUnavailableError) });
      }
      if (how === 'hangs') server.freeze(false);
      else await server.start();
      const backAt = Date.now();
      // A server that hung may store, when it goes on, what it was given before: even between this read and this append.
      const { stored, revision } = await appendToTheEnd('order-1');
      expect(Date.now() - backAt).toBeLessThan(scaled(6_000));
      expect(revision).toBe(stored.length);
      expect(how === 'hangs' ? [1, 2] : [1]).toContain(stored.length);
    });

    test('a subscription goes on where it was, without a repeat or a gap', async () => {
      const given = events(4);
      await store.append('order-1', given.slice(0, 2), 'no-stream');
      let outage: Promise<unknown> | undefined;
      const slices = await slicesUntil(store, { after: 0, streamPrefixes: ['order-'] }, ({ caughtUp }, all) => {
        if (caughtUp) outage ??= restart().then(() => store.append('order-1', given.slice(2), 1));
        return all.length >= 4;
      });
      await outage;
      expect(ids(slices.flatMap((slice) => slice.events))).toEqual(ids(given));
    });

    /** Appends to the revision that is found, until no late append comes in between. */
    async function appendToTheEnd(stream: string) {
      for (;;) {
        const stored = await store.readStream(stream);
        try {
          return { stored, ...(await store.append(stream, events(1), stored.length - 1)) };
        } catch (error) {
          if (!(error instanceof WrongExpectedRevisionError)) throw error;
        }
      }
    }

    async function restart(): Promise<void> {
      await server.kill();
      await server.start();
    }
  });
}
