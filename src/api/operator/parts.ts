/** What the composition root gives the operator's operations, beside what all operations have. */
import type { EventStore, Position } from '../../ports/eventStore.js';
import type { ParkedTenant } from '../../ports/rowStore.js';
import type { RowJobs } from '../../projections/rowJobs.js';

/** `directory`: nothing of the tenant is served. */
export type ParkedView = ParkedTenant & { readonly what: 'rows' | 'directory' };

/** Sizes in bytes; null where this process cannot know. */
type MachineView = {
  readonly free: number;
  readonly size: number;
  readonly log: number | null;
  /** ISO 8601. */
  readonly lastBackupAt: string | null;
  /** Since when no webhooks are sent (ISO 8601); undefined: they are. */
  readonly webhooksHeld: string | undefined;
};

/** `findings`: what is wrong, and what to do. */
export type CheckView = {
  readonly check: string;
  readonly detail: string;
  readonly findings: readonly { readonly problem: string; readonly remedy: string }[];
};

export type OperatorParts = {
  readonly jobs: RowJobs;
  readonly eventStore: Pick<EventStore, 'readBackwards' | 'readSlice' | 'lastAppend'>;
  /** Position of the last event. @throws TryAgainError if the log does not answer in time */
  readonly head: () => Promise<Position>;
  /** Tenants with an event that could not be applied. */
  readonly parked: () => readonly ParkedView[];
  readonly machine: () => Promise<MachineView>;
  readonly checks: () => Promise<readonly CheckView[]>;
};
