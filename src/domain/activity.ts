/**
 * What an event tells an auditor: who did what, when, and on what. The one place that reads events for this; it says nothing
 * of secrets, nor of the values of records.
 */
import { ACTIVITIES, type ActivityKind, type EventOf } from './eventTypes.js';
import type { AccessEvent, DirectoryEvent } from './identity/events.js';
import type { OrderEvent } from './order/events.js';
import type { ReferenceTableEvent } from './referenceTable/events.js';
import type { SyncEvent } from './referenceTable/sync.js';
import { parseStream } from './streams.js';
import type { DeliverySubject } from './webhook/events.js';

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
type Told = Partial<Activity>;

/** An event as far as it is read here. */
type ReadEvent = EventOf<string, unknown> & {
  readonly stream: string;
  readonly metadata: { readonly actor: { readonly kind: string } };
};

/**
 * What the event tells; undefined if it is no activity.
 * @param orderModel the table of the tenant's orders
 * @param counts of the rows that it changed
 */
export function activityOf(event: ReadEvent, orderModel: string, counts: Counts): Activity | undefined {
  const kind = ACTIVITIES.get(event.type);
  const told = kind && toldOf(event, orderModel, counts);
  return told && { kind, ...told };
}

function toldOf(event: ReadEvent, orderModel: string, counts: Counts): Told | undefined {
  const { category, rest } = parseStream(event.stream);
  const typed: unknown = { type: event.type, data: event.data };
  switch (category) {
    case 'order':
      return ofOrder(typed as OrderEvent, orderModel, rest);
    case 'table':
      return ofTable(typed as ReferenceTableEvent, rest, counts);
    case 'sync':
      return ofSync(typed as SyncEvent, rest);
    case 'delivery':
      // The relay and backfills request all others: their events, and the request for the backfill, are told.
      return event.metadata.actor.kind === 'system' ? undefined : ofDelivery(event.data as DeliverySubject);
    case 'access':
      return ofAccess(typed as AccessEvent, orderModel);
    default: {
      const subject = SUBJECTS[category];
      const id = subject && (event.data as { readonly [name: string]: string | number })[subject.id];
      return { ...(id !== undefined && subject && of(subject.kind, id)), ...ofSettings(typed as DirectoryEvent) };
    }
  }
}

/** Whom the events of a category of streams are about, and the member of their data that has the id. */
const SUBJECTS: { readonly [category: string]: { readonly kind: SubjectKind; readonly id: string } } = {
  users: { kind: 'user', id: 'id' },
  session: { kind: 'user', id: 'userId' },
  clients: { kind: 'client', id: 'clientId' },
  client: { kind: 'client', id: 'clientId' },
  webhooks: { kind: 'webhook', id: 'id' },
};

const of = (kind: SubjectKind, id: string | number): Told => ({ subject: { kind, id: String(id) } });
const named = (names: readonly string[]): Told => ({ fields: names.slice(0, MAX_NAMED_FIELDS) });
const namesIn = (fields: object): Told => named(Object.keys(fields));

function ofTable({ type, data }: ReferenceTableEvent, table: string, counts: Counts): Told {
  if (type === 'RecordCreated') return { table, ...of('record', data.id) };
  if (type === 'RecordChanged') return { table, ...of('record', data.id), ...namesIn(data.set) };
  const undoes = type === 'TableCleanedUp' ? undefined : data.undoes;
  const batchIds = typeof data.batchId === 'string' ? [data.batchId] : [];
  const details = { batch_ids: batchIds, ...(undoes === undefined ? {} : { undoes: String(undoes) }) };
  return { ...(undoes === undefined ? {} : { kind: 'table.undo' }), table, counts, details };
}

function ofSync({ type, data }: SyncEvent, table: string): Told | undefined {
  // The clean-up of a commit is told.
  if (type === 'SyncCommitted' && data.operationId !== undefined) return undefined;
  return { table, details: { batch_ids: [data.id], ...(type === 'SyncFailed' ? { reason: data.reason } : {}) } };
}

function ofOrder({ type, data }: OrderEvent, orderModel: string, orderId: string): Told {
  const order = { table: orderModel, orderId };
  switch (type) {
    case 'OrderCreated':
      return { ...order, details: { status: data.status } };
    case 'OrderCreatedWithParts':
      return { ...order, counts: countsOf(data.parts), details: { status: data.status } };
    case 'OrderPartAdded':
      return { table: data.table, orderId, ...of('record', data.id) };
    case 'OrderPartChanged':
      return { table: data.table, orderId, ...of('record', data.id), ...namesIn(data.changes) };
    case 'OrderPartsChanged':
      return { ...order, counts: countsOf(data.added, data.changed, data.removed) };
    default: {
      const changed = type === 'OrderChanged' ? namesIn(data.changes) : {};
      return { ...order, ...changed, details: { status_from: data.status.from, status_to: data.status.to } };
    }
  }
}

type Parts = readonly unknown[];
const countsOf = (added: Parts, changed: Parts = [], removed: Parts = []): Counts => ({
  created: added.length,
  updated: changed.length,
  seen: 0,
  deleted: removed.length,
});

const ofDelivery = ({ webhookId, orderId, purpose, kind: event, table }: DeliverySubject): Told => ({
  ...of('webhook', webhookId),
  ...(orderId === '' ? {} : { orderId }),
  ...(table === undefined ? {} : { table }),
  details: { purpose, event },
});

function ofAccess({ type, data }: AccessEvent, orderModel: string): Told {
  if (type === 'OrderExported') return { table: orderModel, orderId: data.orderId };
  const whom = data.userId === null ? {} : of('user', data.userId);
  switch (type) {
    case 'SignedIn':
      return whom;
    case 'SignInRefused':
      return { ...whom, details: { network: data.network, times: data.times } };
    case 'RequestRefused':
      return { ...whom, details: { needs_role: data.roles, times: data.times } };
  }
}

/** Besides whom it is about. */
function ofSettings({ type, data }: DirectoryEvent): Told {
  switch (type) {
    case 'TenantCreated':
      return { details: { name: data.displayName } };
    case 'AssetTableAdded':
      return { table: data.assetType.name };
    case 'AssetFieldAdded':
      return { table: data.table, fields: [data.field.name] };
    case 'RateLimitChanged':
    case 'CleanUpGuardChanged':
    case 'QuotasChanged':
      return { details: data };
    case 'DataErased': {
      const about = { ...named(data.fields), details: { reason: data.reason } };
      if ('userId' in data) return { ...about, ...of('user', data.userId) };
      const { table, id, orderId } = data;
      const order = orderId === undefined ? {} : { orderId };
      return { ...about, table, ...order, ...(orderId === id ? {} : of('record', id)) };
    }
    case 'UserAdded':
      return { details: { name: `${data.firstName} ${data.lastName}`, roles: data.roles } };
    case 'UserChanged': {
      const { id: _, passwordHash, mustChangePassword: __, ...changed } = data;
      const fields = [...Object.keys(changed).map(asShown), ...(passwordHash === undefined ? [] : ['password'])];
      return { fields, ...(changed.roles === undefined ? {} : { details: { roles: changed.roles } }) };
    }
    case 'ApiClientCreated':
      return { details: { name: data.name, scopes: data.scopes } };
    case 'WebhookCreated':
      return { details: { name: data.name, events: data.events } };
    case 'WebhookChanged': {
      const { id: _, ...changed } = data;
      return named(Object.keys(changed).map(asShown));
    }
    case 'WebhookDisabled':
      return { details: { cause: data.cause, reason: data.reason } };
    default:
      return {};
  }
}

/** The name in the API: `firstName` is `first_name` there. */
const asShown = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
