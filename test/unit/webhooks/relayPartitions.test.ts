/** Tenants are relayed side by side, each in order, with few events in memory; the checkpoint passes nothing. */
import { WAITING_TO_BE_RELAYED_OF_TENANT } from '#app/domain/limits.js';
import type { EventPosition, EventSlice, RecordedEvent, SubscribeOptions } from '#app/ports/eventStore.js';
import type { RelayCheckpoint } from '#app/webhooks/relayCheckpoint.js';
import { RelayPartitions } from '#app/webhooks/relayPartitions.js';

class Log {
  readonly #events: RecordedEvent[] = [];

  /** The slice of one more event. */
  add(tenant: string, characters = 1): EventSlice & { readonly events: readonly RecordedEvent[] } {
    const position = this.#events.length + 1;
    const event = { id: String(position), stream: `order-${tenant}.1`, position, data: 'x'.repeat(characters) };
    this.#events.push(event as unknown as RecordedEvent);
    return { events: this.#events.slice(-1), position, eventId: event.id, caughtUp: true };
  }

  async *subscribe({ after, streamPrefixes = [] }: SubscribeOptions): AsyncGenerator<EventSlice> {
    for (const event of this.#events.slice(after)) {
      const events = streamPrefixes.some((prefix) => event.stream.startsWith(prefix)) ? [event] : [];
      yield { events, position: event.position, eventId: event.id, caughtUp: false };
    }
    await new Promise(() => undefined);
  }
}

/** Partitions whose turns relay one event each, and wait while their tenant is held. */
function partitionsOn(log: Log) {
  const relayed: string[] = [];
  const held = new Map<string, { readonly until: Promise<void>; readonly letGo: () => void }>();
  const checkpoints: number[] = [];
  const note = ({ position }: EventPosition): void => void checkpoints.push(position);
  const checkpoint = { store: async (place: EventPosition) => note(place), advance: note };
  const stopping = new AbortController();
  const partitions = new RelayPartitions(log, checkpoint as unknown as RelayCheckpoint, stopping.signal);
  partitions.begin(0, async ([event]) => {
    const tenant = event?.stream.slice('order-'.length, -2) ?? '';
    await held.get(tenant)?.until;
    if (tenant === 'broken') throw new Error('The log is away.');
    relayed.push(`${tenant} ${event?.position}`);
    return 1;
  });
  return {
    partitions,
    stopping,
    relayed,
    checkpoint: () => checkpoints.at(-1) ?? 0,
    hold(tenant: string): () => void {
      let letGo = (): void => undefined;
      const until = new Promise<void>((resolve) => {
        letGo = resolve;
      });
      held.set(tenant, { until, letGo });
      return () => {
        held.delete(tenant);
        letGo();
      };
    },
    add(slice: EventSlice): void {
      partitions.add(slice, slice.events);
    },
  };
}

const passed = (until: () => boolean): Promise<void> =>
  until() ? Promise.resolve() : new Promise((resolve) => setImmediate(resolve)).then(() => passed(until));

let log: Log;
beforeEach(() => {
  log = new Log();
});

it('a tenant whose turn takes long holds up nobody, and the checkpoint waits for it', async () => {
  const { add, hold, relayed, checkpoint, partitions } = partitionsOn(log);
  add(log.add('other'));
  const letGo = hold('slow');
  add(log.add('slow'));
  for (let n = 0; n < 5; n++) add(log.add('other'));
  await passed(() => relayed.length === 6);
  expect(relayed).not.toContain('slow 2');
  expect(checkpoint()).toBe(1);
  letGo();
  await passed(() => checkpoint() === 7);
  expect(relayed.at(-1)).toBe('slow 2');
  await partitions.end();
});

it('events that find no room in memory are read from the log again, each once and in order', async () => {
  const { add, hold, relayed, checkpoint, partitions } = partitionsOn(log);
  const letGo = hold('large');
  const half = Math.floor(WAITING_TO_BE_RELAYED_OF_TENANT / 2);
  for (let n = 0; n < 4; n++) {
    add(log.add('large', half));
    add(log.add('other'));
  }
  await passed(() => relayed.length === 4);
  letGo();
  // More arrives while it catches up.
  for (let n = 0; n < 3; n++) add(log.add('large'));
  await passed(() => relayed.length === 11);
  add(log.add('large'));
  await passed(() => checkpoint() === 12);
  expect(relayed.filter((each) => each.startsWith('large'))).toEqual(
    [1, 3, 5, 7, 9, 10, 11, 12].map((n) => `large ${n}`),
  );
  await partitions.end();
});
