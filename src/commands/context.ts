/** What every command works with. */
import type { RecordView } from '../domain/assetTypes/assetType.js';
import { FieldErrorList, type FieldErrors } from '../domain/assetTypes/fieldErrors.js';
import type { Tenant } from '../domain/identity/directory.js';
import type { ExportWarning, Repeat } from '../domain/order/events.js';
import type { DecisionReads } from '../ports/decisionReads.js';
import type { EventMetadata, EventStore, Position } from '../ports/eventStore.js';
import type { RequestDeadline } from './requestDeadline.js';

/** Who asks, and on whose behalf, as the metadata of the events that follow; and how long there is for it. */
export type Caller = Pick<EventMetadata, 'tenant' | 'actor' | 'correlationId' | 'causationId' | 'traceparent'> & {
  /** Unset for work in the background, which nobody waits for. */
  readonly deadline?: RequestDeadline;
};

/** How long to wait for something that is waited for so long at most, in milliseconds. */
export const patience = ({ deadline }: Caller, longestMs: number): number =>
  Math.min(longestMs, deadline?.leftMs ?? longestMs);

/** The tenants as this process knows them: evolved from the log, in memory. */
export interface TenantDirectory {
  tenant(name: string): Tenant | undefined;
  tenants(): Iterable<Tenant>;
  /** Why a tenant is not served, for callers: an event of its own could not be applied, and it is as it was before that. */
  parkedReason(name: string): string | undefined;
  /** Whether there was a tenant of this name, which was deleted: it is none of the others. */
  wasDeleted(name: string): boolean;
  /** Resolves when everything up to this position is known here. */
  waitFor(position: Position): Promise<void>;
}

/** Keeps webhook secrets unreadable in the log (AES-256-GCM under the installation's keys, of which the first seals). */
export interface SecretBox {
  /** Under the first key. */
  seal(plain: string): string;
  /** @throws UnopenableSecretError when it was sealed under none of the keys */
  open(sealed: string): string;
  /** The same secret under the first key; undefined when it is already. @throws UnopenableSecretError */
  reseal(sealed: string): string | undefined;
}

/** A sealed secret that no key of this process opens. Another key, or a new secret, helps. */
export class UnopenableSecretError extends Error {
  override readonly name = 'UnopenableSecretError';
}

export type Commands = {
  readonly eventStore: EventStore;
  readonly readModels: DecisionReads;
  readonly directory: TenantDirectory;
  readonly secretBox: SecretBox;
  /** Now, as ISO 8601 UTC with microseconds. */
  readonly now: () => string;
  /** A fresh UUID version 7. */
  readonly newId: () => string;
};

export type WrittenRecord = {
  /** Position of the write; a read model that has reached it shows the record. 0 when nothing changed. */
  readonly position: Position;
  readonly id: string;
  readonly record: RecordView;
  /** Of an order that was sent with parts: its lists of parts, by their names. */
  readonly lists?: { readonly [name: string]: unknown };
  /** Whether an earlier request with the same key has written it. */
  readonly isReplayed?: boolean;
};

/** An order that was approved. */
export type ApprovedOrder = WrittenRecord & {
  readonly repeats: readonly Repeat[];
  readonly warnings: readonly ExportWarning[];
};

/** Bad input: nothing was stored. Becomes 422 with these messages by field, at most MAX_ERRORS of them. */
export class ValidationError extends Error {
  override readonly name = 'ValidationError';
  readonly errors: FieldErrors;

  /** @param unnamed how many more errors there are */
  constructor(errors: FieldErrors, unnamed = 0) {
    const first = new FieldErrorList();
    first.addAll(errors);
    const more = first.unnamed + unnamed;
    const message = Object.values(errors)[0]?.[0] ?? 'The given data was invalid.';
    super(more === 0 ? message : `${message} (At least ${more} more errors are not listed here.)`);
    this.errors = first.toErrors();
  }
}

/** There is no such thing. Becomes 404. */
export class NotFoundError extends Error {
  override readonly name = 'NotFoundError';
}

/** The thing is not in a state for this. Becomes 409. */
export class ConflictError extends Error {
  override readonly name = 'ConflictError';
}

/** The kind of asset does not offer this. Becomes 400. */
export class NotSupportedError extends Error {
  override readonly name = 'NotSupportedError';
}

/** Cannot be decided now; trying again is safe. Becomes 503. */
export class TryAgainError extends Error {
  override readonly name = 'TryAgainError';
}
