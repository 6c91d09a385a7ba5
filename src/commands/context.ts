/** What every command works with: its caller, with a deadline, and the service's parts; and the errors that commands throw. */
import type { RecordView } from '../domain/assetTypes/assetType.js';
import { FieldErrorList, type FieldErrors } from '../domain/assetTypes/recordSchema.js';
import type { EventKey } from '../domain/eventTypes.js';
import type { Tenant } from '../domain/identity/directory.js';
import { MAX_ENTRIES } from '../domain/limits.js';
import {
  type AppendResult,
  AppendTooLargeError,
  type EventMetadata,
  type EventStore,
  EventStoreUnavailableError,
  type Position,
  WrongExpectedRevisionError,
} from '../ports/eventStore.js';
import type { RowReads } from '../ports/rowStore.js';
import type { Progress } from '../projections/progress.js';
import type { DeliveryQueries } from '../queries/deliveries.js';
import type { RecordQueries } from '../queries/records.js';
import { Deadline } from '../supervision/deadline.js';

/** The deadline of one request, and whether anything of it may be written: what the caller is told when time is up. */
export class RequestDeadline extends Deadline {
  /** Appends that are stored, or in flight. */
  #appends = 0;
  /** Position of the last append of the request; 0 before the first. */
  written: Position = 0;

  /** Whether anything of the request is in the log, or may still get there. After the deadline no append is started. */
  get mayHaveWritten(): boolean {
    return this.#appends > 0;
  }

  /**
   * Starts an append, unless the deadline has passed.
   * @throws DeadlineError, and what the append throws
   */
  async append(ask: () => Promise<AppendResult>): Promise<AppendResult> {
    this.throwIfCancelled();
    this.#appends += 1;
    try {
      const appended = await this.within(ask());
      this.written = Math.max(this.written, appended.position);
      return appended;
    } catch (error) {
      if (isRefusal(error)) this.#appends -= 1;
      throw error;
    }
  }
}

/** Nothing of the append is stored, and nothing will be. */
const isRefusal = (error: unknown): boolean =>
  error instanceof WrongExpectedRevisionError ||
  error instanceof AppendTooLargeError ||
  (error instanceof EventStoreUnavailableError && !error.mayBeStored);

/** Who asks, and on whose behalf, as the metadata of the resulting events; and how long the command may take. */
export type Caller = Pick<
  EventMetadata,
  'tenant' | 'actor' | 'correlationId' | 'causationId' | 'traceparent' | 'request'
> & {
  readonly key?: EventKey;
  /** Unset for background work: nobody waits for it. */
  readonly deadline?: RequestDeadline;
};

/** Milliseconds to wait: `longestMs`, or what is left of the caller's time. */
export const patience = ({ deadline }: Caller, longestMs: number): number =>
  Math.min(longestMs, deadline?.leftMs ?? longestMs);

/** The tenants as this process knows them: evolved from the log, in memory. */
export interface TenantDirectory {
  tenant(name: string): Tenant | undefined;
  tenants(): Iterable<Tenant>;
  /** Why a parked tenant is not served, for callers. It stays as it was before the event that could not be applied. */
  parkedReason(name: string): string | undefined;
  /** Whether a tenant of this name was deleted. `tenant` and `tenants` do not return it. */
  wasDeleted(name: string): boolean;
  /** Resolves when the directory has applied the log up to this position. */
  waitFor(position: Position): Promise<void>;
  /**
   * Resolves when it has applied all that was in the log at the call, or after two seconds: another process, such as the command
   * line, may have created a moment ago what a request names. @throws errors of the event store
   */
  refresh(): Promise<void>;
}

/** Keeps webhook secrets unreadable in the log: AES-256-GCM under the installation's keys. The first key seals. */
export interface SecretBox {
  seal(plain: string): string;
  /** @throws UnopenableSecretError when none of the keys sealed it */
  open(sealed: string): string;
  /** The same secret sealed under the first key; undefined when it already is. @throws UnopenableSecretError */
  reseal(sealed: string): string | undefined;
}

/** No key of this process opens the secret. Configure the right key, or make a new secret. */
export class UnopenableSecretError extends Error {}

export type Commands = {
  readonly eventStore: EventStore;
  readonly queries: { readonly records: RecordQueries; readonly deliveries: DeliveryQueries };
  readonly progress: Pick<Progress, 'waitFor' | 'isTold' | 'refusal' | 'found'>;
  readonly rows: RowReads;
  readonly directory: TenantDirectory;
  readonly secretBox: SecretBox;
  /** Now, as ISO 8601 UTC with microseconds. */
  readonly now: () => string;
  readonly newId: () => string;
};

export type WrittenRecord = {
  /** Position of the write: a read model that has reached it shows the record. 0 when nothing changed. */
  readonly position: Position;
  readonly id: string;
  readonly record: RecordView;
  /** Lists of parts by name, for an order that was sent with parts. */
  readonly lists?: { readonly [name: string]: unknown };
  /** Whether an earlier request with the same Idempotency-Key wrote it. */
  readonly isRepeated?: boolean;
};

/** Bad input: nothing was stored. Becomes 422 with these messages by field, at most MAX_ENTRIES of them. */
export class ValidationError extends Error {
  readonly errors: FieldErrors;

  constructor(errors: FieldErrors) {
    const first = new FieldErrorList();
    first.addAll(errors);
    const message = Object.values(errors)[0]?.[0] ?? 'The given data was invalid.';
    super(first.isFull ? `${message} (There may be more errors than these ${MAX_ENTRIES}.)` : message);
    this.errors = first.toErrors();
  }
}

export class NotFoundError extends Error {}

/** The current state does not allow this. Becomes 409. */
export class ConflictError extends Error {}

/** The kind of asset does not offer this. Becomes 400. */
export class NotSupportedError extends Error {
  /** @param advice why, or what to do instead */
  constructor(
    message: string,
    readonly advice: string,
  ) {
    super(message);
  }
}

/** No decision is possible now; trying again is safe. Becomes 503. */
export class TryLaterError extends Error {}
