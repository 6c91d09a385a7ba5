/**
 * Relays the events of each tenant in a partition of its own, in log order: a tenant with many events and webhooks
 * holds up nobody else. The checkpoint is where every partition has relayed everything before.
 *
 * Few events wait in memory. A partition that gets more is behind: it reads the tenant's events from the log again, at
 * its own pace, until it has come to where the log was read for all.
 */
import { charactersOf } from '../domain/jsonSize.js';
import { RELAYED_TENANTS_AT_ONCE, WAITING_TO_BE_RELAYED, WAITING_TO_BE_RELAYED_OF_TENANT } from '../domain/limits.js';
import { orderStream, parseStream, tableStream } from '../domain/streams.js';
import type { EventPosition, EventStore, Position, RecordedEvent } from '../ports/eventStore.js';
import { FairQueue } from '../supervision/fairQueue.js';
import type { RelayCheckpoint } from './relayCheckpoint.js';

/** A slice that partitions have yet to relay; in log order, so that the checkpoint passes no event. */
type OpenSlice = { readonly place: EventPosition; readonly hasEvents: boolean; open: number };

type Piece = { readonly events: readonly RecordedEvent[]; readonly characters: number; readonly slice: OpenSlice };

type Partition = {
  readonly waiting: Piece[];
  characters: number;
  /** Set while it is behind: events after this position are not in memory. */
  behind?: { readonly after: Position; readonly slice: OpenSlice } | undefined;
};

/** Relays the first of these events of one tenant, as many as make a turn. @returns how many */
export type RelayTurn = (events: readonly RecordedEvent[]) => Promise<number>;

export class RelayPartitions {
  readonly #eventStore: Pick<EventStore, 'subscribe'>;
  readonly #checkpoint: RelayCheckpoint;
  readonly #partitions = new Map<string, Partition>();
  readonly #running = new Set<Promise<void>>();
  readonly #turns = new FairQueue({
    atOnce: RELAYED_TENANTS_AT_ONCE,
    ofGroup: 1,
    waitingOfGroup: Number.POSITIVE_INFINITY,
  });
  readonly #ending = new AbortController();
  /** Aborted when the partitions end, or one fails: nothing more is to be read for them. */
  readonly signal: AbortSignal;
  #slices: OpenSlice[] = [];
  #compactAt = 1_000;
  /** The log was read up to here. */
  #read: Position;
  #characters = 0;
  #relay: RelayTurn;
  #toStore: EventPosition | undefined;
  #isStoring = false;
  #failure: { readonly error: unknown } | undefined;

  constructor(eventStore: Pick<EventStore, 'subscribe'>, checkpoint: RelayCheckpoint, signal: AbortSignal) {
    this.#eventStore = eventStore;
    this.#checkpoint = checkpoint;
    this.signal = AbortSignal.any([signal, this.#ending.signal]);
    this.#read = 0;
    this.#relay = async (events) => events.length;
  }

  /** From now on, turns are done so. @param read the log is read from here on */
  begin(read: Position, relay: RelayTurn): void {
    this.#read = read;
    this.#relay = relay;
  }

  /** @param events those of the next slice that are to be relayed */
  add(place: EventPosition, events: readonly RecordedEvent[]): void {
    const slice: OpenSlice = { place, hasEvents: events.length > 0, open: 0 };
    for (const [tenant, own] of byTenant(events)) this.#addTo(tenant, own, slice);
    this.#read = place.position;
    this.#slices.push(slice);
    this.#passCompleted();
  }

  #addTo(tenant: string, events: readonly RecordedEvent[], slice: OpenSlice): void {
    const known = this.#partitions.get(tenant);
    // It will find them in the log.
    if (known?.behind !== undefined) return;
    const partition: Partition = known ?? { waiting: [], characters: 0 };
    const characters = events.reduce((sum, { data }) => sum + charactersOf(data), 0);
    const isFull =
      this.#characters + characters > WAITING_TO_BE_RELAYED ||
      partition.characters + characters > WAITING_TO_BE_RELAYED_OF_TENANT;
    slice.open += 1;
    if (isFull) partition.behind = { after: this.#read, slice };
    else {
      partition.waiting.push({ events, characters, slice });
      partition.characters += characters;
      this.#characters += characters;
    }
    if (known === undefined) {
      this.#partitions.set(tenant, partition);
      this.#run(this.#empty(tenant, partition));
    }
  }

  async #empty(tenant: string, partition: Partition): Promise<void> {
    while (!this.signal.aborted) {
      const piece = partition.waiting.shift();
      const { behind } = partition;
      if (piece !== undefined) {
        await this.#relayAll(tenant, piece.events);
        partition.characters -= piece.characters;
        this.#characters -= piece.characters;
        this.#relayed(piece.slice);
      } else if (behind !== undefined) {
        await this.#catchUp(tenant, partition, behind.after);
        this.#relayed(behind.slice);
      } else {
        this.#partitions.delete(tenant);
        return;
      }
    }
  }

  /** The partition is no longer behind when this resolves. */
  async #catchUp(tenant: string, partition: Partition, after: Position): Promise<void> {
    const streamPrefixes = [orderStream(tenant, ''), tableStream(tenant, '')];
    let done = after;
    while (partition.behind !== undefined) {
      const to = this.#read;
      const range = { after: done, to, streamPrefixes };
      for await (const { events } of slicesUpTo(this.#eventStore, range, this.signal)) {
        await this.#relayAll(tenant, events);
      }
      if (this.signal.aborted) return;
      done = to;
      if (this.#read === to) partition.behind = undefined;
    }
  }

  async #relayAll(tenant: string, events: readonly RecordedEvent[]): Promise<void> {
    for (let done = 0; done < events.length && !this.signal.aborted; ) {
      done += await this.#turns.run(tenant, () => this.#relay(events.slice(done)));
    }
  }

  #relayed(slice: OpenSlice): void {
    if (this.signal.aborted) return;
    slice.open -= 1;
    this.#passCompleted();
  }

  /** Moves the checkpoint to the end of the last slice before which everything is relayed. */
  #passCompleted(): void {
    const open = this.#slices.findIndex((slice) => slice.open > 0);
    const completed = this.#slices.splice(0, open < 0 ? this.#slices.length : open);
    const place = completed.at(-1)?.place;
    if (this.#slices.length > this.#compactAt) {
      this.#slices = this.#slices.filter((slice, index, all) => slice.open > 0 || all[index + 1]?.open !== 0);
      this.#compactAt = Math.max(1_000, 2 * this.#slices.length);
    }
    if (place === undefined) return;
    // While nothing is relayed, the checkpoint may lag.
    if (completed.some(({ hasEvents }) => hasEvents)) {
      this.#toStore = place;
      if (!this.#isStoring) this.#run(this.#store());
    } else {
      this.#checkpoint.advance(place);
    }
  }

  async #store(): Promise<void> {
    this.#isStoring = true;
    try {
      while (this.#toStore !== undefined) {
        const place = this.#toStore;
        this.#toStore = undefined;
        await this.#checkpoint.store(place);
      }
    } finally {
      this.#isStoring = false;
    }
  }

  #run(work: Promise<void>): void {
    const running = work
      .catch((error: unknown) => {
        this.#failure ??= { error };
        this.#ending.abort();
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Resolves when the turns under way have ended; the others are not begun. */
  async end(): Promise<void> {
    this.#ending.abort();
    await Promise.all(this.#running);
  }

  /** @throws the failure of a partition */
  throwIfFailed(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}

function byTenant(events: readonly RecordedEvent[]): ReadonlyMap<string, readonly RecordedEvent[]> {
  const found = new Map<string, RecordedEvent[]>();
  for (const event of events) {
    const { tenant } = parseStream(event.stream);
    const own = found.get(tenant);
    if (own === undefined) found.set(tenant, [event]);
    else own.push(event);
  }
  return found;
}

type LogRange = { readonly after: Position; readonly to: Position; readonly streamPrefixes: readonly string[] };

/** Slices of the range; the last one's position is `to`, unless the signal aborted. @throws what the log throws */
async function* slicesUpTo(
  eventStore: Pick<EventStore, 'subscribe'>,
  { after, to, streamPrefixes }: LogRange,
  signal: AbortSignal,
): AsyncGenerator<{ readonly events: readonly RecordedEvent[]; readonly position: Position }> {
  if (after >= to) return;
  const reading = new AbortController();
  const reader = AbortSignal.any([signal, reading.signal]);
  try {
    for await (const slice of eventStore.subscribe({ after, streamPrefixes, signal: reader })) {
      const events = slice.events.filter(({ position }) => position <= to);
      yield { events, position: Math.min(slice.position, to) };
      if (slice.position >= to) return;
    }
  } finally {
    reading.abort();
  }
}
