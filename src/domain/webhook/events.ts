/** Events about webhooks (stream `webhooks-<tenant>`) and their deliveries (`delivery-<tenant>.<delivery id>`). */

/** What a webhook can subscribe to. */
export const WEBHOOK_EVENT_KINDS = ['order.approved'] as const;
export type WebhookEventKind = (typeof WEBHOOK_EVENT_KINDS)[number];

export type CustomData = { readonly [property: string]: unknown };

export type WebhookEvent =
  | {
      readonly type: 'WebhookCreated';
      readonly data: {
        readonly id: string;
        readonly name: string;
        readonly url: string;
        readonly events: readonly WebhookEventKind[];
        readonly customData: CustomData;
        /** The signing secret, sealed under the installation's key. */
        readonly sealedSecret: string;
      };
    }
  | { readonly type: 'WebhookSecretRegenerated'; readonly data: { readonly id: string; readonly sealedSecret: string } }
  | { readonly type: 'WebhookRemoved'; readonly data: { readonly id: string } };

/** What a delivery is about; enough to find the approved order in the log again. */
export type DeliverySubject = {
  readonly webhookId: string;
  readonly kind: WebhookEventKind;
  readonly orderId: string;
  /** Event id of the approval. */
  readonly sourceEventId: string;
  /** Revision of the approval in the order's stream: grows with each export of the order. */
  readonly sourceRevision: number;
};

export type DeliveryEvent =
  | { readonly type: 'DeliveryRequested'; readonly data: DeliverySubject }
  /** Recorded before the call is made, so that a crash can never hide an attempt. */
  | { readonly type: 'DeliveryAttemptStarted'; readonly data: { readonly attempt: number; readonly url: string } }
  | {
      readonly type: 'DeliveryAttemptFailed';
      readonly data: {
        readonly attempt: number;
        readonly reason: string;
        readonly status: number | null;
        readonly durationMs: number;
        /** The first part of the answer. */
        readonly responseBody: string | null;
      };
    }
  | {
      readonly type: 'DeliverySucceeded';
      readonly data: { readonly attempt: number; readonly status: number; readonly durationMs: number };
    }
  /** No attempt is left, or none makes sense any more (webhook removed). */
  | { readonly type: 'DeliveryFailed'; readonly data: { readonly attempts: number; readonly reason: string } };
