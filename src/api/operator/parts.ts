/** What the composition root gives the operator's operations, beside what all operations have. */
import type { EventStore } from '../../ports/eventStore.js';
import type { ParkedTenant } from '../../ports/rowStore.js';
import type { RowJobs } from '../../projections/rowJobs.js';

/** `directory`: nothing of the tenant is served. */
export type ParkedView = ParkedTenant & { readonly what: 'rows' | 'directory' };

/** `findings`: what is wrong, and what to do. */
type Check = {
  readonly check: string;
  readonly detail: string;
  readonly findings: readonly { readonly problem: string; readonly remedy: string }[];
};

export type OperatorParts = {
  readonly jobs: RowJobs;
  readonly eventStore: Pick<EventStore, 'readBackwards' | 'readSlice' | 'lastAppend'>;
  /** Tenants with an event that could not be applied. */
  readonly parked: () => readonly ParkedView[];
  readonly checks: () => Promise<readonly Check[]>;
};
