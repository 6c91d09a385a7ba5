import type { EventKey } from '../../../domain/keyUse.js';
import type { Actor, EventMetadata, EventToAppend, RecordedEvent } from '../../../ports/eventStore.js';
import { dataAsJson } from '../everyStore.js';

/** An event as text, as sent to the appender thread and as stored in the file. */
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
  readonly id: string;
  readonly stream: string;
  readonly type: string;
  readonly schema_version: number;
  readonly metadata: string;
  readonly data: string;
};

/** Metadata as an array instead of an object: a third of the bytes. The schema version is stored with the type. */
type PackedMetadata = readonly [
  tenant: string,
  actor: Actor,
  correlationId: string,
  causationId: string,
  occurredAt: string,
  traceparent?: string | null,
  request?: readonly [method: string, path: string] | null,
  erasedLeaf?: string | null,
  key?: EventKey,
];

/**
 * Encodes the events of an append on the caller's thread: copying JSON text to another thread is cheaper than the
 * structured clone of objects.
 * @throws what `dataAsJson` throws
 */
export function encodeAppend(stream: string, events: readonly EventToAppend[]): readonly EncodedEvent[] {
  const json = dataAsJson(stream, events);
  return events.map(({ id, type, metadata }, index) => ({
    id: id.toLowerCase(),
    type,
    schemaVersion: metadata.schemaVersion,
    metadata: JSON.stringify(packed(metadata)),
    data: json[index] ?? '',
  }));
}

function packed({
  tenant,
  actor,
  correlationId,
  causationId,
  occurredAt,
  traceparent,
  request,
  erasedLeaf,
  key,
}: EventMetadata): PackedMetadata {
  const always = [tenant, actor, correlationId, causationId, occurredAt] as const;
  const asked = request === undefined ? null : ([request.method, request.path] as const);
  if (key !== undefined) return [...always, traceparent ?? null, asked, erasedLeaf ?? null, key];
  if (erasedLeaf !== undefined) return [...always, traceparent ?? null, asked, erasedLeaf];
  if (request !== undefined) return [...always, traceparent ?? null, [request.method, request.path]];
  return traceparent === undefined ? always : [...always, traceparent];
}

/** Decodes a row to the event that was appended. */
export function decodeEvent(row: EventRow): RecordedEvent {
  const packedMetadata: PackedMetadata = JSON.parse(row.metadata);
  const [tenant, actor, correlationId, causationId, occurredAt, traceparent, request, erasedLeaf, key] = packedMetadata;
  const always = { tenant, actor, correlationId, causationId, occurredAt, schemaVersion: row.schema_version };
  const traced = typeof traceparent === 'string' ? { ...always, traceparent } : always;
  const erased = typeof erasedLeaf === 'string' ? { ...traced, erasedLeaf } : traced;
  const keyed = key === undefined ? erased : { ...erased, key };
  return {
    id: uuidText(row.id),
    stream: row.stream,
    revision: row.revision,
    position: row.position,
    type: row.type,
    data: JSON.parse(row.data),
    metadata: request == null ? keyed : { ...keyed, request: { method: request[0], path: request[1] } },
  };
}

/** The 16 bytes of a UUID (RFC 9562 §4). */
export function uuidBytes(text: string): Buffer {
  return Buffer.from(text.replaceAll('-', ''), 'hex');
}

/** @param hex 32 digits in lower case */
export function uuidText(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
