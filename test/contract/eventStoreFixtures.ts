import { randomUUID } from 'node:crypto';
import {
  type EventMetadata,
  type EventSlice,
  type EventStore,
  type EventToAppend,
  MAX_EVENT_BYTES,
  type ReadSlice,
  type RecordedEvent,
  type SliceRange,
} from '#app/ports/eventStore.js';

export const metadata: EventMetadata = {
  tenant: 'acme',
  actor: { kind: 'user', id: '7', name: 'Zoë Ångström' },
  correlationId: 'request-1',
  causationId: 'request-1',
  occurredAt: '2026-11-21T03:11:47.123456Z',
  schemaVersion: 1,
};

const { tenant, actor, correlationId, causationId } = metadata;
/** Who writes such events. */
export const caller = { tenant, actor, correlationId, causationId };

/** An event with an id of its own. */
export function event(data: unknown = {}, type = 'ThingHappened', schemaVersion = 1): EventToAppend {
  return { id: randomUUID(), type, data, metadata: { ...metadata, schemaVersion } };
}

export function events(count: number): readonly EventToAppend[] {
  return Array.from({ length: count }, (_, number) => event({ number }));
}

/** The ids, for comparing what is stored with what was given. */
export function ids(of: readonly { readonly id: string }[]): readonly string[] {
  return of.map(({ id }) => id);
}

/** What `readSlice` answers for a stream of these events. */
export function sliceOf(
  stream: readonly RecordedEvent[],
  { from, to = Number.MAX_SAFE_INTEGER, maxCount, backwards = false }: SliceRange,
): ReadSlice {
  const wanted = stream.filter(({ revision }) => revision >= from && revision <= to);
  const events: RecordedEvent[] = [];
  let bytes = 0;
  for (const each of backwards ? wanted.toReversed() : wanted) {
    if (events.length === maxCount || bytes >= MAX_EVENT_BYTES) {
      return { events: backwards ? events.reverse() : events, next: each.revision };
    }
    events.push(each);
    bytes += JSON.stringify(each.data ?? null).length;
  }
  return { events: backwards ? events.reverse() : events };
}

type Reading = {
  readonly after: number;
  readonly streamPrefixes?: readonly string[];
  readonly maxCount?: number;
};

/** The slices of a subscription up to the first after which `enough` holds. */
export async function slicesUntil(
  store: EventStore,
  reading: Reading,
  enough: (slice: EventSlice, all: readonly RecordedEvent[]) => boolean,
): Promise<readonly EventSlice[]> {
  const slices: EventSlice[] = [];
  const all: RecordedEvent[] = [];
  const ending = new AbortController();
  for await (const slice of store.subscribe({ ...reading, signal: ending.signal })) {
    slices.push(slice);
    all.push(...slice.events);
    if (enough(slice, all)) ending.abort();
  }
  return slices;
}

/** Events of a subscription, as soon as it has delivered this many. */
export async function firstEvents(
  store: EventStore,
  reading: Reading,
  count: number,
): Promise<readonly RecordedEvent[]> {
  const slices = await slicesUntil(store, reading, (_, all) => all.length >= count);
  return slices.flatMap((slice) => slice.events);
}

/** What is stored after a position now. */
export async function storedSlices(store: EventStore, reading: Reading): Promise<readonly EventSlice[]> {
  return slicesUntil(store, reading, (slice) => slice.caughtUp);
}
