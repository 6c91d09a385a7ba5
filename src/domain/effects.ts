/**
 * What an event did: the rows that it creates, patches, touches and deletes, and the line of activity that it makes. The one
 * place that interprets an event; projections, history, changes, activity, undo and erasure use it, and only decisions
 * (`evolve`) read an event's data beside it.
 */
import { type Activity, activityOf, type Counts } from './activity.js';
import type { AssetType } from './assetTypes/assetType.js';
import { type Changes, type Fields, type FieldValue, sideOf, uuidText } from './assetTypes/fieldTypes.js';
import type { ErasureRecorded } from './erasure.js';
import type { ReadEvent } from './eventTypes.js';
import type { TenantEvent } from './identity/events.js';
import { ownTable, standardTables, withOwnField, withRetiredField } from './identity/tenantTables.js';
import type { OrderEvent, PartsChange } from './order/events.js';
import {
  isSyncId,
  type ReferenceTableEvent,
  type ReplacedRecord,
  type SyncEvent,
  type TableCleanedUp,
  unpackIds,
  uuidOfSync,
} from './referenceTable/events.js';
import { DELIVERIES, KEYS, SERVICE_SPACES, SYNCS } from './spaces.js';
import { ERASURES_STREAM, parseStream } from './streams.js';
import { MAX_DELIVERY_ATTEMPTS } from './webhook/delivery.js';
import type { DeliveryEvent, DeliverySubject } from './webhook/events.js';

type OfRow<Kind> = { readonly kind: Kind; readonly space: string; readonly id: string };

/** One change of a space's rows. `space` is the name of a table, or of a space of the service (`domain/spaces.ts`). */
export type RowEffect =
  | (OfRow<'create'> & { readonly batch: string | null; readonly fields: Fields })
  /** `updated` becomes the time of the event. `batch` absent: stays. A field that is null is cleared. */
  | (OfRow<'patch'> & {
      readonly batch?: string | null;
      readonly set: Fields;
      /** The values before, of the same fields; absent where the event does not have them. */
      readonly was?: Fields;
      /** Adds a member to a field that holds an object as JSON text, or changes some of the member's own members. */
      readonly merge?: {
        readonly field: string;
        readonly member: string;
        readonly with: { readonly [name: string]: unknown };
      };
    })
  /** Moves the batch id and nothing else. */
  | { readonly kind: 'touch'; readonly space: string; readonly ids: readonly string[]; readonly batch: string | null }
  /** A row that is gone already is no error: a part may be removed with its parent. `was`: where the event has it. */
  | (OfRow<'delete'> & { readonly was?: Fields })
  /** Deletes each row whose batch id is not this one; rows without a batch id as well. */
  | { readonly kind: 'cleanUp'; readonly space: string; readonly batch: string; readonly deleted: number }
  /** The space exists from now on, or has other fields. */
  | { readonly kind: 'define'; readonly assetType: AssetType }
  /** Values of a row's past that are no longer shown, and what is in their place. */
  | (OfRow<'redact'> & { readonly fields: { readonly [field: string]: FieldValue } });

export type RecordEffect = Extract<RowEffect, { readonly kind: 'create' | 'patch' | 'delete' }>;

export type Effects = {
  readonly rows: readonly RowEffect[];
  /** Undefined where nobody asked for the event, or another event tells of it. */
  readonly activity?: Activity | undefined;
};

/** What has to be known of the tenant: the table of its orders, and its asset types as they were before the event. */
type KnownOfTenant = { readonly orderModel: string; readonly assetTypes: ReadonlyMap<string, AssetType> };

/**
 * What the event did. Events of streams that are not read here, as those of users, make no rows but their activity.
 * @throws TypeError where the event lacks what its type has
 */
export function effectsOf(event: ReadEvent, known: KnownOfTenant): Effects {
  const own = rowEffects(event, known);
  const rows = [...own, ...ofSession(event), ...ofKey(event)];
  return { rows, activity: activityOf(event, known.orderModel, countsOf(own)) };
}

function rowEffects(event: ReadEvent, known: KnownOfTenant): readonly RowEffect[] {
  const { category, rest } = parseStream(event.stream);
  const typed: unknown = { type: event.type, data: event.data };
  switch (category) {
    case 'tenant':
      return ofTenant(typed as TenantEvent, known);
    case 'table':
      return tableEffects(typed as ReferenceTableEvent, rest);
    case 'order':
      return orderEffects(typed as OrderEvent, rest.toLowerCase(), known.orderModel);
    case 'delivery':
      return ofDelivery(typed as DeliveryEvent, rest.toLowerCase(), event);
    case 'request':
      return ofRequest(event, rest);
    case 'sync':
      return ofSync(typed as SyncEvent, rest, event);
    default:
      return event.stream === ERASURES_STREAM ? ofErasure(typed as ErasureRecorded) : [];
  }
}

function ofTenant(event: TenantEvent, { assetTypes }: KnownOfTenant): readonly RowEffect[] {
  const define = (assetType: AssetType): RowEffect => ({ kind: 'define', assetType });
  switch (event.type) {
    case 'TenantCreated':
      return [...standardTables(event.data.orderModel).values(), ...SERVICE_SPACES.values()].map(define);
    case 'AssetTableAdded':
      return [define(ownTable(event.data.assetType))];
    case 'AssetFieldAdded':
    case 'AssetFieldRetired': {
      const assetType = assetTypes.get(event.data.table);
      if (assetType === undefined) return [];
      if (event.type === 'AssetFieldRetired') return [define(withRetiredField(assetType, event.data.field))];
      return [define(withOwnField(assetType, event.data.field))];
    }
    default:
      return [];
  }
}

type NewRecord = { readonly id: string; readonly fields: Fields };

const created = (space: string, { id, fields }: NewRecord, batch: string | null = null): RecordEffect => {
  return { kind: 'create', space, id: id.toLowerCase(), batch, fields };
};

/** @param batch undefined: it stays */
const replaced = (space: string, { id, set }: ReplacedRecord, batch?: string | null): RowEffect => {
  return { kind: 'patch', space, id: id.toLowerCase(), ...(batch !== undefined && { batch }), set };
};

const deleted = (space: string, id: string): RecordEffect => ({ kind: 'delete', space, id: id.toLowerCase() });

export function countsOf(rows: readonly RowEffect[]): Counts {
  const counts = { created: 0, updated: 0, seen: 0, deleted: 0 };
  for (const effect of rows) {
    if (effect.kind === 'create') counts.created += 1;
    else if (effect.kind === 'patch') counts.updated += 1;
    else if (effect.kind === 'touch') counts.seen += effect.ids.length;
    else if (effect.kind === 'delete') counts.deleted += 1;
    else if (effect.kind === 'cleanUp') counts.deleted += effect.deleted;
  }
  return counts;
}

export function tableEffects({ type, data }: ReferenceTableEvent, space: string): readonly RowEffect[] {
  switch (type) {
    case 'RecordCreated':
      return [created(space, data)];
    case 'RecordChanged':
      return [replaced(space, data)];
    case 'RecordDeleted':
      return [deleted(space, data.id)];
    case 'TableCleanedUp':
      return [{ kind: 'cleanUp', space, batch: data.batchId, deleted: data.deleted }];
    case 'BatchUpserted':
    case 'BatchUndone': {
      const { batchId, changed, seen } = data;
      return [
        ...('deleted' in data ? unpackIds(data.deleted) : []).map((id) => deleted(space, id)),
        ...('created' in data ? data.created : []).map((record) => created(space, record, batchId)),
        ...changed.map((record) => replaced(space, record, batchId)),
        ...(seen === '' || batchId === undefined
          ? []
          : [{ kind: 'touch', space, ids: unpackIds(seen), batch: batchId } as const]),
      ];
    }
  }
}

export function orderEffects(event: OrderEvent, id: string, orderModel: string): readonly RecordEffect[] {
  if (event.type === 'OrderCreated' || event.type === 'OrderCreatedWithParts') {
    const { table, fields, status, parts: added = [] } = event.data;
    return [created(table, { id, fields: { ...fields, processing_status: status } }), ...partEffects({ added })];
  }
  if (event.type === 'OrderExportHeld') return [];
  const { status } = event.data;
  const order = (set: Fields): RecordEffect => {
    return { kind: 'patch', space: orderModel, id, set: { ...set, processing_status: status.to } };
  };
  switch (event.type) {
    case 'OrderEdited': {
      const { changes, errorReason, removed } = event.data;
      const own = changes && [changedFields(orderModel, id, { ...changes, processing_status: status })];
      // A part that is added or changed by itself touches its order only where it moves it.
      const touched = own === undefined && (removed !== undefined || status.from !== status.to) ? [order({})] : [];
      const told = errorReason === undefined ? touched : [order({ error_reason: errorReason })];
      return [...(own ?? []), ...partEffects(event.data), ...told];
    }
    case 'OrderApproved': {
      const { approvedAt, approver } = event.data;
      return [order({ approved_at: approvedAt, approved_by: approver.id, error_reason: null })];
    }
    case 'OrderRejected':
    case 'OrderExportFailed':
    case 'OrderExportDelivered': {
      const { reasons } = event.data;
      return [order({ error_reason: reasons.length > 0 ? reasons : null })];
    }
  }
}

const partEffects = ({ added = [], changed = [], removed = [] }: Partial<PartsChange>): readonly RecordEffect[] => [
  ...removed.map(({ table, id, fields }) => ({ ...deleted(table, id), was: fields })),
  ...changed.map(({ table, id, changes }) => changedFields(table, id, changes)),
  ...added.map((part) => created(part.table, part)),
];

const changedFields = (space: string, id: string, changes: Changes): RecordEffect => {
  return { kind: 'patch', space, id: id.toLowerCase(), set: sideOf(changes, 'to'), was: sideOf(changes, 'from') };
};

function ofDelivery(
  event: DeliveryEvent,
  id: string,
  { revision, position, metadata }: ReadEvent,
): readonly RowEffect[] {
  if (event.type === 'DeliveryRequested')
    return [created(DELIVERIES.name, { id, fields: { ...requested(event.data, id), revision, position } })];
  const at = metadata.occurredAt;
  const patch = (set: Fields, attempt?: { readonly number: number; readonly with: object }): RowEffect => ({
    kind: 'patch',
    space: DELIVERIES.name,
    id,
    set: { ...set, revision },
    ...(attempt && { merge: { field: 'attempts', member: String(attempt.number), with: { ...attempt.with } } }),
  });
  switch (event.type) {
    case 'DeliveryAttemptStarted':
      return [patch({ retry_at: null }, { number: event.data.attempt, with: { ...event.data, startedAt: at } })];
    case 'DeliveryAttemptFailed': {
      const { attempt: number, retryAt = null, notSent: _, ...outcome } = event.data;
      // The last attempt fails before the order does, so a failed order has no delivery that seems open.
      const isLast = number >= MAX_DELIVERY_ATTEMPTS;
      const failed = isLast ? { state: 'failed', ended_at: at, ended: position, reason: event.data.reason } : {};
      return [patch({ retry_at: retryAt, ...failed }, { number, with: { ...outcome, endedAt: at, position } })];
    }
    case 'DeliverySucceeded': {
      const { attempt: number, responseBody = null, ...outcome } = event.data;
      const succeeded = { state: 'succeeded', ended_at: at, ended: position, retry_at: null };
      return [patch(succeeded, { number, with: { ...outcome, reason: null, responseBody, endedAt: at, position } })];
    }
    case 'DeliveryFailed':
      return [patch({ state: 'failed', ended_at: at, ended: position, reason: event.data.reason, retry_at: null })];
  }
}

const requested = (subject: DeliverySubject, id: string): Fields => ({
  webhook_id: subject.webhookId,
  message_id: subject.messageId ?? id,
  kind: subject.kind,
  purpose: subject.purpose ?? null,
  order_id: subject.orderId === '' ? null : subject.orderId,
  table: subject.table ?? null,
  sequence: subject.sourceRevision,
  state: 'open',
  attempts: '{}',
});

function ofSync({ type, data }: SyncEvent, table: string, { metadata }: ReadEvent): readonly RowEffect[] {
  const id = uuidOfSync(data.id);
  if (type === 'SyncStarted') return [created(SYNCS.name, { id, fields: { table, started_at: metadata.occurredAt } })];
  return type === 'SyncCommitted' ? [committed(id, data.deleted, data.operationId ?? null)] : [];
}

const committed = (id: string, deleted: number, operation: string | null): RowEffect => {
  return { kind: 'patch', space: SYNCS.name, id, set: { deleted, operation_id: operation } };
};

/** A clean-up with the id of a sync session is its commit. */
function ofSession({ type, data, revision }: ReadEvent): readonly RowEffect[] {
  if (type !== 'TableCleanedUp') return [];
  const { batchId, deleted } = data as TableCleanedUp['data'];
  return isSyncId(batchId) ? [committed(uuidOfSync(batchId), deleted, String(revision))] : [];
}

/** The use of an Idempotency-Key that an event names (decision 0011). */
function ofKey({ stream, revision, position, data, metadata }: ReadEvent): readonly RowEffect[] {
  const { key, occurredAt } = metadata;
  if (key === undefined) return [];
  const { category, rest } = parseStream(stream);
  const { id, added = [] } = data as { readonly id?: string } & Partial<PartsChange>;
  const subject = category === 'order' ? (added[0]?.id ?? rest) : (id ?? null);
  const counts = JSON.stringify(key.counts ?? {});
  const fields = { body: key.body, subject, revision, position, counts, used_at: occurredAt };
  return [created(KEYS.name, { id: key.id, fields })];
}

/** The id of a key: 128 bits of the hash of caller, table and key. @param hash in hex */
export const keyIdOf = (hash: string): string => uuidText(hash.slice(0, 32));

/**
 * In streams of earlier releases: a key was bound to a body and the record that was to be created, then its request was answered.
 * The record that an answer shows is read from the past of its table.
 */
function ofRequest({ type, data, position, metadata }: ReadEvent, hash: string): readonly RowEffect[] {
  const id = keyIdOf(hash);
  if (type === 'RequestAccepted') {
    const { body, id: subject } = data as { readonly body: string; readonly id: string };
    return [created(KEYS.name, { id, fields: { body, subject, used_at: metadata.occurredAt } })];
  }
  const {
    id: subject,
    record: _,
    lists: __,
    left: ___,
    counts,
    ...told
  } = data as { readonly [name: string]: unknown };
  const set = { position, counts: JSON.stringify({ ...(counts as object | undefined), ...told }) };
  return [{ kind: 'patch', space: KEYS.name, id, set: typeof subject === 'string' ? { ...set, subject } : set }];
}

/** Users have no rows; their names in the activity are replaced when it is read. */
function ofErasure({ type, data }: ErasureRecorded): readonly RowEffect[] {
  if (type !== 'ErasureRecorded' || 'userId' in data) return [];
  return [{ kind: 'redact', space: data.table, id: data.id.toLowerCase(), fields: data.fields }];
}
