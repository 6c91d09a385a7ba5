/** Events about webhooks (stream `webhooks-<tenant>`) and their deliveries (`delivery-<tenant>.<delivery id>`). */
import type { EventOf } from '../eventTypes.js';
import type { WebhookEventKind } from './catalogue.js';

export type CustomData = { readonly [property: string]: unknown };

/** Why a webhook was disabled: by an admin, by the receiver's 410 Gone, or for failing too long. */
export type DisabledCause = 'admin' | 'gone' | 'failing';

/** The settings that an admin makes. */
export type WebhookSettings = {
  readonly name: string;
  readonly url: string;
  readonly events: readonly WebhookEventKind[];
  readonly customData: CustomData;
};

/** An event about the webhook of this id. */
type About<Type extends string, Data = unknown> = EventOf<Type, { readonly id: string } & Data>;

/** A signing secret, sealed under the installation's key. */
type Sealed = { readonly sealedSecret: string };

export type WebhookEvent =
  | About<'WebhookCreated', WebhookSettings & Sealed>
  /** Only what changed. */
  | About<'WebhookChanged', Partial<WebhookSettings>>
  /** A new secret; the one before signs beside it for a day. */
  | About<'WebhookSecretRegenerated', Sealed>
  // Earlier releases began a rotation with a second secret, and ended it with that one or the first.
  | About<'WebhookSecretStaged', Sealed>
  | About<'WebhookSecretPromoted'>
  | About<'WebhookSecretUnstaged'>
  /** The same secret, sealed under another key; in earlier releases also, or only, the staged one. */
  | About<'WebhookSecretsResealed', Partial<Sealed> & { readonly sealedStagedSecret?: string }>
  /** Nothing is sent to it until it is enabled; its deliveries wait. */
  | About<'WebhookDisabled', { readonly cause: DisabledCause; readonly reason: string }>
  | About<'WebhookEnabled'>
  /** Requests that events before this one are sent to it: from this time (ISO 8601) on, and in earlier releases before `to`. */
  | About<
      'WebhookBackfillRequested',
      {
        readonly backfillId: string;
        readonly kinds: readonly WebhookEventKind[];
        readonly from: string;
        readonly to?: string;
        /** Only those whose delivery failed for good. */
        readonly failedOnly?: true;
      }
    >
  | About<'WebhookRemoved'>;

/** Why a delivery was requested, if not because its event happened. A failure of these changes no order. */
type DeliveryPurpose = 'resend' | 'backfill' | 'test';

/** What a delivery is about: enough to make its body from the log. */
export type DeliverySubject = {
  readonly webhookId: string;
  readonly kind: WebhookEventKind;
  /** For kinds `order.…`; otherwise ''. */
  readonly orderId: string;
  /** For kinds `reference.…`. */
  readonly table?: string;
  /** The event in the log that caused it; '' for a test. */
  readonly sourceEventId: string;
  /** That event's revision in its stream: grows with each event of an order (or table), so it is the sequence number. */
  readonly sourceRevision: number;
  /** Absent for the delivery that the event itself caused. */
  readonly purpose?: DeliveryPurpose;
  /** `webhook-id` of its attempts, if not the delivery's id: a resend has that of the first delivery. */
  readonly messageId?: string;
  /** Id of a delivery to the same webhook about the same order, which has to be over before this one begins. */
  readonly after?: string;
};

/** The outcome of an attempt: its HTTP status, or null without an answer. */
export type Attempted<Status = unknown> = {
  readonly attempt: number;
  readonly status: Status;
  readonly durationMs: number;
  /** With names in lower case; absent without an answer, and in events of earlier releases. */
  readonly responseHeaders?: readonly (readonly [name: string, value: string])[];
};

export type DeliveryEvent =
  | EventOf<'DeliveryRequested', DeliverySubject>
  /** Appended before the attempt is made, so that a crash can never hide one. */
  | EventOf<
      'DeliveryAttemptStarted',
      {
        readonly attempt: number;
        readonly url: string;
        /** SHA-256 of the body in hex; absent if none was sent, and in events of earlier releases. */
        readonly bodySha256?: string;
      }
    >
  | EventOf<
      'DeliveryAttemptFailed',
      Attempted<number | null> & {
        readonly reason: string;
        /** The beginning of the answer. */
        readonly responseBody: string | null;
        /** Of earlier releases: no request was made. */
        readonly notSent?: true;
        /** When the next attempt is due (ISO 8601); absent after the last one. */
        readonly retryAt?: string;
      }
    >
  | EventOf<'DeliverySucceeded', Attempted<number> & { readonly responseBody?: string | null }>
  /** No attempt is left, or the webhook was removed. */
  | EventOf<'DeliveryFailed', { readonly attempts: number; readonly reason: string }>;
