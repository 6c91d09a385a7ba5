import type { Actor, EventMetadata, EventToAppend, RecordedEvent } from '../../../ports/eventStore.js';
import { EventTooLargeError, MAX_EVENT_BYTES } from '../../../ports/eventStore.js';

/** An event as text: what crosses to the appender thread and what the file holds. */
export type EncodedEvent = {
  readonly id: string;
  readonly type: string;
  readonly schemaVersion: number;
  readonly metadata: string;
  readonly data: string;
};

/** A row of `events` with its stream and type; `id` is 32 hex digits. */
export type EventRow = {
  readonly position: number;
  readonly revision: number;
  readonly following: number;
  readonly id: string;
  readonly stream: string;
  readonly type: string;
  readonly schema_version: number;
  readonly metadata: string;
  readonly data: string;
};

/** Metadata by place rather than by name: a third of the bytes. The schema version is kept with the type. */
type PackedMetadata = readonly [
  tenant: string,
  actor: Actor,
  correlationId: string,
  causationId: string,
  occurredAt: string,
];

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * Turns an event into text. Done by the caller's thread: its JSON text crosses to another
 * thread by a copy of bytes, which is cheaper than the structured clone of its objects.
 * @throws EventTooLargeError over MAX_EVENT_BYTES of data
 * @throws TypeError when the id is no UUID or the data no JSON value
 */
export function encodeEvent(event: EventToAppend): EncodedEvent {
  if (!UUID.test(event.id)) throw new TypeError(`Event id ${event.id} is not a UUID.`);
  const data: string | undefined = JSON.stringify(event.data);
  if (data === undefined) throw new TypeError(`The data of ${event.type} is not a JSON value.`);
  const bytes = Buffer.byteLength(data);
  if (bytes > MAX_EVENT_BYTES) throw new EventTooLargeError(event.type, bytes);
  return {
    id: event.id.toLowerCase(),
    type: event.type,
    schemaVersion: event.metadata.schemaVersion,
    metadata: packMetadata(event.metadata),
    data,
  };
}

/** A row as the event that was appended. */
export function decodeEvent(row: EventRow): RecordedEvent {
  return {
    id: uuidText(row.id),
    stream: row.stream,
    revision: row.revision,
    position: row.position,
    type: row.type,
    data: JSON.parse(row.data),
    metadata: unpackMetadata(row.metadata, row.schema_version),
  };
}

/** The 16 bytes of a UUID (RFC 9562 §4). */
export function uuidBytes(text: string): Buffer {
  return Buffer.from(text.replaceAll('-', ''), 'hex');
}

function uuidText(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

function packMetadata(metadata: EventMetadata): string {
  const { tenant, actor, correlationId, causationId, occurredAt } = metadata;
  const packed: PackedMetadata = [tenant, actor, correlationId, causationId, occurredAt];
  return JSON.stringify(packed);
}

function unpackMetadata(text: string, schemaVersion: number): EventMetadata {
  const packed: PackedMetadata = JSON.parse(text);
  const [tenant, actor, correlationId, causationId, occurredAt] = packed;
  return { tenant, actor, correlationId, causationId, occurredAt, schemaVersion };
}
