/** Rebuilds, verifications and retries of tenants' rows as an operator asks for them and follows them (`service/operatorParts.ts`). */
import type { Position } from '../ports/eventStore.js';

export const JOB_KINDS = ['rebuild', 'verify', 'retry'] as const;

/** Of all tenants, one after the other, if none is named. */
export type JobRequest = { readonly kind: (typeof JOB_KINDS)[number]; readonly tenant?: string | undefined };

/** The tenant at work, of how many, and how far it has come in the log. */
export type JobProgress = {
  readonly tenant: string;
  readonly tenants: number;
  readonly done: Position;
  readonly of: Position;
};

/** A space, a row or a state of a row where the rows and the log differ. Without values: they may be confidential. */
export type RowDifference = { readonly space: string; readonly kind: string; readonly id: string };

export const JOB_OUTCOMES = ['rebuilt', 'equal', 'different', 'retried', 'failed'] as const;

/** What came of one tenant. `differences`: the first of each space. `error`: why it failed. */
export type JobReport = {
  readonly tenant: string;
  readonly outcome: (typeof JOB_OUTCOMES)[number];
  readonly differences: readonly RowDifference[];
  readonly error?: string;
};

export const isGood = ({ outcome }: Pick<JobReport, 'outcome'>): boolean =>
  outcome !== 'different' && outcome !== 'failed';

export const JOB_STATES = ['running', 'done', 'failed', 'cancelled'] as const;

export type RowJob = JobRequest & {
  readonly id: string;
  readonly operator: string;
  readonly state: (typeof JOB_STATES)[number];
  readonly startedAt: string;
  readonly endedAt?: string;
  readonly progress?: JobProgress;
  /** Those that are not good, and the last of the others; at most MAX_ENTRIES. */
  readonly reports: readonly JobReport[];
  readonly tenantsDone: number;
  readonly error?: string;
};

/** Of one process: another one does not know them. */
export interface RowJobs {
  /** Undefined: one is at work already. */
  start(request: JobRequest, operator: string): RowJob | undefined;
  /** The latest first. */
  all(): readonly RowJob[];
  /** It ends within a second, and has changed nothing that was not reported. Undefined: it is not at work. */
  cancel(id: string): RowJob | undefined;
}
