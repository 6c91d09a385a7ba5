/** Jobs: long work that operators ask a process for and follow. Each is done by the thread that has what it works on. */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { MAX_ENTRIES, MAX_SHORT_PAGE } from '../domain/limits.js';
import type { Position } from '../ports/eventStore.js';
import { messageOf } from '../supervision/files.js';

/** The last three are of the event log: a comparison with its last checkpoint, a new checkpoint, and a backup. */
export const JOB_KINDS = ['rebuild', 'verify', 'retry', 'audit_verify', 'audit_checkpoint', 'backup'] as const;

/** Work on the rows of all tenants, one after the other, if none is named; or on the log. */
export type JobRequest = { readonly kind: (typeof JOB_KINDS)[number]; readonly tenant?: string | undefined };

export const isLogJob = ({ kind }: JobRequest): boolean => !['rebuild', 'verify', 'retry'].includes(kind);

/** What is at work, of how many tenants, and how far it has come in the log. */
export type JobProgress = {
  /** Null: the event log. */
  readonly tenant: string | null;
  readonly tenants: number;
  readonly done: Position;
  readonly of: Position;
};

/** A space, a row or a state of a row where the rows and the log differ, or an event. Without values: they may be confidential. */
export type Difference = { readonly space: string; readonly kind: string; readonly id: string };

export const JOB_OUTCOMES = ['rebuilt', 'equal', 'different', 'retried', 'signed', 'failed'] as const;

/** What came of one tenant. `differences`: the first of each space. `error`: why it failed. */
export type JobReport = {
  /** Null: of the event log. */
  readonly tenant: string | null;
  readonly outcome: (typeof JOB_OUTCOMES)[number];
  readonly differences: readonly Difference[];
  readonly error?: string;
};

export const isGood = ({ outcome }: Pick<JobReport, 'outcome'>): boolean =>
  outcome !== 'different' && outcome !== 'failed';

export const JOB_STATES = ['running', 'done', 'failed', 'cancelled'] as const;

export type Job = JobRequest & {
  readonly id: string;
  readonly operator: string;
  readonly startedAt: string;
  state: (typeof JOB_STATES)[number];
  endedAt?: string;
  progress?: JobProgress;
  /** Those that are not good, and the last of the others; at most MAX_ENTRIES. */
  reports: readonly JobReport[];
  tenantsDone: number;
  error?: string;
};

/** What a thread tells while it is at work. */
export type JobNews = JobProgress | { readonly report: JobReport };
/** @throws the reason of the signal */
export type RunJob = (request: JobRequest, signal: AbortSignal, tell: (news: JobNews) => void) => Promise<unknown>;
/** Undefined: this process does not have it. */
type Threads = { readonly rows: RunJob | undefined; readonly log: RunJob | undefined };

export type Jobs = ReturnType<typeof keepJobs>;

/**
 * Runs the jobs of one process, which another one does not know: one at a time, as each reads the whole log.
 */
export function keepJobs(threads: Threads, log: Logger) {
  /** The latest first. */
  let jobs: readonly Job[] = [];
  let ending = new AbortController();

  async function work(job: Job, { signal }: AbortController): Promise<void> {
    const { id, operator, kind, tenant } = job;
    const run = isLogJob(job) ? threads.log : threads.rows;
    log.info({ job: id, operator, kind, tenant }, 'an operator has begun a job');
    try {
      if (run === undefined) throw new Error('This process does not have the role projector: ask one that has it.');
      await run({ kind, tenant }, signal, (news) => {
        if ('report' in news) add(job, news.report);
        else job.progress = news;
      });
      job.state = 'done';
    } catch (error) {
      job.state = signal.aborted ? 'cancelled' : 'failed';
      if (!signal.aborted) job.error = messageOf(error);
    }
    job.endedAt = new Date().toISOString();
    log.info({ job: id, operator, state: job.state, error: job.error }, "an operator's job has ended");
  }

  return {
    /** Undefined: one is at work already. */
    start(request: JobRequest, operator: string): Job | undefined {
      if (jobs[0]?.state === 'running') return undefined;
      const begun = { id: randomUUID(), operator, startedAt: new Date().toISOString() };
      const job: Job = { ...request, ...begun, state: 'running', reports: [], tenantsDone: 0 };
      jobs = [job, ...jobs.slice(0, MAX_SHORT_PAGE)];
      ending = new AbortController();
      void work(job, ending);
      return job;
    },
    /** The latest first. */
    all: () => jobs,
    /** It ends within a second, and has changed nothing that was not reported. Undefined: it is not at work. */
    cancel(id: string): Job | undefined {
      const [latest] = jobs;
      if (latest?.id !== id || latest.state !== 'running') return undefined;
      ending.abort();
      return latest;
    },
  };
}

function add(job: Job, report: JobReport): void {
  const all = [...job.reports, report];
  job.reports = [...all.filter((each) => !isGood(each)).slice(0, MAX_ENTRIES), ...all.filter(isGood).slice(-1)];
  job.tenantsDone += 1;
}
