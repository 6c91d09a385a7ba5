/** The rebuilds, verifications and retries that operators ask this process for: one at a time, as each reads the whole log. */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { KEPT_OPERATOR_WORK, MAX_JOB_REPORTS } from '../domain/limits.js';
import {
  isGood,
  type JobReport,
  type JobRequest,
  type RowJob,
  type RowJobs,
  type RunRowJob,
} from '../ports/rowJobs.js';

export class OperatorJobs implements RowJobs {
  readonly #run: RunRowJob;
  readonly #log: Logger;
  /** In the order of their start. */
  readonly #jobs = new Map<string, RowJob>();
  #running: { readonly id: string; readonly ending: AbortController; readonly ended: Promise<void> } | undefined;

  constructor(run: RunRowJob, log: Logger) {
    this.#run = run;
    this.#log = log;
  }

  start(request: JobRequest, operator: string): RowJob | undefined {
    if (this.#running !== undefined) return undefined;
    const id = randomUUID();
    const job: RowJob = {
      ...request,
      id,
      operator,
      state: 'running',
      startedAt: now(),
      reports: [],
      tenantsDone: 0,
      rows: 0,
    };
    this.#jobs.set(id, job);
    this.#log.info({ job: id, operator, ...request }, 'an operator has begun work on rows');
    const ending = new AbortController();
    const told = {
      onProgress: (progress: RowJob['progress']) => this.#change(id, progress === undefined ? {} : { progress }),
      onReport: (report: JobReport) => this.#report(id, report),
    };
    const ended = this.#run(request, told, ending.signal)
      .then(
        () => this.#change(id, { state: 'done' }),
        (error: unknown) => {
          if (ending.signal.aborted) return;
          this.#change(id, { state: 'failed', error: error instanceof Error ? error.message : String(error) });
        },
      )
      .then(() => this.#end(id));
    this.#running = { id, ending, ended };
    return job;
  }

  all(): readonly RowJob[] {
    return [...this.#jobs.values()].reverse();
  }

  cancel(id: string): boolean {
    if (this.#running?.id !== id) return false;
    this.#change(id, { state: 'cancelled' });
    this.#running.ending.abort(new Error('It was cancelled.'));
    return true;
  }

  /** Cancels what is at work, and waits for its end. */
  async stop(): Promise<void> {
    const running = this.#running;
    if (running === undefined) return;
    this.cancel(running.id);
    await running.ended;
  }

  #report(id: string, report: JobReport): void {
    const job = this.#jobs.get(id);
    if (job === undefined) return;
    const all = [...job.reports, report];
    const [bad, good] = [all.filter((each) => !isGood(each)), all.filter(isGood)];
    const reports = [...bad.slice(0, MAX_JOB_REPORTS), ...good.slice(-1)];
    this.#change(id, { reports, tenantsDone: job.tenantsDone + 1, rows: job.rows + report.rows });
  }

  #change(id: string, changes: Partial<RowJob>): void {
    const job = this.#jobs.get(id);
    if (job !== undefined) this.#jobs.set(id, { ...job, ...changes });
  }

  #end(id: string): void {
    this.#running = undefined;
    this.#change(id, { endedAt: now() });
    const job = this.#jobs.get(id);
    this.#log.info(
      { job: id, operator: job?.operator, state: job?.state, error: job?.error },
      "an operator's work on rows has ended",
    );
    for (const old of [...this.#jobs.keys()].slice(0, -KEPT_OPERATOR_WORK)) this.#jobs.delete(old);
  }
}

const now = (): string => new Date().toISOString();
