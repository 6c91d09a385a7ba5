/** How far projections are behind the log: their oldest unapplied event, and the tenants that have one. */
import { parseStream } from '../domain/streams.js';
import type { EventStore, Position } from '../ports/eventStore.js';
import { type Projection, streamsOf } from '../ports/projection.js';
import type { OutOfOrder } from '../ports/projectionProgress.js';
import { withTimeout } from '../supervision/waiting.js';

/** A tenant counts as behind when its oldest unapplied event is at least this old. */
export const NOTABLE_SECONDS = 1;

/** The search for the oldest unapplied event ends after this time, in milliseconds. */
const SEARCH_LIMIT_MS = 500;

export type Unapplied = {
  readonly position: Position;
  /** Milliseconds since 1970. */
  readonly at: number;
};

/** How far projections have come, and the positions that they have applied out of order beyond it. */
export type Progress = { readonly after: Position; readonly outOfOrder?: ReadonlySet<Position> };

/** Positions of events that are applied completely. */
export const fullyApplied = (outOfOrder: readonly OutOfOrder[], projection?: string): ReadonlySet<Position> =>
  new Set(
    outOfOrder.flatMap((each) =>
      each.pieces === null && (projection ?? each.projection) === each.projection ? [each.position] : [],
    ),
  );

/**
 * The oldest event that projections have not applied: its age is the staleness of what they show.
 * @param tenant default: any tenant
 * @returns undefined if there is none
 * @throws Error when it takes too long; what the log throws
 */
export async function firstUnapplied(
  eventStore: Pick<EventStore, 'subscribe'>,
  projections: readonly Projection[],
  { after, outOfOrder = new Set() }: Progress,
  tenant?: string,
): Promise<Unapplied | undefined> {
  const streamPrefixes = [...new Set(projections.flatMap((projection) => streamsOf(projection, tenant)))];
  const reading = new AbortController();
  const { signal } = reading;
  const find = async (): Promise<Unapplied | undefined> => {
    for await (const slice of eventStore.subscribe({ after, streamPrefixes, maxCount: 1, signal })) {
      const event = slice.events.find(
        ({ stream, position }) =>
          !outOfOrder.has(position) && (tenant === undefined || parseStream(stream).tenant === tenant),
      );
      if (event !== undefined) return { position: event.position, at: Date.parse(event.metadata.occurredAt) };
      if (slice.caughtUp) return undefined;
    }
    return undefined;
  };
  try {
    return await withTimeout(SEARCH_LIMIT_MS, 'The log could not be looked through in time.', find());
  } finally {
    reading.abort();
  }
}

export type TenantsBehind = {
  readonly names: readonly string[];
  /** False if the log was not searched to its end in time: there may be more. */
  readonly isAll: boolean;
};

/** Finds the tenants with unapplied events. Reads each event once, over many calls: each continues the search. */
export class BehindSearch {
  readonly #eventStore: Pick<EventStore, 'subscribe'>;
  readonly #streamPrefixes: readonly string[];
  #checkpoint: Position = 0;
  #searchedTo: Position = 0;
  /** Position of the last event found, by tenant. */
  readonly #lastOf = new Map<string, Position>();

  constructor(eventStore: Pick<EventStore, 'subscribe'>, projections: readonly Projection[]) {
    this.#eventStore = eventStore;
    this.#streamPrefixes = [...new Set(projections.flatMap(({ streamPrefixes }) => streamPrefixes))];
  }

  /**
   * @param writtenBefore milliseconds since 1970: younger events do not count
   * @param limitMs roughly how long the log is searched
   * @throws what the log throws
   */
  async find(
    { after: checkpoint, outOfOrder = new Set() }: Progress,
    writtenBefore: number,
    limitMs: number,
  ): Promise<TenantsBehind> {
    this.#moveTo(checkpoint);
    const isAll = await this.#continue(outOfOrder, writtenBefore, limitMs);
    return { names: [...this.#lastOf.keys()], isAll };
  }

  #moveTo(checkpoint: Position): void {
    // The projections were reset: events that they had applied were never searched.
    if (checkpoint < this.#checkpoint) {
      this.#searchedTo = 0;
      this.#lastOf.clear();
    }
    this.#checkpoint = checkpoint;
    this.#searchedTo = Math.max(this.#searchedTo, checkpoint);
    for (const [tenant, position] of this.#lastOf) if (position <= checkpoint) this.#lastOf.delete(tenant);
  }

  /** @returns whether the search reached the end */
  async #continue(outOfOrder: ReadonlySet<Position>, writtenBefore: number, limitMs: number): Promise<boolean> {
    const signal = AbortSignal.timeout(limitMs);
    const [after, streamPrefixes] = [this.#searchedTo, this.#streamPrefixes];
    for await (const { events, position, caughtUp } of this.#eventStore.subscribe({ after, streamPrefixes, signal })) {
      const old = events.filter(({ metadata }) => Date.parse(metadata.occurredAt) < writtenBefore);
      for (const event of old)
        if (!outOfOrder.has(event.position)) this.#lastOf.set(parseStream(event.stream).tenant, event.position);
      if (old.length < events.length) return true;
      this.#searchedTo = position;
      if (caughtUp) return true;
    }
    return false;
  }
}
