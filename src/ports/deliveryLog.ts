/** The delivery log, as the read models hold it: each delivery to a webhook, with all its attempts. */
import type { Cancellation } from '../supervision/cancellation.js';
import type { Position, Revision } from './eventStore.js';
import type { ProjectionProgress } from './readModels.js';

/** One attempt of a delivery. What is not known yet is null. */
export type DeliveryAttempt = {
  readonly attempt: number;
  readonly url: string;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly durationMs: number | null;
  /** HTTP status; null where there was no answer. */
  readonly status: number | null;
  /** Why it failed; null where it did not. */
  readonly reason: string | null;
  /** The first part of the answer. */
  readonly responseBody: string | null;
};

/** `open`: requested and neither delivered nor given up. */
export type DeliveryState = 'open' | 'succeeded' | 'failed';

/** One delivery to one webhook, with all its attempts: a line of the delivery log. */
export type DeliveryLogEntry = {
  readonly id: string;
  /** Revision of the last event of its stream that is in it. */
  readonly revision: Revision;
  /** Position of its request in the log: the order of the delivery log. */
  readonly position: Position;
  readonly webhookId: string;
  /** `webhook-id` of its calls. */
  readonly messageId: string;
  readonly kind: string;
  /** Null where the event itself led to it. */
  readonly purpose: string | null;
  readonly orderId: string | null;
  readonly table: string | null;
  readonly sequence: Revision;
  readonly requestedAt: string;
  readonly state: DeliveryState;
  /** When it succeeded or was given up. */
  readonly endedAt: string | null;
  /** Why it was given up. */
  readonly reason: string | null;
  /** When the next attempt is due, after a failed one. */
  readonly retryAt: string | null;
  readonly attempts: readonly DeliveryAttempt[];
};

/** All that is set must hold. */
export type DeliveryQuery = {
  readonly webhookId: string;
  readonly state?: DeliveryState | undefined;
  readonly kind?: string | undefined;
  readonly orderId?: string | undefined;
  /** Requested at or after this time, ISO 8601 in any zone. */
  readonly since?: string | undefined;
  /** Requested before this time. */
  readonly until?: string | undefined;
  /** `newest` first unless told otherwise. */
  readonly order?: 'newest' | 'oldest';
  /** Goes on behind the entry at this position, in the direction of `order`. */
  readonly after?: Position | undefined;
  readonly limit: number;
};

/** What waits for one webhook. */
export type DeliveryBacklog = {
  readonly tenant: string;
  readonly webhookId: string;
  readonly open: number;
  readonly oldestRequestedAt: string;
};

/** How a webhook has been doing, as far as its delivery log goes back. */
export type WebhookHealth = {
  readonly lastSuccessAt: string | null;
  /** The first failed attempt since the last success; null where there is none. */
  readonly failingSince: string | null;
};

export interface DeliveryLog extends Pick<ProjectionProgress, 'waitFor'> {
  /** One entry, or undefined. */
  delivery(tenant: string, id: string): Promise<DeliveryLogEntry | undefined>;
  /** A page of a webhook's entries. Cancelled as lists of records are. */
  deliveries(tenant: string, query: DeliveryQuery, cancellation?: Cancellation): Promise<readonly DeliveryLogEntry[]>;
  /** What waits, for each webhook of every tenant that something waits for. */
  deliveryBacklog(): Promise<readonly DeliveryBacklog[]>;
  webhookHealth(tenant: string, webhookId: string): Promise<WebhookHealth>;
}
