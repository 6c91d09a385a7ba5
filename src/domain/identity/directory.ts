/** The state of a tenant, evolved from its directory streams: asset types, clients, users, webhooks. */
import { MAX_SESSIONS } from '../limits.js';
import { changedQuotas, type OwnQuotas } from '../quotas.js';
import type { CleanUpGuard } from '../referenceTable/cleanUp.js';
import type { WebhookEventKind } from '../webhook/catalogue.js';
import type { DisabledCause, WebhookEvent, WebhookSettings } from '../webhook/events.js';
import {
  type ApiClient,
  type ChangeOfClient,
  type DirectoryEvent,
  dayOf,
  type OrderModel,
  type RateLimit,
  type SessionEvent,
  type User,
} from './events.js';
import { ownTable, standardTables, type Tables, withOwnField, withRetiredField } from './tenantTables.js';

type WantedAfter = { readonly [kind in WebhookEventKind]?: number };

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
  /** Each kind of event that it wants, and the position since which it has. No time: clocks are put back. */
  readonly wantedAfter: WantedAfter;
  /** When it was last created, changed or enabled. */
  readonly startedAt: string;
};

/** A user's session until it expires. `opened` is gone once it was ended. */
export type Session = {
  readonly expiresAt: string;
  readonly opened?: { readonly at: string; readonly network: string; readonly userAgent: string };
};
type Sessions = ReadonlyMap<string, Session>;

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
  /** By user, the oldest first. */
  readonly sessions: ReadonlyMap<number, Sessions>;
  readonly rateLimit?: RateLimit | undefined;
  readonly cleanUpGuard?: CleanUpGuard | undefined;
  readonly quotas?: OwnQuotas;
  /** Only the name of a deleted tenant is kept: it is not given again. */
  readonly deleted?: true;
};

/** Streams from which the directory is evolved. */
export const DIRECTORY_STREAM_PREFIXES = ['tenant-', 'users-', 'session-', 'clients-', 'client-', 'webhooks-'] as const;

/** A tenant that its owner alone has, so that events change its maps in place. */
export type OwnTenant = {
  -readonly [K in keyof Tenant]: Tenant[K] extends ReadonlyMap<infer Key, infer Value> ? Map<Key, Value> : Tenant[K];
};

export const ownCopy = (tenant: Tenant): OwnTenant => ({
  ...tenant,
  assetTypes: new Map(tenant.assetTypes),
  clients: new Map(tenant.clients),
  users: new Map(tenant.users),
  webhooks: new Map(tenant.webhooks),
  sessions: new Map(tenant.sessions),
});

/** @param change undefined removes it. An unknown key changes nothing */
function change<K, V>(map: Map<K, V>, key: K, change: (value: V) => V | undefined): void {
  const value = map.get(key);
  const changed = value && change(value);
  if (changed !== undefined) map.set(key, changed);
  else map.delete(key);
}

/**
 * The tenant after one more event; undefined before TenantCreated.
 * @param tenant is changed, unless the event cannot be applied
 * @param at time of the event
 * @param position of the event in the log; only webhooks need it
 * @throws Error when the event does not say which table was added
 */
export function evolveTenant(
  tenant: OwnTenant | undefined,
  event: DirectoryEvent,
  at: string,
  position = 0,
): OwnTenant | undefined {
  // A write that was in flight when the tenant was deleted may stand after the deletion in the log.
  if (tenant?.deleted) return tenant;
  if (event.type === 'TenantCreated') return newTenant(event.data);
  if (tenant === undefined) return undefined;
  switch (event.type) {
    case 'TenantDeleted':
      return { ...newTenant(tenant), deleted: true };
    case 'AssetTableAdded': {
      const assetType = ownTable(event.data.assetType);
      tenant.assetTypes.set(assetType.name, assetType);
      break;
    }
    case 'AssetFieldAdded':
      change(tenant.assetTypes, event.data.table, (type) => withOwnField(type, event.data.field));
      break;
    case 'AssetFieldRetired':
      change(tenant.assetTypes, event.data.table, (type) => withRetiredField(type, event.data.field));
      break;
    case 'AssetLabelsChanged':
      change(tenant.assetTypes, event.data.table, (type) => ({ ...type, labels: event.data.labels }));
      break;
    case 'RateLimitChanged':
    case 'RateLimitRemoved':
      tenant.rateLimit = event.type === 'RateLimitChanged' ? event.data : undefined;
      break;
    case 'CleanUpGuardChanged': {
      const { maxPercent, ...least } = event.data;
      tenant.cleanUpGuard = maxPercent === null ? undefined : { maxPercent, ...least };
      break;
    }
    case 'DataErased':
      break;
    case 'QuotasChanged':
      tenant.quotas = changedQuotas(tenant.quotas ?? {}, event.data);
      break;
    case 'UserAdded':
      tenant.users.set(event.data.id, { ...event.data, passwordAt: at });
      tenant.lastUserId = event.data.id;
      break;
    case 'UserChanged': {
      const { id, passwordHash } = event.data;
      const set = passwordHash === undefined ? {} : { passwordAt: at };
      change(tenant.users, id, (user) => ({ ...user, ...event.data, ...set }));
      // Another password ends them all.
      if (passwordHash !== undefined) tenant.sessions.delete(id);
      break;
    }
    case 'UserRemoved':
      tenant.users.delete(event.data.id);
      tenant.sessions.delete(event.data.id);
      break;
    case 'SignedIn':
    case 'SessionEnded':
      tenant.sessions.set(event.data.userId, evolveSessions(tenant.sessions.get(event.data.userId), event, at));
      break;
    case 'ApiClientCreated':
      tenant.clients.set(event.data.clientId, { ...event.data, createdAt: at });
      break;
    case 'ApiClientSecretRegenerated':
    case 'ApiClientSecretStaged':
    case 'ApiClientSecretPromoted':
    case 'ApiClientSecretUnstaged':
    case 'ApiClientUsed':
    case 'ApiClientChanged':
    case 'ApiClientRemoved':
      change(tenant.clients, event.data.clientId, (client) => evolveClient(client, event, at));
      break;
    case 'WebhookCreated': {
      const { id, events } = event.data;
      const begun = { createdAt: at, startedAt: at, wantedAfter: wantedAfter(events, position) };
      tenant.webhooks.set(id, { ...event.data, ...begun });
      break;
    }
    default:
      change(tenant.webhooks, event.data.id, (webhook) => evolveWebhook(webhook, event, at, position));
  }
  return tenant;
}

const DAY_MS = 86_400_000;

/** As the times of events are written. */
const dayBefore = (at: string): string => new Date(Date.parse(at) - DAY_MS).toISOString().replace('Z', '000Z');

function newTenant({ name, displayName, orderModel }: Pick<Tenant, 'name' | 'displayName' | 'orderModel'>): OwnTenant {
  return {
    name,
    displayName,
    orderModel,
    assetTypes: new Map(standardTables(orderModel)),
    clients: new Map(),
    users: new Map(),
    lastUserId: 0,
    webhooks: new Map(),
    sessions: new Map(),
  };
}

function evolveSessions(known: Sessions = new Map(), { type, data }: SessionEvent, at: string): Sessions {
  const { sessionId, expiresAt } = data;
  // Expired sessions need not be remembered, but for a day: the clock of this event may be ahead.
  const sessions = new Map([...known].filter(([, session]) => session.expiresAt > dayBefore(at)));
  if (type === 'SessionEnded') return sessions.set(sessionId, { expiresAt });
  const { network, userAgent } = data;
  // A sign-in that was slow to be noted may stand after the end of its session.
  if (!sessions.has(sessionId)) sessions.set(sessionId, { expiresAt, opened: { at, network, userAgent } });
  const open = [...sessions].filter(([, { opened }]) => opened !== undefined);
  for (const [id, oldest] of open.slice(0, -MAX_SESSIONS)) sessions.set(id, { expiresAt: oldest.expiresAt });
  return sessions;
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
    case 'ApiClientChanged':
      return { ...client, ...event.data };
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
  position: number,
): Webhook | undefined {
  switch (event.type) {
    case 'WebhookChanged': {
      const wanted = wantedAfter(event.data.events ?? webhook.events, position, webhook.wantedAfter);
      return { ...webhook, ...event.data, wantedAfter: wanted, startedAt: at };
    }
    case 'WebhookSecretRegenerated': {
      const until = new Date(Date.parse(at) + ROTATION_MS).toISOString();
      return { ...webhook, ...event.data, otherSecret: { sealed: webhook.sealedSecret, until } };
    }
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

/** A kind that it did not want for a while counts from its return. */
const wantedAfter = (kinds: readonly WebhookEventKind[], position: number, before: WantedAfter = {}): WantedAfter =>
  Object.fromEntries(kinds.map((kind) => [kind, before[kind] ?? position]));
