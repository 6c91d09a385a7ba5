/** Every event type that the service can read. Events in the log are never changed, and none is ever taken from this list. */

/** An event as the domain makes it; the log adds who, when and where. */
export type EventOf<Type extends string, Data> = { readonly type: Type; readonly data: Data };

/** A request with an Idempotency-Key, as its events name it. */
export type EventKey = {
  readonly id: string;
  readonly body: string;
  /** What its answer counts, and where an undo goes on; unset where the event says it. */
  readonly counts?: { readonly [name: string]: number | string | undefined } | undefined;
};

/** An event of the log as far as the domain reads it. */
export type ReadEvent = EventOf<string, unknown> & {
  readonly id: string;
  readonly stream: string;
  readonly revision: number;
  readonly position: number;
  readonly metadata: {
    readonly tenant: string;
    readonly occurredAt: string;
    readonly actor: { readonly kind: string; readonly id: string; readonly name?: string };
    readonly correlationId: string;
    readonly causationId: string;
    readonly key?: EventKey | undefined;
  };
};

/** `activity`: the kind as which the activity tells of it. Without one, nobody asked for it, or another event tells of it. */
export type EventTypes = { readonly [type: string]: { readonly activity?: string } };

export const eventTypes = {
  LogCreated: {},
  SigningKeyAdded: {},
  SigningKeyAdopted: {},
  SigningKeysRevoked: {},
  SigningKeysResealed: {},
  ErasureRecorded: {},
  ErasedBytesRemoved: {},
  OperatorSignedIn: {},
  TenantCreated: { activity: 'tenant.created' },
  AssetFieldAdded: { activity: 'table.field_added' },
  AssetFieldRetired: { activity: 'table.field_retired' },
  AssetTableAdded: { activity: 'table.added' },
  AssetLabelsChanged: { activity: 'table.labels_changed' },
  RateLimitChanged: { activity: 'settings.rate_limit_changed' },
  RateLimitRemoved: { activity: 'settings.rate_limit_removed' },
  CleanUpGuardChanged: { activity: 'settings.clean_up_guard_changed' },
  QuotasChanged: { activity: 'settings.quotas_changed' },
  DataErased: { activity: 'data.erased' },
  TenantDeleted: {},
  UserAdded: { activity: 'user.added' },
  UserChanged: { activity: 'user.changed' },
  UserRemoved: { activity: 'user.removed' },
  SessionEnded: { activity: 'session.ended' },
  SignedIn: { activity: 'session.opened' },
  SignInRefused: { activity: 'session.refused' },
  RequestRefused: { activity: 'request.refused' },
  OrderExported: { activity: 'order.exported' },
  ApiClientCreated: { activity: 'client.created' },
  ApiClientChanged: { activity: 'client.changed' },
  ApiClientSecretRegenerated: { activity: 'client.secret_regenerated' },
  ApiClientSecretStaged: { activity: 'client.secret_staged' },
  ApiClientSecretPromoted: { activity: 'client.secret_promoted' },
  ApiClientSecretUnstaged: { activity: 'client.secret_unstaged' },
  ApiClientUsed: { activity: 'client.used' },
  ApiClientRemoved: { activity: 'client.removed' },
  WebhookCreated: { activity: 'webhook.created' },
  WebhookChanged: { activity: 'webhook.changed' },
  WebhookSecretRegenerated: { activity: 'webhook.secret_regenerated' },
  WebhookSecretStaged: { activity: 'webhook.secret_staged' },
  WebhookSecretPromoted: { activity: 'webhook.secret_promoted' },
  WebhookSecretUnstaged: { activity: 'webhook.secret_unstaged' },
  WebhookSecretsResealed: { activity: 'webhook.secrets_resealed' },
  WebhookDisabled: { activity: 'webhook.disabled' },
  WebhookEnabled: { activity: 'webhook.enabled' },
  WebhookBackfillRequested: { activity: 'webhook.backfill_requested' },
  WebhookRemoved: { activity: 'webhook.removed' },
  RequestAccepted: {},
  RequestAnswered: {},
  RecordCreated: { activity: 'record.created' },
  RecordChanged: { activity: 'record.changed' },
  RecordDeleted: { activity: 'record.deleted' },
  BatchUpserted: { activity: 'table.batch' },
  BatchUndone: { activity: 'table.undo' },
  TableCleanedUp: { activity: 'table.clean_up' },
  SyncStarted: { activity: 'sync.started' },
  SyncFailed: { activity: 'sync.failed' },
  SyncClosed: {},
  SyncCommitted: { activity: 'sync.committed' },
  OrderCreated: { activity: 'order.created' },
  OrderCreatedWithParts: { activity: 'order.created' },
  OrderEdited: {},
  OrderChanged: { activity: 'order.changed' },
  OrderPartAdded: { activity: 'order.part_added' },
  OrderPartChanged: { activity: 'order.part_changed' },
  OrderPartsChanged: { activity: 'order.parts_changed' },
  /** Of earlier releases, in the stream of an id that a client chose for a part. */
  PartIdTaken: {},
  OrderStatusChanged: { activity: 'order.status_changed' },
  OrderApproved: { activity: 'order.approved' },
  OrderRejected: { activity: 'order.rejected' },
  OrderExportFailed: { activity: 'order.export_failed' },
  OrderExportDelivered: { activity: 'order.export_delivered' },
  OrderExportHeld: { activity: 'order.export_held' },
  DeliveryRequested: { activity: 'delivery.requested' },
  DeliveryAttemptStarted: {},
  DeliveryAttemptFailed: {},
  DeliverySucceeded: {},
  DeliveryFailed: {},
} as const satisfies EventTypes;

type ActivityOf<Type> = Type extends { readonly activity: infer Kind } ? Kind : never;
export type ActivityKind = ActivityOf<(typeof eventTypes)[keyof typeof eventTypes]>;
/** By type of event. */
export const ACTIVITIES: ReadonlyMap<string, ActivityKind> = new Map(
  Object.entries(eventTypes).flatMap(([name, type]) => ('activity' in type ? [[name, type.activity] as const] : [])),
);
export const ACTIVITY_KINDS: readonly ActivityKind[] = [...new Set(ACTIVITIES.values())];

/** The version of the shape of every event's data: a new shape is a new type. */
export const SCHEMA_VERSION = 1;

export class UnreadableEventError extends Error {
  constructor(readonly unreadable: readonly { readonly type: string; readonly schemaVersion: number }[]) {
    const names = unreadable.map(({ type, schemaVersion }) => `${type} version ${schemaVersion}`).join(', ');
    super(`The event log holds what this version of the program cannot read: ${names}. Start a version that knows it.`);
  }
}
