/** Events about a tenant and who may use it: streams `tenant-`, `users-`, `clients-` and `webhooks-<tenant>`, `session-<tenant>.<id>`, `client-<tenant>.<id>` and `access-<tenant>`. */
import type { AssetField, AssetType, TableLabels } from '../assetTypes/assetType.js';
import type { EventOf } from '../eventTypes.js';
import type { Quota } from '../quotas.js';
import type { WebhookEvent } from '../webhook/events.js';
import type { Role, Scope } from './scopes.js';

export const ORDER_MODELS = ['dyn_stock_order', 'dyn_transport_order'] as const;
export type OrderModel = (typeof ORDER_MODELS)[number];

export type RateLimit = {
  /** Requests a second that a client may sustain. */
  readonly perSecond: number;
  /** Requests that a client may make at once after a pause. */
  readonly burst: number;
};

export type TenantEvent =
  | EventOf<'TenantCreated', { readonly name: string; readonly displayName: string; readonly orderModel: OrderModel }>
  | EventOf<'AssetFieldAdded', { readonly table: string; readonly field: AssetField }>
  | EventOf<'AssetFieldRetired', { readonly table: string; readonly field: string }>
  | EventOf<'AssetTableAdded', { readonly assetType: AssetType }>
  | EventOf<'AssetLabelsChanged', { readonly table: string; readonly labels: TableLabels }>
  | EventOf<'RateLimitChanged', RateLimit>
  /** The operator's limit applies again. */
  | EventOf<'RateLimitRemoved', Record<string, never>>
  /** null: clean-ups are no longer guarded. Events of earlier releases have no `minRecords`. */
  | EventOf<'CleanUpGuardChanged', { readonly maxPercent: number | null; readonly minRecords?: number }>
  /** Only what changed; null: the installation's quota counts again. 0: no limit. */
  | EventOf<'QuotasChanged', { readonly [quota in Quota]?: number | null }>
  /** A record, an order or a part of one (`orderId`), or a user: what was written before is no longer shown. */
  | EventOf<
      'DataErased',
      { readonly fields: readonly string[]; readonly reason: string } & (
        | { readonly table: string; readonly id: string; readonly orderId?: string }
        | { readonly userId: number }
      )
    >
  /** No other event of the tenant counts, before it or after it, and its name is not given again. */
  | EventOf<'TenantDeleted', { readonly name: string }>;

export type User = {
  readonly id: number;
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly locale: string;
  readonly roles: readonly Role[];
  readonly passwordHash: string;
  /** An admin knows the password: the user has to change it before anything else. */
  readonly mustChangePassword?: boolean;
  /** When the password was set: the time of the event, which does not have it. */
  readonly passwordAt?: string;
};

type UserEvent =
  | EventOf<'UserAdded', User>
  /** Only what changed. */
  | EventOf<'UserChanged', Pick<User, 'id'> & Partial<Omit<User, 'email'>>>
  | EventOf<'UserRemoved', Pick<User, 'id'>>;

export type SessionOf = { readonly userId: number; readonly sessionId: string; readonly expiresAt: string };

/** `expiresAt` is when the session would expire (ISO 8601). In the session's own stream. */
export type SessionEvent =
  /** Earlier releases have it in `access-<tenant>`, with the ids alone. */
  | EventOf<'SignedIn', SessionOf & { readonly network: string; readonly userAgent: string }>
  | EventOf<'SessionEnded', SessionOf>;

/** In the stream `access-<tenant>`: what nothing else in the log tells of. What is refused is counted, so that nobody can fill the log by being refused. */
export type AccessEvent =
  /** `userId`: null for names that no user has, which are not kept: a person may have typed a password there. */
  | EventOf<'SignInRefused', { readonly userId: number | null; readonly network: string; readonly times: number }>
  /** Somebody took an order with its proofs out of the service. */
  | EventOf<'OrderExported', { readonly orderId: string }>
  /** A signed-in user asked for what their roles do not allow. */
  | EventOf<'RequestRefused', { readonly userId: number; readonly roles: readonly Role[]; readonly times: number }>;

/** In the stream `log-operator.<id of the link>`, of no tenant: a link to the operator's console was used. */
export type OperatorEvent = EventOf<'OperatorSignedIn', { readonly operator: string; readonly network: string }>;

export type ApiClient = {
  readonly clientId: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** SHA-256 of the secret, hex: the secret has 256 random bits, so a slow hash would protect nothing. */
  readonly secretHash: string;
  /** The last day on which it got a token, UTC, `YYYY-MM-DD`. */
  readonly lastUsed?: string | undefined;
  /** The secret before, valid until `endsAt`; without an end if an earlier release began the rotation. */
  readonly previous?: { readonly secretHash: string; readonly endsAt?: string | undefined } | undefined;
  readonly createdAt: string;
};

/** The day of a time, both ISO 8601 and UTC. */
export const dayOf = (time: string): string => time.slice(0, 10);

export type ChangeOfClient =
  /** The old secret ends then, or else at once. */
  | EventOf<'ApiClientSecretRegenerated', Pick<ApiClient, 'clientId' | 'secretHash'> & { readonly oldEndsAt?: string }>
  /** Of earlier releases: a second secret is valid beside the first, until one of them is ended. */
  | EventOf<'ApiClientSecretStaged', Pick<ApiClient, 'clientId' | 'secretHash'>>
  /** The first was ended. */
  | EventOf<'ApiClientSecretPromoted', Pick<ApiClient, 'clientId'>>
  /** The second was ended. */
  | EventOf<'ApiClientSecretUnstaged', Pick<ApiClient, 'clientId'>>
  /** It got its first token of the day. In the client's own stream. Earlier releases name the secret. */
  | EventOf<'ApiClientUsed', Pick<ApiClient, 'clientId'> & { readonly secret?: 'primary' | 'staged' }>
  /** Only what changed. */
  | EventOf<'ApiClientChanged', Pick<ApiClient, 'clientId'> & Partial<Pick<ApiClient, 'name' | 'scopes'>>>
  | EventOf<'ApiClientRemoved', Pick<ApiClient, 'clientId'>>;

export type ClientEvent =
  | EventOf<'ApiClientCreated', Pick<ApiClient, 'clientId' | 'name' | 'scopes' | 'secretHash'>>
  | ChangeOfClient;

export type DirectoryEvent = TenantEvent | UserEvent | SessionEvent | ClientEvent | WebhookEvent;
