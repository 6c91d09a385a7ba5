/** Forwards new events of the log to the thread that follows it. */
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { type EventSlice, type EventStore, type SubscribeOptions, storeWith } from '../ports/eventStore.js';
import { sendable } from '../supervision/threads.js';

/** How long a position without an event is held back, in milliseconds. */
const QUIET_MS = 200;

type Wanted = Pick<SubscribeOptions, 'after' | 'streamPrefixes'>;
/** Requests a subscription, whose slices are then requested one by one at `port`. */
type FeedRequest = Wanted & { readonly port: MessagePort };
type FeedAnswer = { readonly slice: EventSlice } | { readonly error: Error };

/** Serves this process's log to a thread. @param requests this side's end of the channel */
export function serveFeed(log: EventStore, requests: MessagePort): void {
  requests.on('message', ({ port, ...wanted }: FeedRequest) => answer(log, wanted, port));
  requests.unref();
}

function answer(log: EventStore, wanted: Wanted, port: MessagePort): void {
  const ending = new AbortController();
  port.once('close', () => ending.abort());
  const slices = new QuietSlices(log.subscribe({ ...wanted, signal: ending.signal }));
  port.on('message', async () => {
    try {
      const slice = await slices.next();
      if (slice !== undefined) port.postMessage({ slice } satisfies FeedAnswer);
      else port.close();
    } catch (error) {
      port.postMessage({ error: sendable(error) } satisfies FeedAnswer);
      port.close();
    }
  });
  port.unref();
}

/** Passes on slices with events at once; of empty slices, only the last one now and then. */
export class QuietSlices {
  readonly #slices: AsyncIterator<EventSlice, void>;
  #coming: Promise<IteratorResult<EventSlice, void>> | undefined;
  #kept: EventSlice | undefined;

  constructor(slices: AsyncIterable<EventSlice, void>) {
    this.#slices = slices[Symbol.asyncIterator]();
  }

  /** Undefined at the end. Call it one at a time. @throws what the slices throw */
  async next(): Promise<EventSlice | undefined> {
    let timer: NodeJS.Timeout | undefined;
    let quiet: Promise<'quiet'> | undefined;
    try {
      for (;;) {
        this.#coming ??= this.#slices.next();
        const come = await (quiet === undefined ? this.#coming : Promise.race([this.#coming, quiet]));
        if (come === 'quiet') return this.#takeKept();
        this.#coming = undefined;
        if (come.done === true) return this.#takeKept();
        this.#kept = come.value;
        if (come.value.events.length > 0) return this.#takeKept();
        quiet ??= new Promise((resolve) => {
          timer = setTimeout(() => resolve('quiet'), QUIET_MS);
        });
      }
    } finally {
      clearTimeout(timer);
    }
  }

  #takeKept(): EventSlice | undefined {
    const kept = this.#kept;
    this.#kept = undefined;
    return kept;
  }
}

/** The log in a thread: stored events are read directly, new ones come by the feed. @param requests see `serveFeed` */
export function followFeed(log: EventStore, requests: MessagePort): EventStore {
  async function* subscribe(options: SubscribeOptions): AsyncGenerator<EventSlice, void, void> {
    const { streamPrefixes, signal } = options;
    let position = options.after;
    while (!signal.aborted) {
      for await (const slice of log.subscribe({ ...options, after: position })) {
        position = slice.position;
        yield slice;
        if (slice.caughtUp) break;
      }
      if (signal.aborted) return;
      for await (const slice of requestSlices(
        requests,
        { after: position, ...(streamPrefixes && { streamPrefixes }) },
        signal,
      )) {
        position = slice.position;
        yield slice;
      }
    }
  }
  return storeWith(log, { subscribe });
}

/** @throws what the process's own subscription throws */
async function* requestSlices(
  requests: MessagePort,
  wanted: Wanted,
  signal: AbortSignal,
): AsyncGenerator<EventSlice, void, void> {
  const { port1: port, port2 } = new MessageChannel();
  let tell = (_: FeedAnswer | undefined): void => undefined;
  let hasEnded = false;
  port.on('message', (message: FeedAnswer) => tell(message));
  port.once('close', () => {
    hasEnded = true;
    tell(undefined);
  });
  const end = (): void => port.close();
  signal.addEventListener('abort', end);
  try {
    requests.postMessage({ ...wanted, port: port2 } satisfies FeedRequest, [port2]);
    while (!hasEnded && !signal.aborted) {
      const next = new Promise<FeedAnswer | undefined>((resolve) => {
        tell = resolve;
      });
      port.postMessage('next');
      const got = await next;
      if (got === undefined) return;
      if ('error' in got) throw got.error;
      yield got.slice;
    }
  } finally {
    signal.removeEventListener('abort', end);
    end();
  }
}
