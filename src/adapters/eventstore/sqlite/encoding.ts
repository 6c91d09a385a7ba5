import { uuidText } from '../../../domain/assetTypes/fieldTypes.js';
import type { EventKey } from '../../../domain/eventTypes.js';
import type { Actor, EventMetadata, EventToAppend, RecordedEvent } from '../../../ports/eventStore.js';
import { dataAsJson } from '../everyStore.js';

export type EncodedEvent = {
  readonly id: string;
  readonly type: string;
  readonly schemaVersion: number;
  readonly metadata: string;
  readonly data: string;
};

/** A row of `events` with its stream and type; `id` is 32 hex digits. `following`: how many events of its append follow. */
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
  key?: EventKey | null,
];

/**
 * Encodes the events of an append on the caller's thread: copying JSON text to another thread is cheaper than the
 * structured clone of objects.
 * @throws what `dataAsJson` throws
 */
export function encodeAppend(events: readonly EventToAppend[]): readonly EncodedEvent[] {
  const json = dataAsJson(events);
  return events.map(({ id, type, metadata }, index) => ({
    id: id.toLowerCase(),
    type,
    schemaVersion: metadata.schemaVersion,
    metadata: JSON.stringify(packed(metadata)),
    data: json[index] ?? '',
  }));
}

/** Values that are unset at its end are left out. */
function packed({ tenant, actor, correlationId, causationId, occurredAt, ...rest }: EventMetadata): readonly unknown[] {
  const { traceparent = null, request, erasedLeaf = null, key = null } = rest;
  const optional = [traceparent, request ? [request.method, request.path] : null, erasedLeaf, key];
  const count = optional.findLastIndex((value) => value !== null) + 1;
  return [tenant, actor, correlationId, causationId, occurredAt, ...optional.slice(0, count)];
}

/** Decodes a row to the event that was appended. */
export function decodeEvent(row: EventRow): RecordedEvent {
  const packedMetadata: PackedMetadata = JSON.parse(row.metadata);
  const [tenant, actor, correlationId, causationId, occurredAt, traceparent, request, erasedLeaf, key] = packedMetadata;
  return {
    id: uuidText(row.id),
    stream: row.stream,
    revision: row.revision,
    position: row.position,
    type: row.type,
    data: JSON.parse(row.data),
    metadata: {
      ...{ tenant, actor, correlationId, causationId, occurredAt, schemaVersion: row.schema_version },
      ...(traceparent != null && { traceparent }),
      ...(erasedLeaf != null && { erasedLeaf }),
      ...(key != null && { key }),
      ...(request != null && { request: { method: request[0], path: request[1] } }),
    },
  };
}
