/** The rebuilds, verifications and retries that operators ask this process for. Each has a thread, as no request waits for it. */
import { randomUUID } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import { threadLimits } from '../adapters/threadLimits.js';
import type { Config } from '../config.js';
import { KEPT_OPERATOR_WORK, OPERATOR_WORK_AT_ONCE } from '../domain/limits.js';
import type { JobProgress, JobReport, JobRequest, ProjectionJob, ProjectionJobs } from '../ports/projectionJobs.js';

export type JobThreadData = { readonly config: Config; readonly request: JobRequest };

export type JobMessage =
  | { readonly kind: 'progress'; readonly progress: JobProgress }
  | { readonly kind: 'report'; readonly report: JobReport }
  | { readonly kind: 'failed'; readonly error: Error };

export class OperatorJobs implements ProjectionJobs {
  readonly #config: Config;
  readonly #log: Logger;
  /** In the order of their start. */
  readonly #jobs = new Map<string, ProjectionJob>();
  readonly #running = new Map<string, { readonly worker: Worker; readonly ended: Promise<unknown> }>();

  constructor(config: Config, log: Logger) {
    this.#config = config;
    this.#log = log;
  }

  start(request: JobRequest, operator: string): ProjectionJob | undefined {
    if (this.#running.size >= OPERATOR_WORK_AT_ONCE) return undefined;
    const id = randomUUID();
    const job = { ...request, id, operator, state: 'running', startedAt: now(), reports: [] } as const;
    this.#jobs.set(id, job);
    const worker = new Worker(new URL('./projectionJobs.worker.js', import.meta.url), {
      workerData: { config: this.#config, request } satisfies JobThreadData,
      resourceLimits: threadLimits(16),
    });
    worker.on('message', (message: JobMessage) => this.#receive(id, message));
    worker.on('error', (error) => this.#receive(id, { kind: 'failed', error }));
    const ended = new Promise((resolve) => worker.once('exit', resolve)).then(() => this.#end(id));
    this.#running.set(id, { worker, ended });
    this.#log.info({ job: id, operator, ...request }, 'an operator has begun work on read models');
    return job;
  }

  all(): readonly ProjectionJob[] {
    return [...this.#jobs.values()].reverse();
  }

  cancel(id: string): boolean {
    const running = this.#running.get(id);
    running?.worker.postMessage('cancel');
    if (running !== undefined) this.#change(id, { state: 'cancelled' });
    return running !== undefined;
  }

  /** Cancels what is at work, and waits for its end. */
  async stop(): Promise<void> {
    for (const id of this.#running.keys()) this.cancel(id);
    await Promise.all([...this.#running.values()].map(({ ended }) => ended));
  }

  #receive(id: string, message: JobMessage): void {
    const job = this.#jobs.get(id);
    if (job === undefined) return;
    if (message.kind === 'progress') this.#change(id, { progress: message.progress });
    else if (message.kind === 'report') this.#change(id, { reports: [...job.reports, message.report] });
    else if (job.state === 'running') this.#change(id, { state: 'failed', error: message.error.message });
  }

  #change(id: string, changes: Partial<ProjectionJob>): void {
    const job = this.#jobs.get(id);
    if (job !== undefined) this.#jobs.set(id, { ...job, ...changes });
  }

  #end(id: string): void {
    this.#running.delete(id);
    const job = this.#jobs.get(id);
    if (job === undefined) return;
    // All of it was done before it could be cancelled.
    const isDone =
      job.state === 'running' || (job.state === 'cancelled' && job.reports.length >= job.projections.length);
    this.#change(id, { state: isDone ? 'done' : job.state, endedAt: now() });
    const { state, error, operator } = this.#jobs.get(id) ?? job;
    this.#log.info({ job: id, operator, state, error }, "an operator's work on read models has ended");
    const ended = [...this.#jobs.keys()].filter((each) => !this.#running.has(each));
    for (const old of ended.slice(0, -KEPT_OPERATOR_WORK)) this.#jobs.delete(old);
  }
}

const now = (): string => new Date().toISOString();
