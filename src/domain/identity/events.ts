/** Events about a tenant and who may use it: streams `tenant-`, `users-`, `clients-` and `webhooks-<tenant>`. */
import type { AssetField, AssetType } from '../assetTypes/assetType.js';
import type { WebhookEvent } from '../webhook/events.js';
import type { Role, Scope } from './scopes.js';

export const ORDER_MODELS = ['dyn_stock_order', 'dyn_transport_order'] as const;
export type OrderModel = (typeof ORDER_MODELS)[number];

export type RateLimit = {
  /** Requests a second that a client may make for ever. */
  readonly perSecond: number;
  /** Requests a client may make at once after a pause. */
  readonly burst: number;
};

export type TenantEvent =
  | {
      readonly type: 'TenantCreated';
      readonly data: { readonly name: string; readonly displayName: string; readonly orderModel: OrderModel };
    }
  | { readonly type: 'AssetFieldAdded'; readonly data: { readonly table: string; readonly field: AssetField } }
  | { readonly type: 'AssetTableAdded'; readonly data: { readonly assetType: AssetType } }
  | { readonly type: 'RateLimitChanged'; readonly data: RateLimit };

export type UserEvent =
  | {
      readonly type: 'UserAdded';
      readonly data: {
        readonly id: number;
        readonly email: string;
        readonly firstName: string;
        readonly lastName: string;
        readonly locale: string;
        readonly roles: readonly Role[];
        readonly passwordHash: string;
      };
    }
  | {
      readonly type: 'UserChanged';
      readonly data: {
        readonly id: number;
        readonly firstName?: string;
        readonly lastName?: string;
        readonly locale?: string;
        readonly roles?: readonly Role[];
        readonly passwordHash?: string;
      };
    }
  | { readonly type: 'UserRemoved'; readonly data: { readonly id: number } };

export type ClientEvent =
  | {
      readonly type: 'ApiClientCreated';
      readonly data: {
        readonly clientId: string;
        readonly name: string;
        readonly scopes: readonly Scope[];
        /** SHA-256 of the secret, hex: the secret has 256 random bits, so a slow hash would protect nothing. */
        readonly secretHash: string;
      };
    }
  | {
      readonly type: 'ApiClientSecretRegenerated';
      readonly data: { readonly clientId: string; readonly secretHash: string };
    }
  | { readonly type: 'ApiClientRemoved'; readonly data: { readonly clientId: string } };

export type DirectoryEvent = TenantEvent | UserEvent | ClientEvent | WebhookEvent;
