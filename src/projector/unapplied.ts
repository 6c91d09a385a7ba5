/** The oldest event that projections have not applied: its age is the staleness of what they show. */
import { parseStream } from '../domain/streams.js';
import type { EventStore, Position } from '../ports/eventStore.js';
import { type Projection, streamsOf } from '../ports/projection.js';
import type { OutOfOrder } from '../ports/readModels.js';
import { withTimeout } from '../supervision/waiting.js';

export type Unapplied = {
  readonly position: Position;
  /** Milliseconds since 1970. */
  readonly at: number;
};

/** How far projections have come, and the positions that they have applied out of order beyond it. */
export type Projected = { readonly after: Position; readonly outOfOrder?: ReadonlySet<Position> };

/** Positions of events that are applied completely. */
export const fullyApplied = (outOfOrder: readonly OutOfOrder[], projection?: string): ReadonlySet<Position> =>
  new Set(
    outOfOrder.flatMap((each) =>
      each.pieces === null && (projection ?? each.projection) === each.projection ? [each.position] : [],
    ),
  );

/** The search in the log ends after this time, in milliseconds. */
const LOOK_LIMIT_MS = 500;

/**
 * @param tenant default: any tenant
 * @returns undefined if there is none
 * @throws Error when it takes too long; what the log throws
 */
export async function firstUnapplied(
  eventStore: Pick<EventStore, 'subscribe'>,
  projections: readonly Projection[],
  { after, outOfOrder = new Set() }: Projected,
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
      if (slice.caughtUp) break;
    }
    return undefined;
  };
  try {
    return await withTimeout(LOOK_LIMIT_MS, 'The log could not be looked through in time.', find());
  } finally {
    reading.abort();
  }
}
