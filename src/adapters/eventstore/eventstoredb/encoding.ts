import {
  type AllStreamRecordedEvent,
  type JSONEventData,
  jsonEvent,
  type Position as LogPosition,
} from '@eventstore/db-client';
import type { EventMetadata, EventToAppend, Position, RecordedEvent } from '../../../ports/eventStore.js';

/** This adapter's own list of event types (see Appender.storedTypes); hidden from readers of the port. */
export const STORED_TYPES_STREAM = 'eventtypes';

/** Marks the events of one append of several, in their metadata. */
export type AppendPart = {
  /** The append's id: the id of its first event. */
  readonly append: string;
  /** Index in the append, from 0. */
  readonly index: number;
  readonly count: number;
  /** Whether the append took several calls, as in earlier releases (decision 0011): others' events may stand between. */
  readonly split: boolean;
};

/** An event as stored; `part` is unset for an append of one event. */
export type StoredEvent = { readonly event: RecordedEvent; readonly part?: AppendPart };

/** How many events of its append follow. */
export const following = ({ part }: StoredEvent): number => (part === undefined ? 0 : part.count - 1 - part.index);

/** Whether others of its append follow at once, in the log as well. */
export const isInsideCall = (stored: StoredEvent): boolean => stored.part?.split === false && following(stored) > 0;

/** The client's event, read from a stream or from `$all`. */
export type ClientEvent = Omit<AllStreamRecordedEvent, 'position'> & { readonly position?: LogPosition };

export const encode = (events: readonly EventToAppend[]): JSONEventData[] =>
  events.map(({ id, type, data, metadata }, index) => {
    const append = events[0]?.id.toLowerCase();
    const part = { append, index, count: events.length, split: false };
    return jsonEvent({
      id: id.toLowerCase(),
      type,
      data: data as JSONEventData['data'],
      metadata: events.length === 1 ? metadata : { ...metadata, part },
    });
  });

/** Decodes a stored event; undefined if this adapter did not write it: the server may hold other data. */
export function decode(event: ClientEvent): StoredEvent | undefined {
  const { metadata } = event;
  if (!event.isJson || isSystem(event.streamId) || !isOwn(metadata)) return undefined;
  const { tenant, actor, correlationId, causationId, occurredAt, schemaVersion } = metadata;
  const { traceparent, request, erasedLeaf, part } = metadata;
  const stored = {
    event: {
      id: event.id,
      stream: event.streamId,
      revision: Number(event.revision),
      position: positionOf(event),
      type: event.type,
      data: event.data,
      metadata: {
        tenant,
        actor,
        correlationId,
        causationId,
        occurredAt,
        schemaVersion,
        ...(traceparent !== undefined && { traceparent }),
        ...(erasedLeaf !== undefined && { erasedLeaf }),
        ...(request !== undefined && { request }),
      },
    },
  };
  return part === undefined ? stored : { ...stored, part };
}

/** Streams of the server, and of this adapter itself. */
const isSystem = (stream: string): boolean => stream.startsWith('$') || stream === STORED_TYPES_STREAM;

/** The server's value for an unknown position. */
const NO_POSITION = 2n ** 64n - 1n;

/**
 * The event's position: bytes from the start of the server's log.
 * @throws Error if the server gives none with the events of a stream: before version 22.6
 */
export function positionOf({ position, streamId }: ClientEvent): Position {
  if (position === undefined || position.commit === NO_POSITION) {
    throw new Error(`The server gives no position for events of ${streamId}: it must be version 22.6 or newer.`);
  }
  return toPosition(position.commit);
}

/** @throws RangeError beyond 9 petabytes of log, where numbers are no longer exact */
export function toPosition(commit: bigint): Position {
  if (commit > BigInt(Number.MAX_SAFE_INTEGER)) throw new RangeError(`Position ${commit} is too large.`);
  return Number(commit);
}

export const toLogPosition = (position: Position): LogPosition => ({
  commit: BigInt(position),
  prepare: BigInt(position),
});

function isOwn(metadata: unknown): metadata is EventMetadata & { readonly part?: AppendPart } {
  if (typeof metadata !== 'object' || metadata === null) return false;
  const found: Partial<Record<string, unknown>> = metadata;
  const { tenant, actor, schemaVersion, traceparent, request, erasedLeaf, part } = found;
  return (
    typeof tenant === 'string' &&
    typeof actor === 'object' &&
    typeof schemaVersion === 'number' &&
    (traceparent === undefined || typeof traceparent === 'string') &&
    (erasedLeaf === undefined || typeof erasedLeaf === 'string') &&
    (request === undefined || isRequest(request)) &&
    (part === undefined || isPart(part))
  );
}

function isRequest(request: unknown): request is NonNullable<EventMetadata['request']> {
  if (typeof request !== 'object' || request === null) return false;
  const { method, path } = request as Partial<Record<string, unknown>>;
  return typeof method === 'string' && typeof path === 'string';
}

function isPart(part: unknown): part is AppendPart {
  if (typeof part !== 'object' || part === null) return false;
  const { append, index, count } = part as Partial<AppendPart>;
  return typeof append === 'string' && Number.isInteger(index) && Number.isInteger(count);
}
