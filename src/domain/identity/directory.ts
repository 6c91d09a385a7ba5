/** The state of a tenant, evolved from its directory streams: asset types, clients, users, webhooks. */
import { changedQuotas, type OwnQuotas } from '../quotas.js';
import type { CleanUpGuard } from '../referenceTable/cleanUpGuard.js';
import type { WebhookEventKind } from '../webhook/catalogue.js';
import type { DisabledCause, WebhookEvent, WebhookSettings } from '../webhook/events.js';
import {
  type ApiClient,
  type ChangeOfClient,
  type DirectoryEvent,
  dayOf,
  type OrderModel,
  type RateLimit,
  type User,
} from './events.js';
import { ownTable, standardTables, type Tables, withOwnField } from './tenantTables.js';

export type Webhook = WebhookSettings & {
  readonly id: string;
  readonly sealedSecret: string;
  /** Signs beside it in `webhook-signature`, until then. */
  readonly otherSecret?: { readonly sealed: string; readonly until?: string } | undefined;
  /** Set while nothing is sent to it. */
  readonly disabled?: { readonly cause: DisabledCause; readonly reason: string; readonly since: string } | undefined;
  /** Set while it is disabled: events after this position of the log have no deliveries until it is enabled. */
  readonly heldAfter?: number | undefined;
  /** Position of the event that enabled it last. */
  readonly enabledAt?: number | undefined;
  readonly createdAt: string;
  /** Position of the event that created it. */
  readonly createdPosition?: number | undefined;
  /** Kinds of events that it has wanted only since after its creation: the position of the change. */
  readonly addedKinds?: readonly { readonly kind: WebhookEventKind; readonly position: number }[] | undefined;
  /** When it was last created, changed or enabled. */
  readonly startedAt: string;
};

export type Tenant = {
  readonly name: string;
  readonly displayName: string;
  readonly orderModel: OrderModel;
  readonly assetTypes: Tables;
  readonly clients: ReadonlyMap<string, ApiClient>;
  readonly users: ReadonlyMap<number, User>;
  /** Ids are never used twice, so that an old approval keeps its approver. */
  readonly lastUserId: number;
  readonly webhooks: ReadonlyMap<string, Webhook>;
  /** Signed-out sessions by user and session, and when each would have expired (ISO 8601). */
  readonly endedSessions: ReadonlyMap<number, ReadonlyMap<string, string>>;
  readonly rateLimit?: RateLimit | undefined;
  readonly cleanUpGuard?: CleanUpGuard | undefined;
  readonly quotas?: OwnQuotas;
  /** Only the name of a deleted tenant is kept: it is not given again. */
  readonly deleted?: true;
};

/** Streams from which the directory is evolved. */
export const DIRECTORY_STREAM_PREFIXES = ['tenant-', 'users-', 'session-', 'clients-', 'client-', 'webhooks-'] as const;

/** How `evolveTenant` changes the maps of a state: in a copy, since the state before is used elsewhere. */
export type Writable = <Key, Value>(map: ReadonlyMap<Key, Value>) => Map<Key, Value>;

/** For one event. */
export const copied: Writable = (map) => new Map(map);

/**
 * For many events in a row: a map is copied for the first event that changes it, and written to by the others, since nobody
 * sees the states in between. Without this, thousands of events that fill a map would take quadratic time.
 */
export function copiedOnce(): Writable {
  const copies = new Set<unknown>();
  return (map) => {
    if (copies.has(map) && map instanceof Map) return map;
    const copy = new Map(map);
    copies.add(copy);
    return copy;
  };
}

/**
 * The tenant after one more event; undefined before TenantCreated.
 * @param at time of the event
 * @param position of the event in the log; only webhooks need it
 * @throws Error when the event does not say which table was added
 */
export function evolveTenant(
  tenant: Tenant | undefined,
  event: DirectoryEvent,
  at: string,
  writable: Writable = copied,
  position?: number,
): Tenant | undefined {
  /** @param value undefined removes it */
  function withEntry<K, V>(map: ReadonlyMap<K, V>, key: K, value: V | undefined): ReadonlyMap<K, V> {
    const changed = writable(map);
    if (value === undefined) changed.delete(key);
    else changed.set(key, value);
    return changed;
  }
  /** An unknown key changes nothing. */
  function withChanged<K, V>(map: ReadonlyMap<K, V>, key: K, change: (value: V) => V | undefined): ReadonlyMap<K, V> {
    const value = map.get(key);
    return value === undefined ? map : withEntry(map, key, change(value));
  }
  // A write that was in flight when the tenant was deleted may stand after the deletion in the log.
  if (tenant?.deleted) return tenant;
  if (event.type === 'TenantCreated') return newTenant(event.data);
  if (tenant === undefined) return undefined;
  switch (event.type) {
    case 'TenantDeleted':
      return { ...newTenant(tenant), deleted: true };
    case 'AssetTableAdded': {
      const assetType = ownTable(event.data.assetType);
      return { ...tenant, assetTypes: withEntry(tenant.assetTypes, assetType.name, assetType) };
    }
    case 'AssetFieldAdded': {
      const { table, field } = event.data;
      return { ...tenant, assetTypes: withChanged(tenant.assetTypes, table, (type) => withOwnField(type, field)) };
    }
    case 'RateLimitChanged':
      return { ...tenant, rateLimit: event.data };
    case 'RateLimitRemoved':
      return { ...tenant, rateLimit: undefined };
    case 'CleanUpGuardChanged': {
      const { maxPercent, ...least } = event.data;
      return { ...tenant, cleanUpGuard: maxPercent === null ? undefined : { maxPercent, ...least } };
    }
    case 'DataErased':
      return tenant;
    case 'QuotasChanged':
      return { ...tenant, quotas: changedQuotas(tenant.quotas ?? {}, event.data) };
    case 'UserAdded':
      return { ...tenant, users: withEntry(tenant.users, event.data.id, event.data), lastUserId: event.data.id };
    case 'UserChanged':
      return { ...tenant, users: withChanged(tenant.users, event.data.id, (user) => ({ ...user, ...event.data })) };
    case 'UserRemoved': {
      const { id } = event.data;
      return {
        ...tenant,
        users: withEntry(tenant.users, id, undefined),
        endedSessions: withEntry(tenant.endedSessions, id, undefined),
      };
    }
    case 'SessionEnded': {
      const { userId, sessionId, expiresAt } = event.data;
      const known = tenant.endedSessions.get(userId) ?? new Map<string, string>();
      // Expired sessions need not be remembered, but for a day: the clock of this event may be ahead.
      const ended = new Map([...known].filter(([, end]) => end > dayBefore(at))).set(sessionId, expiresAt);
      return { ...tenant, endedSessions: withEntry(tenant.endedSessions, userId, ended) };
    }
    case 'ApiClientCreated':
      return { ...tenant, clients: withEntry(tenant.clients, event.data.clientId, { ...event.data, createdAt: at }) };
    case 'ApiClientSecretRegenerated':
    case 'ApiClientSecretStaged':
    case 'ApiClientSecretPromoted':
    case 'ApiClientSecretUnstaged':
    case 'ApiClientUsed':
    case 'ApiClientRemoved':
      return {
        ...tenant,
        clients: withChanged(tenant.clients, event.data.clientId, (client) => evolveClient(client, event, at)),
      };
    case 'WebhookCreated': {
      const webhook: Webhook = { ...event.data, createdAt: at, startedAt: at, createdPosition: position };
      return { ...tenant, webhooks: withEntry(tenant.webhooks, webhook.id, webhook) };
    }
    default:
      return {
        ...tenant,
        webhooks: withChanged(tenant.webhooks, event.data.id, (webhook) => evolveWebhook(webhook, event, at, position)),
      };
  }
}

const DAY_MS = 86_400_000;

/** As the times of events are written. */
const dayBefore = (at: string): string => new Date(Date.parse(at) - DAY_MS).toISOString().replace('Z', '000Z');

function newTenant({ name, displayName, orderModel }: Pick<Tenant, 'name' | 'displayName' | 'orderModel'>): Tenant {
  return {
    name,
    displayName,
    orderModel,
    assetTypes: standardTables(orderModel),
    clients: new Map(),
    users: new Map(),
    lastUserId: 0,
    webhooks: new Map(),
    endedSessions: new Map(),
  };
}

/** undefined when it was removed. */
function evolveClient(client: ApiClient, event: ChangeOfClient, at: string): ApiClient | undefined {
  const { secretHash, previous } = client;
  switch (event.type) {
    case 'ApiClientSecretRegenerated': {
      const { secretHash: made, oldEndsAt: endsAt } = event.data;
      return { ...client, secretHash: made, previous: endsAt === undefined ? undefined : { secretHash, endsAt } };
    }
    case 'ApiClientSecretStaged':
      return { ...client, secretHash: event.data.secretHash, previous: { secretHash } };
    case 'ApiClientSecretPromoted':
      return { ...client, previous: undefined };
    case 'ApiClientSecretUnstaged':
      return { ...client, secretHash: previous?.secretHash ?? secretHash, previous: undefined };
    case 'ApiClientUsed':
      return { ...client, lastUsed: dayOf(at) };
    case 'ApiClientRemoved':
      return undefined;
  }
}

/** How long the secret before signs beside a new one. */
const ROTATION_MS = 24 * 3_600_000;

/** undefined when it was removed. */
function evolveWebhook(
  webhook: Webhook,
  event: Exclude<WebhookEvent, { type: 'WebhookCreated' }>,
  at: string,
  position: number | undefined,
): Webhook | undefined {
  switch (event.type) {
    case 'WebhookChanged':
      return {
        ...webhook,
        ...event.data,
        addedKinds: addedKinds(webhook, event.data.events, position),
        startedAt: at,
      };
    case 'WebhookSecretRegenerated':
      return {
        ...webhook,
        sealedSecret: event.data.sealedSecret,
        otherSecret: { sealed: webhook.sealedSecret, until: new Date(Date.parse(at) + ROTATION_MS).toISOString() },
      };
    case 'WebhookSecretStaged':
      return { ...webhook, otherSecret: { sealed: event.data.sealedSecret } };
    case 'WebhookSecretPromoted':
      return { ...webhook, sealedSecret: webhook.otherSecret?.sealed ?? webhook.sealedSecret, otherSecret: undefined };
    case 'WebhookSecretUnstaged':
      return { ...webhook, otherSecret: undefined };
    case 'WebhookSecretsResealed': {
      const { sealedSecret = webhook.sealedSecret, sealedStagedSecret: sealed } = event.data;
      return { ...webhook, sealedSecret, otherSecret: sealed === undefined ? webhook.otherSecret : { sealed } };
    }
    case 'WebhookDisabled': {
      const { cause, reason } = event.data;
      return { ...webhook, disabled: { cause, reason, since: at }, heldAfter: position };
    }
    case 'WebhookEnabled':
      return { ...webhook, disabled: undefined, heldAfter: undefined, startedAt: at, enabledAt: position };
    case 'WebhookBackfillRequested':
      return webhook;
    case 'WebhookRemoved':
      return undefined;
  }
}

/** @param kinds that it wants from now on. A kind that it did not want for a while counts from its return. */
function addedKinds(webhook: Webhook, kinds = webhook.events, position = 0): Webhook['addedKinds'] {
  const { events: before, addedKinds: addedBefore = [] } = webhook;
  const kept = addedBefore.filter(({ kind }) => before.includes(kind) && kinds.includes(kind));
  return [...kept, ...kinds.filter((kind) => !before.includes(kind)).map((kind) => ({ kind, position }))];
}

/**
 * Position in the log after which a webhook wants a kind of event that it wants now. A position and no time: clocks are put
 * back, and those of processes differ.
 */
export const wantedAfter = ({ addedKinds: added, createdPosition }: Webhook, kind: WebhookEventKind): number =>
  added?.find((each) => each.kind === kind)?.position ?? createdPosition ?? 0;
