/** Events about webhooks (stream `webhooks-<tenant>`) and their deliveries (`delivery-<tenant>.<delivery id>`). */
import type { EventOf } from '../eventTypes.js';

/** What a webhook can subscribe to. */
export const WEBHOOK_EVENT_KINDS = [
  'order.created',
  'order.updated',
  'order.status_changed',
  'order.approved',
  'order.export_failed',
  'reference.batch_upserted',
  'reference.cleaned_up',
] as const;
export type WebhookEventKind = (typeof WEBHOOK_EVENT_KINDS)[number];

export type CustomData = { readonly [property: string]: unknown };

/** Who or what switched a webhook off: an admin, the receiver's 410 Gone, or failing for too long. */
export type DisabledCause = 'admin' | 'gone' | 'failing';

/** What an admin sets. */
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
  /** At once: the old secret signs nothing any more, and a rotation under way is over. */
  | About<'WebhookSecretRegenerated', Sealed>
  /** A rotation begins: a second secret signs beside the first. */
  | About<'WebhookSecretStaged', Sealed>
  /** It ends: the staged secret is the only one. */
  | About<'WebhookSecretPromoted'>
  /** It ends without effect: the staged secret signs nothing any more. */
  | About<'WebhookSecretUnstaged'>
  /** The same secrets, sealed under another key. Only what was sealed anew; a rotation under way goes on. */
  | About<'WebhookSecretsResealed', Partial<Sealed> & { readonly sealedStagedSecret?: string }>
  /** Nothing is sent to it until it is enabled; what is for it waits. */
  | About<'WebhookDisabled', { readonly cause: DisabledCause; readonly reason: string }>
  | About<'WebhookEnabled'>
  /** A range of the log is to be sent to it (again); times are ISO 8601, `from` inclusive, `to` exclusive. */
  | About<
      'WebhookBackfillRequested',
      {
        readonly backfillId: string;
        readonly kinds: readonly WebhookEventKind[];
        readonly from: string;
        readonly to: string;
      }
    >
  | About<'WebhookRemoved'>;

/** Why a delivery was made, other than that its event happened. None of these fails an order. */
export type ReplayPurpose = 'resend' | 'backfill' | 'test';

/** What a delivery is about; enough to make its body from the log again. */
export type DeliverySubject = {
  readonly webhookId: string;
  readonly kind: WebhookEventKind;
  /** Of kinds `order.…`; '' for others. */
  readonly orderId: string;
  /** Of kinds `reference.…`. */
  readonly table?: string;
  /** The event in the log that led to it; '' for a test. */
  readonly sourceEventId: string;
  /** That event's revision in its stream: grows with each event of an order (or table), so it is the sequence number. */
  readonly sourceRevision: number;
  /** Absent for the delivery that the event itself led to. */
  readonly purpose?: ReplayPurpose;
  /** `webhook-id` of its attempts, where it is not the delivery's id: a replay has that of the first delivery. */
  readonly messageId?: string;
  /** Id of the delivery to the same webhook about the same order that has to be over before this one begins. */
  readonly after?: string;
};

/** What came of an attempt: its HTTP status, null where there was no answer. */
type Attempted<Status> = { readonly attempt: number; readonly status: Status; readonly durationMs: number };

export type DeliveryEvent =
  | EventOf<'DeliveryRequested', DeliverySubject>
  /** Appended before the attempt is made, so that a crash can never hide one. */
  | EventOf<'DeliveryAttemptStarted', { readonly attempt: number; readonly url: string }>
  | EventOf<
      'DeliveryAttemptFailed',
      Attempted<number | null> & {
        readonly reason: string;
        /** The first part of the answer. */
        readonly responseBody: string | null;
        /** There was no answer because the request was never begun. */
        readonly notSent?: true;
        /** When the next attempt is due (ISO 8601); absent after the last one. */
        readonly retryAt?: string;
      }
    >
  | EventOf<'DeliverySucceeded', Attempted<number> & { readonly responseBody?: string | null }>
  /** No attempt is left, or none makes sense any more (webhook removed). */
  | EventOf<'DeliveryFailed', { readonly attempts: number; readonly reason: string }>;

/** Kinds that events of a type are in any case. */
const KINDS_OF_TYPE: ReadonlyMap<string, WebhookEventKind> = new Map([
  ['OrderCreated', 'order.created'],
  ['OrderCreatedWithParts', 'order.created'],
  ['OrderChanged', 'order.updated'],
  ['OrderPartAdded', 'order.updated'],
  ['OrderPartChanged', 'order.updated'],
  ['OrderPartsChanged', 'order.updated'],
  ['OrderApproved', 'order.approved'],
  ['OrderExportFailed', 'order.export_failed'],
  ['BatchUpserted', 'reference.batch_upserted'],
  ['BatchUndone', 'reference.batch_upserted'],
  ['TableCleanedUp', 'reference.cleaned_up'],
]);

/**
 * The kinds of an event of the log, in the order of `WEBHOOK_EVENT_KINDS`: one event may be several, and most are none.
 * What an older version of the program wrote is to be upcast before, as the event store does.
 */
export function kindsOf({ type, data }: EventOf<string, unknown>): readonly WebhookEventKind[] {
  const ofType = KINDS_OF_TYPE.get(type);
  if (!type.startsWith('Order') || !statusMoved(data)) return ofType === undefined ? [] : [ofType];
  return WEBHOOK_EVENT_KINDS.filter((kind) => kind === ofType || kind === 'order.status_changed');
}

/** A new order has a status, and none before. */
function statusMoved(data: unknown): boolean {
  if (typeof data !== 'object' || data === null || !('status' in data)) return false;
  const { status } = data;
  return (
    typeof status === 'object' && status !== null && 'from' in status && 'to' in status && status.from !== status.to
  );
}
