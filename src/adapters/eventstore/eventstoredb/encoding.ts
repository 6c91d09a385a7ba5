import {
  type AllStreamRecordedEvent,
  type JSONEventData,
  jsonEvent,
  type Position as LogPosition,
} from '@eventstore/db-client';
import { z } from 'zod';
import type { Actor, EventToAppend, Position, RecordedEvent } from '../../../ports/eventStore.js';

/** Where earlier releases listed the types of all events. */
const STORED_TYPES_STREAM = 'eventtypes';

/** Marks the events of one append of several, in their metadata. */
const part = z.object({
  append: z.string(),
  index: z.int(),
  count: z.int(),
  /** Whether the append took several calls, as in earlier releases (decision 0006): others' events may stand between. */
  split: z.boolean(),
});

/** The server may hold other data: events with other metadata are not the service's. */
const ownMetadata = z.object({
  tenant: z.string(),
  actor: z.custom<Actor>((actor) => typeof actor === 'object' && actor !== null),
  correlationId: z.string(),
  causationId: z.string(),
  occurredAt: z.string(),
  schemaVersion: z.number(),
  traceparent: z.string().optional(),
  request: z.object({ method: z.string(), path: z.string() }).optional(),
  erasedLeaf: z.string().optional(),
  key: z
    .object({
      id: z.string(),
      body: z.string(),
      counts: z.record(z.string(), z.union([z.number(), z.string()])).optional(),
    })
    .optional(),
  part: part.optional(),
});

/** An event as stored; `part` is unset for an append of one event. */
export type StoredEvent = { readonly event: RecordedEvent; readonly part: z.output<typeof part> | undefined };

export const following = ({ part: its }: StoredEvent): number => (its === undefined ? 0 : its.count - 1 - its.index);

/** Whether others of its append follow at once, in the log as well. */
export const isInsideCall = (stored: StoredEvent): boolean => stored.part?.split === false && following(stored) > 0;

/** The client's event, read from a stream or from `$all`. */
export type ClientEvent = Omit<AllStreamRecordedEvent, 'position'> & { readonly position?: LogPosition };

export const encode = (events: readonly EventToAppend[]): JSONEventData[] =>
  events.map(({ id, type, data, metadata }, index) => {
    const append = { append: events[0]?.id.toLowerCase(), index, count: events.length, split: false };
    return jsonEvent({
      id: id.toLowerCase(),
      type,
      data: data as JSONEventData['data'],
      metadata: events.length === 1 ? metadata : { ...metadata, part: append },
    });
  });

/** Decodes a stored event; undefined if this adapter did not write it, or it is in the list of event types. */
export function decode(event: ClientEvent): StoredEvent | undefined {
  const { id, type, data, streamId: stream, revision } = event;
  if (!event.isJson || stream.startsWith('$') || stream === STORED_TYPES_STREAM) return undefined;
  const found = ownMetadata.safeParse(event.metadata).data;
  if (found === undefined) return undefined;
  const { part: its, ...metadata } = found;
  return {
    event: { id, stream, revision: Number(revision), position: positionOf(event), type, data, metadata },
    part: its,
  };
}

const NO_POSITION = 2n ** 64n - 1n;

/** The event's position: bytes from the start of the server's log. */
export function positionOf({ position }: ClientEvent): Position {
  if (position !== undefined && position.commit !== NO_POSITION) return Number(position.commit);
  throw new Error('EventStoreDB gives no position with the events of a stream: it must be version 22.6 or newer.');
}

export const toLogPosition = (position: Position): LogPosition => ({
  commit: BigInt(position),
  prepare: BigInt(position),
});
