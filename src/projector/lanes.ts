/**
 * Projection is shared out to lanes by tenants: each lane has read models of its own, which one projector keeps current, and
 * sees of the log what concerns its tenants. So it has checkpoints, parked tenants, rebuilds and proofs of its own as well.
 */
import { parseStream } from '../domain/streams.js';
import { type EventSlice, type EventStore, type SubscribeOptions, storeWith } from '../ports/eventStore.js';

/** One of `of` lanes; the first has index 0. */
export type Lane = { readonly index: number; readonly of: number };

/** All tenants are in it. */
export const ONLY_LANE: Lane = { index: 0, of: 1 };

export const lanesOf = (of: number): readonly Lane[] => Array.from({ length: of }, (_, index) => ({ index, of }));

/** Of the rule below: read models that another one has shared out are built anew. */
export const LANE_RULE = 2;

/**
 * Index of the tenant's lane: follows from its name alone, so that no two lanes ever have it. Names that are numbered, as of
 * tenants that were made in a row, take turns; a hash shares few tenants out unevenly.
 */
export const laneIndex = (tenant: string, of: number): number =>
  Array.from(tenant).reduce((sum, character) => sum + (character.codePointAt(0) ?? 0), 0) % of;

/** The log as the lane's projector reads it: without the events of others' tenants. Streams that are named are all there. */
export function logOf({ index, of }: Lane, log: EventStore): EventStore {
  if (of === 1) return log;
  const accepts = (stream: string) => laneIndex(parseStream(stream).tenant, of) === index;
  async function* subscribe(options: SubscribeOptions): AsyncGenerator<EventSlice, void, void> {
    for await (const slice of log.subscribe({ ...options, accepts }))
      yield { ...slice, events: slice.events.filter(({ stream }) => accepts(stream)) };
  }
  return storeWith(log, { subscribe });
}
