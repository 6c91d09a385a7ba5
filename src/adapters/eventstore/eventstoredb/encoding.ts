import type { AllStreamRecordedEvent, Position as LogPosition } from '@eventstore/db-client';
import type { EventMetadata, EventToAppend, Position } from '../../../ports/eventStore.js';
import { dataAsJson } from '../everyStore.js';
import { type AppendPart, runLengths, type StoredEvent } from './splitAppends.js';

/**
 * Limit for data and metadata in one call. The server's limit is 1,048,576 bytes; the rest is room for type names. The
 * largest event (MAX_EVENT_BYTES) gets a call of its own, and fits.
 */
const CALL_BYTES = 900_000;

/** This adapter's own list of event types (see Appender.storedTypes); hidden from readers of the port. */
export const STORED_TYPES_STREAM = 'eventtypes';

/** Room for the `part` of the metadata, which is known only once the calls are. */
const PART_BYTES = 120;

/** The client's event, read from a stream or from `$all`. */
export type ClientEvent = Omit<AllStreamRecordedEvent, 'position'> & { readonly position?: LogPosition };

/** An event as sent to the server: data and metadata are JSON in UTF-8. */
export type EncodedEvent = {
  readonly id: string;
  readonly type: string;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
};

/**
 * Encodes an append as calls, each a list of events.
 * @throws what `dataAsJson` throws
 */
export async function encodeAppend(
  stream: string,
  events: readonly EventToAppend[],
): Promise<readonly (readonly EncodedEvent[])[]> {
  const data = (await dataAsJson(stream, events)).map((json) => Buffer.from(json));
  const sizes = events.map(({ metadata }, index) => (data[index]?.length ?? 0) + asJson(metadata).length + PART_BYTES);
  const lengths = runLengths(sizes, CALL_BYTES);
  const marked = events.map((event, index) => {
    const part = splitPart(events, index, lengths.length > 1);
    return encode(event, data[index], part);
  });
  let taken = 0;
  return lengths.map((length) => {
    taken += length;
    return marked.slice(taken - length, taken);
  });
}

function splitPart(events: readonly EventToAppend[], index: number, split: boolean): AppendPart | undefined {
  const append = events[0]?.id.toLowerCase();
  return append === undefined || events.length === 1 ? undefined : { append, index, count: events.length, split };
}

function encode({ id, type, metadata }: EventToAppend, data = NO_DATA, part: AppendPart | undefined): EncodedEvent {
  return { id: id.toLowerCase(), type, data, metadata: asJson(part === undefined ? metadata : { ...metadata, part }) };
}

const NO_DATA = Buffer.alloc(0);

export const asJson = (value: object): Buffer => Buffer.from(JSON.stringify(value));

/** Decodes a stored event; undefined if this adapter did not write it: the server may hold other data. */
export function decode(event: ClientEvent): StoredEvent | undefined {
  const { metadata } = event;
  if (!event.isJson || isSystem(event.streamId) || !isOwn(metadata)) return undefined;
  const { tenant, actor, correlationId, causationId, occurredAt, schemaVersion, traceparent, request } = metadata;
  const { erasedLeaf, part } = metadata;
  const always = { tenant, actor, correlationId, causationId, occurredAt, schemaVersion };
  const traced = traceparent === undefined ? always : { ...always, traceparent };
  const erased = erasedLeaf === undefined ? traced : { ...traced, erasedLeaf };
  const stored = {
    event: {
      id: event.id,
      stream: event.streamId,
      revision: Number(event.revision),
      position: positionOf(event),
      type: event.type,
      data: event.data,
      metadata: request === undefined ? erased : { ...erased, request },
    },
  };
  return part === undefined ? stored : { ...stored, part };
}

/** Streams of the server, and of this adapter itself. */
export const isSystem = (stream: string): boolean => stream.startsWith('$') || stream === STORED_TYPES_STREAM;

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
