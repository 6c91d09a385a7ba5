import { setTimeout as wait } from 'node:timers/promises';
import { type EventStore, EventStoreUnavailableError, WrongExpectedRevisionError } from '#app/ports/eventStore.js';
import { event } from '../../contract/eventStoreFixtures.js';
import type { DoubleLog } from '../../engines/doubleLog.js';

/** An event, and when it was acknowledged or seen, in milliseconds since 1970. */
type Noted = { readonly id: string; readonly at: number };

const STREAM = 'order-';

/** Writers that append one event after the other, each to a stream of its own, and a reader of all that they write. */
export class Traffic {
  readonly #store: EventStore;
  readonly #acknowledged: Noted[] = [];
  readonly #seen: Noted[] = [];
  readonly #ending = new AbortController();
  readonly #reading: Promise<void>;
  readonly #writing: Promise<unknown>;
  #stopped = false;
  /** Appends that were refused because the event store was away. */
  refused = 0;

  constructor(store: EventStore, writers = 4) {
    this.#store = store;
    this.#reading = this.#read();
    this.#writing = Promise.all(Array.from({ length: writers }, (_, writer) => this.#write(`${STREAM}${writer}`)));
  }

  /** How long after a time the first event was acknowledged that is newer, and the first such was seen, in milliseconds. */
  async backAfter(time: number): Promise<{ readonly writes: number; readonly feed: number }> {
    const writes = await first(this.#acknowledged, time);
    return { writes, feed: await first(this.#seen, time) };
  }

  /** Ends it, and compares: nothing acknowledged is lost, nothing is stored or shown twice, all is shown in order. */
  async isWholeIn(log: DoubleLog): Promise<void> {
    this.#stopped = true;
    await this.#writing;
    const stored = log.records.filter(({ stream }) => stream.startsWith(STREAM)).map(({ id }) => id);
    while (this.#seen.length < stored.length) await Promise.race([wait(10), this.#reading]);
    this.#ending.abort();
    await this.#reading;
    expect(this.#seen.map(({ id }) => id)).toEqual(stored);
    const once = new Set(stored);
    expect(once.size).toBe(stored.length);
    expect(this.#acknowledged.filter(({ id }) => !once.has(id))).toEqual([]);
  }

  async #write(stream: string): Promise<void> {
    let last: number | 'no-stream' = 'no-stream';
    while (!this.#stopped) {
      const given = event();
      try {
        last = (await this.#store.append(stream, [given], last)).revision;
        this.#acknowledged.push({ id: given.id, at: Date.now() });
      } catch (error) {
        if (error instanceof EventStoreUnavailableError) this.refused += 1;
        else if (!(error instanceof WrongExpectedRevisionError)) throw error;
        // It may be stored or not.
        const stored = await this.#store.readStream(stream).catch(() => []);
        last = stored.at(-1)?.revision ?? last;
      }
      await wait(5);
    }
  }

  async #read(): Promise<void> {
    for await (const slice of this.#store.subscribe({
      after: 0,
      streamPrefixes: [STREAM],
      signal: this.#ending.signal,
    })) {
      for (const { id } of slice.events) this.#seen.push({ id, at: Date.now() });
    }
  }
}

async function first(list: readonly Noted[], time: number): Promise<number> {
  for (;;) {
    const found = list.find(({ at }) => at > time);
    if (found !== undefined) return found.at - time;
    await wait(5);
  }
}
