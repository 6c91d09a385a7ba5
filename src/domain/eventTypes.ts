/**
 * Every event type the service can read, and how older versions of its data become the current one.
 * A new version of a type goes here with its upcaster; events in the log are never changed.
 */

/** An event as the domain makes it; the log adds who, when and where. */
export type EventOf<Type extends string, Data> = { readonly type: Type; readonly data: Data };

/** Turns data of one version into data of the next. */
export type Upcaster = (data: unknown) => unknown;

/** Upcasters by the version they start from: `[fromVersion1To2, fromVersion2To3]`. No upcaster: version 1 is current. */
export const eventTypes: { readonly [type: string]: readonly Upcaster[] } = {
  LogCreated: [],
  TenantCreated: [],
  AssetFieldAdded: [],
  AssetTableAdded: [],
  RateLimitChanged: [],
  RateLimitRemoved: [],
  CleanUpGuardChanged: [],
  TenantDeleted: [],
  UserAdded: [],
  UserChanged: [],
  UserRemoved: [],
  SessionEnded: [],
  ApiClientCreated: [],
  ApiClientSecretRegenerated: [],
  ApiClientSecretStaged: [],
  ApiClientSecretPromoted: [],
  ApiClientSecretUnstaged: [],
  ApiClientUsed: [],
  ApiClientRemoved: [],
  WebhookCreated: [],
  WebhookChanged: [],
  WebhookSecretRegenerated: [],
  WebhookSecretStaged: [],
  WebhookSecretPromoted: [],
  WebhookSecretUnstaged: [],
  WebhookSecretsResealed: [],
  WebhookDisabled: [],
  WebhookEnabled: [],
  WebhookBackfillRequested: [],
  WebhookRemoved: [],
  RequestAccepted: [],
  RequestAnswered: [],
  RecordCreated: [],
  RecordChanged: [],
  BatchUpserted: [],
  BatchUndone: [],
  TableCleanedUp: [],
  SyncStarted: [],
  SyncFailed: [],
  SyncClosed: [],
  SyncCommitted: [],
  OrderCreated: [],
  OrderCreatedWithParts: [],
  OrderChanged: [],
  OrderPartAdded: [],
  OrderPartChanged: [],
  OrderPartsChanged: [],
  PartIdTaken: [],
  OrderStatusChanged: [],
  OrderApproved: [],
  OrderRejected: [],
  OrderExportFailed: [],
  OrderExportDelivered: [],
  OrderExportHeld: [],
  DeliveryRequested: [],
  DeliveryAttemptStarted: [],
  DeliveryAttemptFailed: [],
  DeliverySucceeded: [],
  DeliveryFailed: [],
};

export type EventTypes = typeof eventTypes;

/** The version that events of this type are written with; undefined for an unknown type. */
export const currentVersion = (types: EventTypes, type: string): number | undefined =>
  Object.hasOwn(types, type) ? (types[type]?.length ?? 0) + 1 : undefined;

/** Can this type and version be read? */
export function isReadable(types: EventTypes, type: string, version: number): boolean {
  const current = currentVersion(types, type);
  return current !== undefined && Number.isInteger(version) && version >= 1 && version <= current;
}

/** Data as the current version has it. @throws UnreadableEventError */
export function upcast(types: EventTypes, type: string, version: number, data: unknown): unknown {
  if (!isReadable(types, type, version)) throw new UnreadableEventError([{ type, schemaVersion: version }]);
  return (types[type] ?? []).slice(version - 1).reduce<unknown>((older, next) => next(older), data);
}

/** The log holds events that this version of the program cannot read. */
export class UnreadableEventError extends Error {
  override readonly name = 'UnreadableEventError';
  constructor(readonly unreadable: readonly { readonly type: string; readonly schemaVersion: number }[]) {
    const names = unreadable.map(({ type, schemaVersion }) => `${type} version ${schemaVersion}`).join(', ');
    super(`The event log holds what this version of the program cannot read: ${names}. Start a version that knows it.`);
  }
}
