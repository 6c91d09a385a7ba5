/** What the operator's console shows of the installation, from the parts that a process has (`api/operator/parts.ts`). */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { OperatorParts } from '../api/operator/parts.js';
import { TryAgainError } from '../commands/context.js';
import type { Config } from '../config.js';
import { MAX_ENTRIES, MAX_SHORT_PAGE } from '../domain/limits.js';
import type { EventStore } from '../ports/eventStore.js';
import type { Directory } from '../projections/directory/directory.js';
import type { Progress } from '../projections/progress.js';
import { isGood, type JobReport, type JobRequest, type RowJob, type RowJobs } from '../projections/rowJobs.js';
import { singleFlight, TimeLimitError, withTimeout } from '../supervision/waiting.js';
import { machineChecks } from './checks.js';
import { diskOf, lastBackupAt, logFileBytes } from './dataDirectory.js';
import type { RowsMessages, startRowsThread } from './rowsThread.js';
import { heldWebhooks } from './webhooks.js';

/** An engine that takes longer counts as away, in milliseconds. */
const ANSWER_MS = 3_000;
type RunRowJob = ReturnType<typeof startRowsThread>['run'];
type ServiceParts = {
  readonly log: Logger;
  readonly eventStore: EventStore;
  readonly progress: Pick<Progress, 'parked'>;
  /** Undefined without the role projector. */
  readonly runJob: RunRowJob | undefined;
  readonly directory: Pick<Directory, 'parked'>;
};

const notFollowing: RunRowJob = async () => {
  throw new Error('This process has not the role projector: ask one that has it.');
};

type OpenOperatorParts = OperatorParts & { stop(): Promise<void> };

export function openOperatorParts(config: Config, given: ServiceParts): OpenOperatorParts {
  const { log, eventStore } = given;
  const jobs = rowJobs(given.runJob ?? notFollowing, log);
  return {
    jobs,
    eventStore,
    parked: () => parkedTenants(given),
    head: singleFlight(() => within(eventStore.head())),
    machine: singleFlight(() => machineOf(config)),
    checks: singleFlight(() => machineChecks(config)),
    stop: () => jobs.stop(),
  };
}

/** Each parked tenant once: one that is parked in the directory may be in its rows too. */
export function parkedTenants({ directory, progress }: Pick<ServiceParts, 'directory' | 'progress'>) {
  const ofDirectory = directory.parked().map((each) => ({ ...each, what: 'directory' as const }));
  const names = new Set(ofDirectory.map(({ tenant }) => tenant));
  const ofRows = progress.parked().filter(({ tenant }) => !names.has(tenant));
  return [...ofDirectory, ...ofRows.map((each) => ({ ...each, what: 'rows' as const }))];
}

/** @throws TryAgainError if an engine does not answer in time */
const within = <T>(asked: Promise<T>): Promise<T> =>
  withTimeout(ANSWER_MS, `An engine did not answer within ${ANSWER_MS} ms.`, asked).catch((error: unknown) => {
    throw error instanceof TimeLimitError ? new TryAgainError(error.message) : error;
  });

async function machineOf(config: Config) {
  const { DATA_DIR, EVENTSTORE_URL } = config;
  const [disk, log, backup] = await Promise.all([
    diskOf(DATA_DIR),
    EVENTSTORE_URL === undefined ? logFileBytes(DATA_DIR) : null,
    lastBackupAt(DATA_DIR),
  ]);
  return {
    ...disk,
    log,
    webhooksHeld: heldWebhooks(config)?.since,
    lastBackupAt: backup === undefined ? null : new Date(backup).toISOString(),
  };
}

type Job = { -readonly [Name in keyof RowJob]: RowJob[Name] };

/** The rebuilds, verifications and retries that operators ask this process for: one at a time, as each reads the whole log. */
function rowJobs(run: RunRowJob, log: Logger): RowJobs & { stop(): Promise<void> } {
  /** The latest first. */
  let jobs: readonly Job[] = [];
  let running: { readonly job: Job; readonly ending: AbortController; readonly ended: Promise<void> } | undefined;

  async function work(job: Job, request: JobRequest, signal: AbortSignal): Promise<void> {
    const { id, operator } = job;
    log.info({ job: id, operator, ...request }, 'an operator has begun work on rows');
    const onProgress = (told: RowsMessages['progress']): void => {
      if ('report' in told) add(job, told.report);
      else job.progress = told;
    };
    try {
      await run(request, signal, onProgress);
      job.state = 'done';
    } catch (error) {
      job.state = signal.aborted ? 'cancelled' : 'failed';
      if (!signal.aborted) job.error = error instanceof Error ? error.message : String(error);
    }
    job.endedAt = new Date().toISOString();
    running = undefined;
    log.info({ job: id, operator, state: job.state, error: job.error }, "an operator's work on rows has ended");
  }

  function cancel(id: string): boolean {
    if (running?.job.id !== id) return false;
    running.ending.abort(new Error('It was cancelled.'));
    return true;
  }

  return {
    start(request, operator) {
      if (running !== undefined) return undefined;
      const begun = { id: randomUUID(), operator, startedAt: new Date().toISOString() };
      const job: Job = { ...request, ...begun, state: 'running', reports: [], tenantsDone: 0 };
      jobs = [job, ...jobs.slice(0, MAX_SHORT_PAGE)];
      const ending = new AbortController();
      running = { job, ending, ended: work(job, request, ending.signal) };
      return job;
    },
    all: () => jobs,
    cancel,
    async stop() {
      const { job, ended } = running ?? {};
      if (job !== undefined) cancel(job.id);
      await ended;
    },
  };
}

function add(job: Job, report: JobReport): void {
  const all = [...job.reports, report];
  job.reports = [...all.filter((each) => !isGood(each)).slice(0, MAX_ENTRIES), ...all.filter(isGood).slice(-1)];
  job.tenantsDone += 1;
}
