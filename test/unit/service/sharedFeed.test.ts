/** What is new in the log reaches the thread that follows it. */
import { setTimeout as wait } from 'node:timers/promises';
import { MessageChannel } from 'node:worker_threads';
import {
  type EventSlice,
  type EventStore,
  EventStoreUnavailableError,
  type RecordedEvent,
  type SubscribeOptions,
} from '#app/ports/eventStore.js';
import { followFeed, QuietSlices, serveFeed } from '#app/service/sharedFeed.js';

/** A log whose events are a tenant and a position. `failure`: thrown by whoever follows. */
class Log {
  readonly events: RecordedEvent[] = [];
  failure: Error | undefined;
  subscriptions = 0;
  #wake: (() => void)[] = [];

  append(tenant: string): void {
    const position = this.events.length + 1;
    this.events.push({ position, stream: `order-${tenant}.1`, id: `${position}` } as RecordedEvent);
    this.tell();
  }

  tell(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }

  readonly store = { subscribe: (options: SubscribeOptions) => this.#subscribe(options) } as unknown as EventStore;

  async *#subscribe({ after, signal }: SubscribeOptions): AsyncGenerator<EventSlice, void, void> {
    this.subscriptions += 1;
    signal.addEventListener('abort', () => this.tell());
    let position = after;
    for (let isFirst = true; !signal.aborted; isFirst = false) {
      if (this.failure !== undefined) throw this.failure;
      const events = this.events.slice(position);
      position = this.events.length;
      if (isFirst || events.length > 0) yield { events, position, caughtUp: true };
      else await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }
}

const positions = (slices: readonly EventSlice[]) =>
  slices.flatMap(({ events }) => events.map(({ position }) => position));

let log: Log;
let channels: MessageChannel[];
const ending: AbortController[] = [];
beforeEach(() => {
  log = new Log();
  channels = [];
});
afterEach(() => {
  for (const each of ending.splice(0)) each.abort();
  for (const { port1 } of channels) port1.close();
});

/** A thread that follows the log, and what it has seen. */
function thread() {
  const channel = new MessageChannel();
  channels.push(channel);
  serveFeed(log.store, channel.port1);
  const signal = new AbortController();
  ending.push(signal);
  const seen: EventSlice[] = [];
  const follow = async () => {
    const slices = followFeed(log.store, channel.port2).subscribe({ after: 0, signal: signal.signal });
    for await (const slice of slices) seen.push(slice);
  };
  return { seen, ended: follow(), end: () => signal.abort() };
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await wait(5);
}

test('what is stored comes first, then what is new, each event once and in order', async () => {
  for (let n = 0; n < 3; n++) log.append('a');
  const { seen, ended, end } = thread();
  await until(() => positions(seen).length === 3);
  for (let n = 0; n < 20; n++) {
    log.append('b');
    if (n % 3 === 0) await wait(1);
  }
  await until(() => positions(seen).length === 23);
  expect(positions(seen)).toEqual(Array.from({ length: 23 }, (_, index) => index + 1));
  end();
  await ended;
});

test('what ends the subscription of the process is thrown in the thread', async () => {
  const { ended } = thread();
  await until(() => log.subscriptions === 2);
  log.failure = new EventStoreUnavailableError('The event store was silent.');
  log.append('a');
  await expect(ended).rejects.toThrow('The event store was silent.');
});

test('slices without events are told of now and then, and before their end', async () => {
  const quiet = (position: number): EventSlice => ({ events: [], position, caughtUp: true });
  async function* come() {
    for (let position = 1; position <= 5; position++) yield quiet(position);
    await more;
    yield quiet(6);
  }
  let goOn = (): void => undefined;
  const more = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const slices = new QuietSlices(come());
  expect((await slices.next())?.position).toBe(5);
  goOn();
  expect((await slices.next())?.position).toBe(6);
  expect(await slices.next()).toBeUndefined();
});
