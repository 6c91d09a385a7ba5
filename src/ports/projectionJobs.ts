/** Rebuilds, verifications and retries of read models as an operator asks for them and follows them (`service/projectionJobs.ts`). */
import type { Position } from './eventStore.js';
import type { Difference } from './readModelProof.js';
import type { RebuildScope } from './readModelWriter.js';

export const JOB_KINDS = ['rebuild', 'verify', 'retry'] as const;
export type JobKind = (typeof JOB_KINDS)[number];

export type JobRequest = {
  readonly kind: JobKind;
  /** One after another. */
  readonly projections: readonly RebuildScope['projection'][];
  readonly tenant?: string | undefined;
  readonly table?: string | undefined;
};

export type JobProgress = {
  readonly projection: string;
  readonly step: 'applying' | 'comparing';
  /** Positions of the log, or compared tables. */
  readonly done: number;
  readonly of: number;
  readonly records: number;
};

/** The last three are of a retry: the tenant goes on, has yet to be tried, or is parked again. */
export const JOB_OUTCOMES = ['rebuilt', 'equal', 'different', 'goes_on', 'asked', 'parked'] as const;

/** What came of one projection. */
export type JobReport = {
  readonly projection: string;
  readonly outcome: (typeof JOB_OUTCOMES)[number];
  /** As far as the log was applied or compared; of a parked tenant, the event that failed. */
  readonly position: Position;
  readonly records: number;
  readonly seconds: number;
  /** The first that a verification found. */
  readonly differences: readonly Difference[];
  /** How many it found beside those. */
  readonly more: number;
  /** Why it is parked again. */
  readonly error?: string;
};

export const JOB_STATES = ['running', 'done', 'failed', 'cancelled'] as const;

export type ProjectionJob = JobRequest & {
  readonly id: string;
  readonly operator: string;
  readonly state: (typeof JOB_STATES)[number];
  readonly startedAt: string;
  readonly endedAt?: string;
  readonly progress?: JobProgress;
  readonly reports: readonly JobReport[];
  /** Why it failed. */
  readonly error?: string;
};

/** Of one process: another one does not know them. */
export interface ProjectionJobs {
  /** Undefined: as many are at work as may be. */
  start(request: JobRequest, operator: string): ProjectionJob | undefined;
  /** The latest first: those at work, and the last ones that ended. */
  all(): readonly ProjectionJob[];
  /** It ends soon, and has changed nothing that was not reported. @returns false if it is not at work */
  cancel(id: string): boolean;
}
