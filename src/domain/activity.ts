/**
 * What an event tells an auditor: who did what, when, and on what. The one place that reads events for this; it says nothing
 * of secrets, nor of the values of records.
 */
import type { EventOf } from './eventTypes.js';
import type { AccessEvent, DirectoryEvent } from './identity/events.js';
import { MAX_NAMED_FIELDS } from './limits.js';
import type { OrderEvent } from './order/events.js';
import type { ReferenceTableEvent } from './referenceTable/events.js';
import type { SyncEvent } from './referenceTable/sync.js';
import { parseStream } from './streams.js';
import type { DeliverySubject } from './webhook/events.js';

/** Kinds by type of event. Types that are not here are no activity: nobody asked for them, or another event tells of them. */
const KINDS = {
  TenantCreated: 'tenant.created',
  AssetTableAdded: 'table.added',
  AssetFieldAdded: 'table.field_added',
  RateLimitChanged: 'settings.rate_limit_changed',
  RateLimitRemoved: 'settings.rate_limit_removed',
  CleanUpGuardChanged: 'settings.clean_up_guard_changed',
  QuotasChanged: 'settings.quotas_changed',
  DataErased: 'data.erased',
  UserAdded: 'user.added',
  UserChanged: 'user.changed',
  UserRemoved: 'user.removed',
  SignedIn: 'session.opened',
  SessionEnded: 'session.ended',
  SignInRefused: 'session.refused',
  RequestRefused: 'request.refused',
  ApiClientCreated: 'client.created',
  ApiClientSecretRegenerated: 'client.secret_regenerated',
  ApiClientSecretStaged: 'client.secret_staged',
  ApiClientSecretPromoted: 'client.secret_promoted',
  ApiClientSecretUnstaged: 'client.secret_unstaged',
  ApiClientUsed: 'client.used',
  ApiClientRemoved: 'client.removed',
  WebhookCreated: 'webhook.created',
  WebhookChanged: 'webhook.changed',
  WebhookSecretRegenerated: 'webhook.secret_regenerated',
  WebhookSecretStaged: 'webhook.secret_staged',
  WebhookSecretPromoted: 'webhook.secret_promoted',
  WebhookSecretUnstaged: 'webhook.secret_unstaged',
  WebhookSecretsResealed: 'webhook.secrets_resealed',
  WebhookDisabled: 'webhook.disabled',
  WebhookEnabled: 'webhook.enabled',
  WebhookBackfillRequested: 'webhook.backfill_requested',
  WebhookRemoved: 'webhook.removed',
  RecordCreated: 'record.created',
  RecordChanged: 'record.changed',
  BatchUpserted: 'table.batch',
  BatchUndone: 'table.undo',
  TableCleanedUp: 'table.clean_up',
  SyncStarted: 'sync.started',
  SyncFailed: 'sync.failed',
  SyncCommitted: 'sync.committed',
  OrderCreated: 'order.created',
  OrderCreatedWithParts: 'order.created',
  OrderChanged: 'order.changed',
  OrderPartAdded: 'order.part_added',
  OrderPartChanged: 'order.part_changed',
  OrderPartsChanged: 'order.parts_changed',
  OrderStatusChanged: 'order.status_changed',
  OrderApproved: 'order.approved',
  OrderRejected: 'order.rejected',
  OrderExportFailed: 'order.export_failed',
  OrderExportDelivered: 'order.export_delivered',
  OrderExportHeld: 'order.export_held',
  OrderExported: 'order.exported',
  DeliveryRequested: 'delivery.requested',
} as const;

export type ActivityKind = (typeof KINDS)[keyof typeof KINDS];
export const ACTIVITY_KINDS: readonly ActivityKind[] = [...new Set(Object.values(KINDS))];

/** What has an id of its own besides orders. */
export const SUBJECT_KINDS = ['record', 'webhook', 'client', 'user'] as const;
export type SubjectKind = (typeof SUBJECT_KINDS)[number];

/** How many records the event created, updated and so on. */
export type Counts = {
  readonly created: number;
  readonly updated: number;
  /** Sent again unchanged, and now of this batch. */
  readonly seen: number;
  readonly deleted: number;
};

/** What is not set does not apply. */
export type Activity = {
  readonly kind: ActivityKind;
  readonly table?: string;
  readonly orderId?: string;
  /** A record or a part of an order, in `table`; or a webhook, an API client, a user. */
  readonly subject?: { readonly kind: SubjectKind; readonly id: string };
  /** Records that a batch, clean-up or undo changed, or parts of an order. */
  readonly counts?: Counts;
  /** Names of changed fields, at most MAX_NAMED_FIELDS of them. */
  readonly fields?: readonly string[];
  /** A few words more: names, roles, scopes, statuses. Never secrets. */
  readonly details?: { readonly [name: string]: unknown };
};

/** An event as far as it is read here. `data` is upcast. */
type ReadEvent = EventOf<string, unknown> & {
  readonly stream: string;
  readonly metadata: { readonly actor: { readonly kind: string } };
};

type KnownEvent =
  | DirectoryEvent
  | AccessEvent
  | ReferenceTableEvent
  | SyncEvent
  | OrderEvent
  | EventOf<'DeliveryRequested', DeliverySubject>;

/**
 * What the event tells; undefined if it is no activity.
 * @param orderModel the table of the tenant's orders
 * @param counts of the rows that it changed
 */
export function activityOf(event: ReadEvent, orderModel: string, counts: Counts): Activity | undefined {
  if (!Object.hasOwn(KINDS, event.type)) return undefined;
  const known = { type: event.type, data: event.data } as KnownEvent;
  const { category, rest } = parseStream(event.stream);
  switch (category) {
    case 'order':
      return ofOrder(known as OrderEvent, orderModel, rest);
    case 'table':
      return ofTable(known as ReferenceTableEvent, rest, counts);
    case 'sync':
      return ofSync(known as SyncEvent, rest);
    case 'delivery':
      // The relay and backfills request all others: their events, and the request for the backfill, are told.
      return event.metadata.actor.kind === 'system' ? undefined : ofDelivery(event.data as DeliverySubject);
    case 'access':
      return ofAccess(known as AccessEvent, orderModel);
    default:
      return ofSettings(known as DirectoryEvent);
  }
}

const named = (names: Iterable<string>): Pick<Activity, 'fields'> => ({
  fields: [...names].slice(0, MAX_NAMED_FIELDS),
});
const of = (kind: SubjectKind, id: string | number): Pick<Activity, 'subject'> => ({
  subject: { kind, id: String(id) },
});
const namesIn = (fields: object): Pick<Activity, 'fields'> => named(Object.keys(fields));

function ofTable(event: ReferenceTableEvent, table: string, counts: Counts): Activity {
  const kind = KINDS[event.type];
  if (event.type === 'RecordCreated') return { kind, table, ...of('record', event.data.id) };
  if (event.type === 'RecordChanged')
    return { kind, table, ...of('record', event.data.id), ...namesIn(event.data.set) };
  const { batchId } = event.data;
  const undoes = event.type === 'TableCleanedUp' ? undefined : event.data.undoes;
  const batches = typeof batchId === 'string' ? [batchId] : [];
  const details = { batch_ids: batches, ...(undoes === undefined ? {} : { undoes: String(undoes) }) };
  return { kind: undoes === undefined ? kind : 'table.undo', table, counts, details };
}

function ofSync(event: SyncEvent, table: string): Activity | undefined {
  if (event.type === 'SyncClosed') return undefined;
  // Its clean-up is told.
  if (event.type === 'SyncCommitted' && event.data.operationId !== undefined) return undefined;
  const reason = event.type === 'SyncFailed' ? { reason: event.data.reason } : {};
  return { kind: KINDS[event.type], table, details: { batch_ids: [event.data.id], ...reason } };
}

function ofOrder(event: OrderEvent, orderModel: string, orderId: string): Activity {
  const kind = KINDS[event.type];
  const order = { kind, table: orderModel, orderId };
  switch (event.type) {
    case 'OrderCreated':
      return { ...order, details: { status: event.data.status } };
    case 'OrderCreatedWithParts': {
      const counts = { created: event.data.parts.length, updated: 0, seen: 0, deleted: 0 };
      return { ...order, counts, details: { status: event.data.status } };
    }
    case 'OrderPartAdded':
      return { kind, table: event.data.table, orderId, ...of('record', event.data.id) };
    case 'OrderPartChanged': {
      const { table, id, changes } = event.data;
      return { kind, table, orderId, ...of('record', id), ...namesIn(changes) };
    }
    case 'OrderPartsChanged': {
      const { added, changed, removed } = event.data;
      const counts = { created: added.length, updated: changed.length, seen: 0, deleted: removed.length };
      return { ...order, counts };
    }
    case 'OrderChanged':
      return { ...order, ...namesIn(event.data.changes), ...moved(event.data.status) };
    default:
      return { ...order, ...moved(event.data.status) };
  }
}

const moved = ({ from, to }: { readonly from: string; readonly to: string }): Pick<Activity, 'details'> => ({
  details: { status_from: from, status_to: to },
});

function ofDelivery({ webhookId, orderId, purpose, kind: event, table }: DeliverySubject): Activity {
  return {
    kind: KINDS.DeliveryRequested,
    ...of('webhook', webhookId),
    ...(orderId === '' ? {} : { orderId }),
    ...(table === undefined ? {} : { table }),
    details: { purpose, event },
  };
}

function ofAccess(event: AccessEvent, orderModel: string): Activity {
  const kind = KINDS[event.type];
  if (event.type === 'OrderExported') return { kind, table: orderModel, orderId: event.data.orderId };
  const { userId } = event.data;
  const whom = userId === null ? {} : of('user', userId);
  switch (event.type) {
    case 'SignedIn':
      return { kind, ...whom };
    case 'SignInRefused':
      return { kind, ...whom, details: { network: event.data.network, times: event.data.times } };
    case 'RequestRefused':
      return { kind, ...whom, details: { needs_role: event.data.roles, times: event.data.times } };
  }
}

function ofSettings(event: DirectoryEvent): Activity | undefined {
  // It takes the activity with it.
  if (event.type === 'TenantDeleted') return undefined;
  const kind = KINDS[event.type];
  switch (event.type) {
    case 'TenantCreated':
      return { kind, details: { name: event.data.displayName } };
    case 'AssetTableAdded':
      return { kind, table: event.data.assetType.name };
    case 'AssetFieldAdded':
      return { kind, table: event.data.table, ...named([event.data.field.name]) };
    case 'RateLimitChanged':
    case 'CleanUpGuardChanged':
    case 'QuotasChanged':
      return { kind, details: event.data };
    case 'RateLimitRemoved':
      return { kind };
    case 'DataErased':
      return ofErasure(event.data);
    case 'UserAdded': {
      const { id, firstName, lastName, roles } = event.data;
      return { kind, ...of('user', id), details: { name: `${firstName} ${lastName}`, roles } };
    }
    case 'UserChanged':
      return { kind, ...of('user', event.data.id), ...changedOfUser(event.data) };
    case 'UserRemoved':
      return { kind, ...of('user', event.data.id) };
    case 'SessionEnded':
      return { kind, ...of('user', event.data.userId) };
    case 'ApiClientCreated': {
      const { clientId, name, scopes } = event.data;
      return { kind, ...of('client', clientId), details: { name, scopes } };
    }
    case 'ApiClientSecretRegenerated':
    case 'ApiClientSecretStaged':
    case 'ApiClientSecretPromoted':
    case 'ApiClientSecretUnstaged':
    case 'ApiClientUsed':
    case 'ApiClientRemoved':
      return { kind, ...of('client', event.data.clientId) };
    case 'WebhookCreated':
      return { kind, ...of('webhook', event.data.id), details: { name: event.data.name, events: event.data.events } };
    case 'WebhookChanged': {
      const { id, ...changed } = event.data;
      return { kind, ...of('webhook', id), ...named(Object.keys(changed).map(asShown)) };
    }
    case 'WebhookDisabled': {
      const { id, cause, reason } = event.data;
      return { kind, ...of('webhook', id), details: { cause, reason } };
    }
    default:
      return { kind, ...of('webhook', event.data.id) };
  }
}

function ofErasure(erased: Extract<DirectoryEvent, { type: 'DataErased' }>['data']): Activity {
  const { fields, reason } = erased;
  const about = { kind: KINDS.DataErased, ...named(fields), details: { reason } };
  if ('userId' in erased) return { ...about, ...of('user', erased.userId) };
  const { table, id, orderId } = erased;
  const order = orderId === undefined ? {} : { orderId };
  return { ...about, table, ...order, ...(orderId === id ? {} : of('record', id)) };
}

function changedOfUser({
  id: _,
  passwordHash,
  mustChangePassword: __,
  ...changed
}: Extract<DirectoryEvent, { type: 'UserChanged' }>['data']): Pick<Activity, 'fields' | 'details'> {
  const fields = [...Object.keys(changed).map(asShown), ...(passwordHash === undefined ? [] : ['password'])];
  return { fields, ...(changed.roles === undefined ? {} : { details: { roles: changed.roles } }) };
}

/** The name in the API: `firstName` is `first_name` there. */
const asShown = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
