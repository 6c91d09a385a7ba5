/** The rebuilds, verifications and retries that operators ask this process for: one at a time, as each reads the whole log. */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { MAX_ENTRIES, MAX_SHORT_PAGE } from '../domain/limits.js';
import {
  isGood,
  type JobReport,
  type JobRequest,
  type RowJob,
  type RowJobs,
  type RunRowJob,
} from '../ports/rowJobs.js';

type Job = { -readonly [Name in keyof RowJob]: RowJob[Name] };

export class OperatorJobs implements RowJobs {
  readonly #run: RunRowJob;
  readonly #log: Logger;
  /** The latest first. */
  #jobs: readonly Job[] = [];
  #running: { readonly job: Job; readonly ending: AbortController; readonly ended: Promise<void> } | undefined;

  constructor(run: RunRowJob, log: Logger) {
    this.#run = run;
    this.#log = log;
  }

  start(request: JobRequest, operator: string): RowJob | undefined {
    if (this.#running !== undefined) return undefined;
    const begun = { id: randomUUID(), operator, startedAt: new Date().toISOString() };
    const job: Job = { ...request, ...begun, state: 'running', reports: [], tenantsDone: 0, rows: 0 };
    this.#jobs = [job, ...this.#jobs.slice(0, MAX_SHORT_PAGE)];
    const ending = new AbortController();
    this.#running = { job, ending, ended: this.#work(job, request, ending.signal) };
    return job;
  }

  async #work(job: Job, request: JobRequest, signal: AbortSignal): Promise<void> {
    const { id, operator } = job;
    this.#log.info({ job: id, operator, ...request }, 'an operator has begun work on rows');
    const onProgress = (progress: Job['progress']): void => void Object.assign(job, { progress });
    try {
      await this.#run(request, { onProgress, onReport: (report) => add(job, report) }, signal);
      job.state = 'done';
    } catch (error) {
      // Else it was cancelled.
      if (!signal.aborted) {
        job.state = 'failed';
        job.error = error instanceof Error ? error.message : String(error);
      }
    }
    job.endedAt = new Date().toISOString();
    this.#running = undefined;
    const { state, error } = job;
    this.#log.info({ job: id, operator, state, error }, "an operator's work on rows has ended");
  }

  all(): readonly RowJob[] {
    return this.#jobs;
  }

  cancel(id: string): boolean {
    if (this.#running?.job.id !== id) return false;
    this.#running.job.state = 'cancelled';
    this.#running.ending.abort(new Error('It was cancelled.'));
    return true;
  }

  /** Cancels what is at work, and waits for its end. */
  async stop(): Promise<void> {
    const running = this.#running;
    if (running === undefined) return;
    this.cancel(running.job.id);
    await running.ended;
  }
}

function add(job: Job, report: JobReport): void {
  const all = [...job.reports, report];
  job.reports = [...all.filter((each) => !isGood(each)).slice(0, MAX_ENTRIES), ...all.filter(isGood).slice(-1)];
  job.tenantsDone += 1;
  job.rows += report.rows;
}
