/**
 * Lanes divide the read models on MongoDB by tenant, so that several processes share the work: each lane has its own
 * read models, kept current by one projector that reads only its tenants' events. So each lane has its own checkpoints,
 * parked tenants, rebuilds and proofs. Embedded read models have a single lane.
 */
import { parseStream } from '../domain/streams.js';
import { type EventSlice, type EventStore, type SubscribeOptions, storeWith } from '../ports/eventStore.js';

/** Lane number `index` (from 0) of `of`. */
export type Lane = { readonly index: number; readonly of: number };

/** The only lane, with all tenants. */
export const ONLY_LANE: Lane = { index: 0, of: 1 };

export const lanesOf = (of: number): readonly Lane[] => Array.from({ length: of }, (_, index) => ({ index, of }));

/** Version of the rule below: read models divided by another version are rebuilt. */
export const LANE_RULE = 2;

/**
 * Index of the tenant's lane, by its name alone, so that no two lanes ever have the tenant. Numbered names alternate
 * between lanes; a hash would distribute few tenants unevenly.
 */
export function laneIndex(tenant: string, of: number): number {
  if (of === 1) return 0;
  let sum = 0;
  for (const character of tenant) sum += character.codePointAt(0) ?? 0;
  return sum % of;
}

/** The log of a lane's projector: subscriptions lack events of other lanes' tenants; streams are all readable. */
export function logOf({ index, of }: Lane, log: EventStore): EventStore {
  if (of === 1) return log;
  const accepts = (stream: string) => laneIndex(parseStream(stream).tenant, of) === index;
  async function* subscribe(options: SubscribeOptions): AsyncGenerator<EventSlice, void, void> {
    for await (const slice of log.subscribe({ ...options, accepts }))
      yield { ...slice, events: slice.events.filter(({ stream }) => accepts(stream)) };
  }
  return storeWith(log, { subscribe });
}
