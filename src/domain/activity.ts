/**
 * What an event tells an auditor: who did what, when, and on what. The one place that reads events for this; it says nothing
 * of secrets, nor of the values of records.
 */
import { ACTIVITIES, type ActivityKind, type ReadEvent } from './eventTypes.js';
import type { AccessEvent, DirectoryEvent } from './identity/events.js';
import { type OrderEvent, type StatusChange, toldAs } from './order/events.js';
import type { ReferenceTableEvent, SyncEvent } from './referenceTable/events.js';
import { parseStream } from './streams.js';
import type { DeliveryEvent } from './webhook/events.js';

/** Names of changed fields that an entry of the activity has. */
const MAX_NAMED_FIELDS = 20;

/** What has an id of its own besides orders. */
export const SUBJECT_KINDS = ['record', 'webhook', 'client', 'user'] as const;
type SubjectKind = (typeof SUBJECT_KINDS)[number];

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
  readonly table?: string | undefined;
  readonly orderId?: string | undefined;
  /** A record or a part of an order, in `table`; or a webhook, an API client, a user. */
  readonly subject?: { readonly kind: SubjectKind; readonly id: string } | undefined;
  /** Records that a batch, clean-up or undo changed, or parts of an order. */
  readonly counts?: Counts | undefined;
  /** Names of changed fields, at most MAX_NAMED_FIELDS of them. */
  readonly fields?: readonly string[] | undefined;
  /** A few words more: names, roles, scopes, statuses. Never secrets. */
  readonly details?: { readonly [name: string]: unknown } | undefined;
};
type Told = Partial<Activity>;

/**
 * What the event tells; undefined if it is no activity.
 * @param orderModel the table of the tenant's orders
 * @param counts of the rows that it changed
 */
export function activityOf(event: ReadEvent, orderModel: string, counts: Counts): Activity | undefined {
  const kind = ACTIVITIES.get(toldAs(event));
  const told = kind && toldOf(event, orderModel, counts);
  return told && { kind, ...told };
}

type ToldEvent = OrderEvent | ReferenceTableEvent | SyncEvent | DeliveryEvent | AccessEvent | DirectoryEvent;

function toldOf({ stream, metadata, ...read }: ReadEvent, orderModel: string, counts: Counts): Told | undefined {
  const { rest } = parseStream(stream);
  const { type, data } = read as ToldEvent;
  const order = { table: orderModel, orderId: rest };
  switch (type) {
    case 'RecordCreated':
      return { table: rest, subject: of('record', data.id) };
    case 'RecordDeleted':
      return { table: rest, subject: of('record', data.id), counts };
    case 'RecordChanged':
      return { table: rest, subject: of('record', data.id), fields: namesIn(data.set) };
    case 'BatchUpserted':
    case 'BatchUndone':
    case 'TableCleanedUp': {
      const batch_ids = typeof data.batchId === 'string' ? [data.batchId] : [];
      const undoes = 'undoes' in data && data.undoes !== undefined ? String(data.undoes) : undefined;
      return { ...(undoes && { kind: 'table.undo' }), table: rest, counts, details: { batch_ids, undoes } };
    }
    case 'SyncFailed':
      return { table: rest, details: { batch_ids: [data.id], reason: data.reason } };
    case 'SyncStarted':
    case 'SyncCommitted':
      // The clean-up of a commit is told.
      if ('operationId' in data && data.operationId !== undefined) return undefined;
      return { table: rest, details: { batch_ids: [data.id] } };
    case 'OrderCreated':
    case 'OrderCreatedWithParts':
      return { ...order, counts: data.parts && countsOf(data.parts), details: { status: data.status } };
    case 'OrderEdited': {
      const { changes, added = [], changed = [], removed, errorReason } = data;
      const [part] = (changes ?? removed) ? [] : [...added, ...changed];
      return {
        ...(part ? { table: part.table, orderId: rest, subject: of('record', part.id) } : order),
        counts: removed && countsOf(added, changed, removed),
        fields: namesIn(changes ?? (part && 'changes' in part ? part.changes : {})),
        details: (changes ?? errorReason) === undefined ? undefined : moved(data),
      };
    }
    case 'OrderApproved':
    case 'OrderRejected':
    case 'OrderExportFailed':
    case 'OrderExportDelivered':
    case 'OrderExportHeld':
      return { ...order, details: moved(data) };
    case 'OrderExported':
      return { table: orderModel, orderId: data.orderId };
    case 'DeliveryRequested': {
      // The relay and backfills request all others: their events, and the request for the backfill, are told.
      if (metadata.actor.kind === 'system') return undefined;
      const { webhookId, orderId, purpose, kind: event, table } = data;
      return { subject: of('webhook', webhookId), orderId: orderId || undefined, table, details: { purpose, event } };
    }
    case 'SignedIn':
    case 'SessionEnded':
      return { subject: of('user', data.userId) };
    case 'SignInRefused': {
      const { userId, network, times } = data;
      return { subject: userId === null ? undefined : of('user', userId), details: { network, times } };
    }
    case 'RequestRefused':
      return { subject: of('user', data.userId), details: { needs_role: data.roles, times: data.times } };
    case 'TenantCreated':
      return { details: { name: data.displayName } };
    case 'AssetTableAdded':
      return { table: data.assetType.name };
    case 'AssetFieldAdded':
      return { table: data.table, fields: [data.field.name] };
    case 'AssetFieldRetired':
      return { table: data.table, fields: [data.field] };
    case 'AssetLabelsChanged':
      return { table: data.table };
    case 'RateLimitChanged':
    case 'CleanUpGuardChanged':
    case 'QuotasChanged':
      return { details: data };
    case 'DataErased': {
      const about = { fields: first(data.fields), details: { reason: data.reason } };
      if ('userId' in data) return { ...about, subject: of('user', data.userId) };
      const { table, id, orderId } = data;
      return { ...about, table, orderId, subject: orderId === id ? undefined : of('record', id) };
    }
    case 'RateLimitRemoved':
      return {};
    case 'UserAdded': {
      const { id, firstName, lastName, roles } = data;
      return { subject: of('user', id), details: { name: `${firstName} ${lastName}`, roles } };
    }
    case 'UserChanged': {
      const { id, passwordHash, mustChangePassword: _, ...changed } = data;
      const fields = [...Object.keys(changed).map(asShown), ...(passwordHash === undefined ? [] : ['password'])];
      return { subject: of('user', id), fields, details: changed.roles && { roles: changed.roles } };
    }
    case 'UserRemoved':
      return { subject: of('user', data.id) };
    case 'ApiClientCreated':
      return { subject: of('client', data.clientId), details: { name: data.name, scopes: data.scopes } };
    case 'WebhookCreated':
      return { subject: of('webhook', data.id), details: { name: data.name, events: data.events } };
    case 'WebhookChanged': {
      const { id, ...changed } = data;
      return { subject: of('webhook', id), fields: first(Object.keys(changed).map(asShown)) };
    }
    case 'WebhookDisabled':
      return { subject: of('webhook', data.id), details: { cause: data.cause, reason: data.reason } };
    default: {
      // Other changes of a client or a webhook.
      const about = data as { readonly clientId?: string; readonly id: string };
      return { subject: about.clientId === undefined ? of('webhook', about.id) : of('client', about.clientId) };
    }
  }
}

const of = (kind: SubjectKind, id: string | number) => ({ kind, id: String(id) });
const first = (names: readonly string[]): readonly string[] => names.slice(0, MAX_NAMED_FIELDS);
const namesIn = (fields: object): readonly string[] => first(Object.keys(fields));
const moved = ({ status }: { readonly status: StatusChange }) => ({ status_from: status.from, status_to: status.to });

type Entries = readonly unknown[];
const countsOf = (added: Entries, changed: Entries = [], removed: Entries = []): Counts => {
  return { created: added.length, updated: changed.length, seen: 0, deleted: removed.length };
};

/** The name in the API: `firstName` is `first_name` there. */
const asShown = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
