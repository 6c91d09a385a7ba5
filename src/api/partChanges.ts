/** What happened to one part of an order, from the order's stream, whose events have the values before. */
import { type StreamReads, streamPagesBackwards } from '../commands/streamPages.js';
import { activityOf } from '../domain/activity.js';
import { charactersOf } from '../domain/jsonSize.js';
import { MAX_HISTORY_PAGE_BYTES, MAX_RECORD_HISTORY_CHARACTERS, MAX_RECORD_HISTORY_EVENTS } from '../domain/limits.js';
import type { Changes, OrderEvent, PartFields } from '../domain/order/events.js';
import { orderStream } from '../domain/streams.js';
import type { EventStore, RecordedEvent } from '../ports/eventStore.js';
import type { Cancellation } from '../supervision/cancellation.js';
import type { AskedHistory, RecordHistoryEntry, RecordHistoryPage } from './recordChanges.js';

/** Few, as events of large orders are large. */
const EVENTS_AT_ONCE = 20;

/** A page of the history of a part. @throws the cancellation's reason */
export async function partHistory(
  eventStore: StreamReads & Pick<EventStore, 'lastAppend'>,
  { tenant, orderModel, orderId }: { readonly tenant: string; readonly orderModel: string; readonly orderId: string },
  { id, before, limit }: AskedHistory,
  cancellation: Cancellation,
): Promise<RecordHistoryPage> {
  const stream = orderStream(tenant, orderId);
  const end = (await eventStore.lastAppend(stream))?.revision ?? -1;
  const pages = { to: Math.min(end, (before ?? end + 1) - 1), eventsAPage: EVENTS_AT_ONCE, cancellation };
  const entries: RecordHistoryEntry[] = [];
  let [events, characters, bytes] = [0, 0, 0];
  for await (const slice of streamPagesBackwards(eventStore, stream, pages)) {
    for (const { data, ...event } of slice.toReversed()) {
      const next = event.revision + 1;
      const isRead = events >= MAX_RECORD_HISTORY_EVENTS || characters >= MAX_RECORD_HISTORY_CHARACTERS;
      if (isRead || entries.length === limit) return { entries, next };
      events += 1;
      characters += charactersOf(data);
      const done = doneToPart({ type: event.type, data } as OrderEvent, id);
      if (done === undefined) continue;
      bytes += charactersOf(Object.fromEntries(done.fields));
      if (bytes > MAX_HISTORY_PAGE_BYTES && entries.length > 0) return { entries, next };
      const kind = activityOf({ ...event, data } satisfies RecordedEvent, { orderModel })?.kind;
      entries.push({ ...done, event, kind, isComplete: true });
    }
  }
  return { entries };
}

type Done = Pick<RecordHistoryEntry, 'change' | 'fields'>;

/** What an event of an order did to one of its parts; undefined: nothing. */
function doneToPart(event: OrderEvent, id: string): Done | undefined {
  const isIt = (part: { readonly id: string }): boolean => part.id.toLowerCase() === id;
  switch (event.type) {
    case 'OrderCreatedWithParts':
      return added(event.data.parts.find(isIt));
    case 'OrderPartAdded':
      return isIt(event.data) ? added(event.data) : undefined;
    case 'OrderPartChanged':
      return isIt(event.data) ? changed(event.data.changes) : undefined;
    case 'OrderPartsChanged': {
      const there = event.data.changed.find(isIt);
      if (there !== undefined) return changed(there.changes);
      return added(event.data.added.find(isIt)) ?? removed(event.data.removed.find(isIt));
    }
    default:
      return undefined;
  }
}

const changed = (changes: Changes): Done => ({ change: 'update', fields: new Map(Object.entries(changes)) });

const added = (part: PartFields | undefined): Done | undefined =>
  part && {
    change: 'create',
    fields: new Map(Object.entries(part.fields).map(([name, to = null]) => [name, { from: null, to }])),
  };

const removed = (part: PartFields | undefined): Done | undefined =>
  part && {
    change: 'delete',
    fields: new Map(
      Object.entries(part.fields).flatMap(([name, from = null]) => (from === null ? [] : [[name, { from, to: null }]])),
    ),
  };
