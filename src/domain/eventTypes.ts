/**
 * Every event type that the service can read, with the upcasters that turn older versions of its data into the current one.
 * Events in the log are never changed: a new version of a type is added here with its upcaster.
 */

/** An event as the domain makes it; the log adds who, when and where. */
export type EventOf<Type extends string, Data> = { readonly type: Type; readonly data: Data };

/** Turns data of one version into data of the next. */
type Upcaster = (data: unknown) => unknown;

/** Upcasters in order of version: `[fromVersion1To2, fromVersion2To3]`. Without any, version 1 is current. */
export const eventTypes: { readonly [type: string]: readonly Upcaster[] } = {
  LogCreated: [],
  SigningKeyAdded: [],
  SigningKeyAdopted: [],
  SigningKeysRevoked: [],
  SigningKeysResealed: [],
  ErasureRecorded: [],
  ErasedBytesRemoved: [],
  OperatorSignedIn: [],
  TenantCreated: [],
  AssetFieldAdded: [],
  AssetTableAdded: [],
  RateLimitChanged: [],
  RateLimitRemoved: [],
  CleanUpGuardChanged: [],
  QuotasChanged: [],
  DataErased: [],
  TenantDeleted: [],
  UserAdded: [],
  UserChanged: [],
  UserRemoved: [],
  SessionEnded: [],
  SignedIn: [],
  SignInRefused: [],
  RequestRefused: [],
  OrderExported: [],
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

/** The version in which events of this type are written; undefined for an unknown type. */
export const currentVersion = (types: EventTypes, type: string): number | undefined =>
  Object.hasOwn(types, type) ? (types[type]?.length ?? 0) + 1 : undefined;

/** Whether this type and version can be read. */
export function isReadable(types: EventTypes, type: string, version: number): boolean {
  const current = currentVersion(types, type);
  return current !== undefined && Number.isInteger(version) && version >= 1 && version <= current;
}

/** The data in the shape of the current version. @throws UnreadableEventError */
export function upcast(types: EventTypes, type: string, version: number, data: unknown): unknown {
  if (!isReadable(types, type, version)) throw new UnreadableEventError([{ type, schemaVersion: version }]);
  return (types[type] ?? []).slice(version - 1).reduce<unknown>((older, next) => next(older), data);
}

export class UnreadableEventError extends Error {
  override readonly name = 'UnreadableEventError';
  constructor(readonly unreadable: readonly { readonly type: string; readonly schemaVersion: number }[]) {
    const names = unreadable.map(({ type, schemaVersion }) => `${type} version ${schemaVersion}`).join(', ');
    super(`The event log holds what this version of the program cannot read: ${names}. Start a version that knows it.`);
  }
}
