/** Fills a copy of one table with its events up to a position: what a rebuild does, but the copy stays there. */
import { orderStream, tableStream, tenantStream } from '../domain/streams.js';
import {
  type EventSlice,
  type EventStore,
  type Position,
  type RecordedEvent,
  type Revision,
  storeWith,
} from '../ports/eventStore.js';
import type { PastTable } from '../ports/pastTables.js';
import type { ReadModelRebuild } from '../ports/readModelWriter.js';
import { recordsProjection } from '../projections/records.js';
import { Replay } from './replay.js';

export type FillOptions = {
  /** The copy has the events up to here already. */
  readonly after: Position;
  readonly signal: AbortSignal;
  /** Called with the part that is done. */
  readonly onProgress: (done: number) => void;
};

/** @throws UnappliedEventError; the signal's reason; what an engine throws */
export async function fillPastTable(
  eventStore: EventStore,
  copy: Pick<ReadModelRebuild, 'writer'>,
  past: PastTable,
  { after, signal, onProgress }: FillOptions,
): Promise<void> {
  const { tenant, table, position: to } = past;
  const scope = { projection: 'records', tenant, table } as const;
  const log = past.isReference ? ownStreams(eventStore, past) : ordersOnly(eventStore, tenant);
  const replay = new Replay(log, recordsProjection, scope, copy, { signal, passOver: new Set(), after });
  await replay.advance(to, (position) => onProgress((position - after) / Math.max(1, to - after)));
}

/** The tables of orders and of their parts are made of the streams of orders alone. */
const ordersOnly = (eventStore: EventStore, tenant: string): EventStore =>
  storeWith(eventStore, {
    subscribe: (options) =>
      eventStore.subscribe({ ...options, streamPrefixes: [tenantStream(tenant), orderStream(tenant, '')] }),
  });

/** A reference table is made of its own stream and its tenant's: reading those costs nothing for the rest of the log. */
const ownStreams = (eventStore: EventStore, { tenant, table, position: to }: PastTable): EventStore =>
  storeWith(eventStore, {
    subscribe: ({ after }) =>
      slicesOf(eventStore, { definitions: tenantStream(tenant), records: tableStream(tenant, table) }, after, to),
  });

async function* slicesOf(
  eventStore: EventStore,
  { definitions, records }: { readonly definitions: string; readonly records: string },
  after: Position,
  to: Position,
): AsyncGenerator<EventSlice> {
  const others: RecordedEvent[] = [];
  for await (const events of eventsBetween(eventStore, definitions, after, to)) others.push(...events);
  for await (const events of eventsBetween(eventStore, records, after, to)) {
    const last = events.at(-1)?.position ?? after;
    const earlier = others.findIndex(({ position }) => position > last);
    const merged = [...events, ...others.splice(0, earlier < 0 ? others.length : earlier)];
    merged.sort((one, other) => one.position - other.position);
    // Not the end yet: on some engines all events of an append have one position.
    yield { events: merged, position: Math.min(last, to - 1), caughtUp: false };
  }
  yield { events: others, position: to, caughtUp: true };
}

const EVENTS_AT_ONCE = 500;

/** The events of a stream behind one position, up to another. */
async function* eventsBetween(
  eventStore: EventStore,
  stream: string,
  after: Position,
  to: Position,
): AsyncGenerator<readonly RecordedEvent[]> {
  let from: Revision | undefined = await firstBehind(eventStore, stream, after);
  while (from !== undefined) {
    const slice = await eventStore.readSlice(stream, { from, to: Number.MAX_SAFE_INTEGER, maxCount: EVENTS_AT_ONCE });
    const events = slice.events.filter(({ position }) => position <= to);
    if (events.length > 0) yield events;
    from = events.length < slice.events.length ? undefined : slice.next;
  }
}

/** The first revision of a stream behind a position (binary search); undefined if there is none. */
async function firstBehind(eventStore: EventStore, stream: string, after: Position): Promise<Revision | undefined> {
  if (after === 0) return 0;
  const end = (await eventStore.lastAppend(stream))?.revision ?? -1;
  let [low, high] = [0, end + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [event] = (await eventStore.readSlice(stream, { from: middle, to: middle, maxCount: 1 })).events;
    if (event !== undefined && event.position <= after) low = middle + 1;
    else high = middle;
  }
  return low > end ? undefined : low;
}
