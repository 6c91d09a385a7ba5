/** The delivery log in the read models: each delivery to a webhook, with all its attempts. */
import type { Cancellation } from '../supervision/cancellation.js';
import type { Position, Revision } from './eventStore.js';

/** One attempt of a delivery. Values not known yet are null. */
export type DeliveryAttempt = {
  readonly attempt: number;
  readonly url: string;
  /** SHA-256 of the body in hex; absent if none was sent, and in attempts of earlier releases. */
  readonly bodySha256?: string;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly durationMs: number | null;
  /** HTTP status; null without an answer. */
  readonly status: number | null;
  /** Why it failed; null if it did not. */
  readonly reason: string | null;
  /** The beginning of the answer's body. */
  readonly responseBody: string | null;
};

/** `open`: requested and neither delivered nor given up. */
export type DeliveryState = 'open' | 'succeeded' | 'failed';

/** One delivery to one webhook, with all its attempts. */
export type DeliveryLogEntry = {
  readonly id: string;
  /** Revision of the last applied event of its stream. */
  readonly revision: Revision;
  /** Position of `DeliveryRequested`: the order of the delivery log. */
  readonly position: Position;
  readonly webhookId: string;
  /** The `webhook-id` header of its calls. */
  readonly messageId: string;
  readonly kind: string;
  /** Null if the event itself caused it. */
  readonly purpose: string | null;
  readonly orderId: string | null;
  readonly table: string | null;
  readonly sequence: Revision;
  readonly requestedAt: string;
  readonly state: DeliveryState;
  /** When it succeeded or failed for good. */
  readonly endedAt: string | null;
  /** Why it failed for good. */
  readonly reason: string | null;
  /** When the next attempt is due, after a failed one. */
  readonly retryAt: string | null;
  readonly attempts: readonly DeliveryAttempt[];
};

/** All set conditions must hold. */
export type DeliveryQuery = {
  readonly webhookId: string;
  readonly state?: DeliveryState | undefined;
  readonly kind?: string | undefined;
  readonly orderId?: string | undefined;
  /** Requested at or after this time, ISO 8601 in any zone. */
  readonly since?: string | undefined;
  /** Requested before this time. */
  readonly until?: string | undefined;
  /** Default `newest` first. */
  readonly order?: 'newest' | 'oldest';
  /** Continues after the entry at this position, in the direction of `order`. */
  readonly after?: Position | undefined;
  readonly limit: number;
};

/** Where a delivery is among those about its order: by the event that it tells of, then by its request. */
export type OrderDeliveryPlace = Pick<DeliveryLogEntry, 'sequence' | 'position'>;

/** Deliveries about events of an order, to any webhook. */
export type OrderDeliveryQuery = {
  readonly orderId: string;
  /** Continues behind this place. */
  readonly behind: OrderDeliveryPlace;
  /** Up to the event of this revision. */
  readonly to: Revision;
  readonly limit: number;
};

/** Open deliveries of one webhook. */
export type DeliveryBacklog = {
  readonly tenant: string;
  readonly webhookId: string;
  readonly open: number;
  readonly oldestRequestedAt: string;
};

/** Recent success and failure of a webhook, as far as its delivery log goes back. */
export type WebhookHealth = {
  readonly lastSuccessAt: string | null;
  /** Time of the first failed attempt since the last success; null if there is none. */
  readonly failingSince: string | null;
};

export interface DeliveryLog {
  /** One entry, or undefined. */
  delivery(tenant: string, id: string): Promise<DeliveryLogEntry | undefined>;
  /** A page of a webhook's entries. Cancellable like lists of records. */
  deliveries(tenant: string, query: DeliveryQuery, cancellation?: Cancellation): Promise<readonly DeliveryLogEntry[]>;
  /** A page of the entries about an order, in the order of their places. Cancellable like lists of records. */
  deliveriesOfOrder(
    tenant: string,
    query: OrderDeliveryQuery,
    cancellation?: Cancellation,
  ): Promise<readonly DeliveryLogEntry[]>;
  /** Open deliveries by webhook, of all tenants; webhooks without any are left out. */
  deliveryBacklog(): Promise<readonly DeliveryBacklog[]>;
  webhookHealth(tenant: string, webhookId: string): Promise<WebhookHealth>;
}
