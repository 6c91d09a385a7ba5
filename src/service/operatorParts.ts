/** What the operator's console shows of the installation, from the parts that a process has (`api/operator/parts.ts`). */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { ServiceMetrics } from '../api/metrics.js';
import type { OperatorParts } from '../api/operator/parts.js';
import { TryAgainError } from '../commands/context.js';
import { type Config, settingsInUse } from '../config.js';
import { MAX_ENTRIES, MAX_SHORT_PAGE } from '../domain/limits.js';
import type { EventStore, Position } from '../ports/eventStore.js';
import type { MessageBroker } from '../ports/messageBroker.js';
import type { RowProgress } from '../ports/progress.js';
import {
  isGood,
  type JobReport,
  type JobRequest,
  type RowJob,
  type RowJobs,
  type RunRowJob,
} from '../ports/rowJobs.js';
import type { Directory } from '../projections/directory/directory.js';
import { singleFlight, TimeLimitError, withTimeout } from '../supervision/waiting.js';
import { endpointKey } from '../webhooks/gate.js';
import { BACKFILL_QUEUE, DELIVERY_QUEUE } from '../webhooks/queue.js';
import { machineChecks } from './checks.js';
import { diskBytes, freeBytes, lastBackupAt, logFileBytes } from './dataDirectory.js';
import { openBroker } from './engines.js';
import { heldWebhooks } from './webhooks.js';

/** An engine that takes longer counts as away, in milliseconds. */
const ANSWER_MS = 3_000;
/** Between two looks that a rate is made of, in milliseconds. */
const RATE_OVER_MS = 2_000;

type ServiceParts = {
  readonly log: Logger;
  readonly eventStore: EventStore;
  readonly progress: RowProgress;
  /** Undefined without the role projector. */
  readonly runJob: RunRowJob | undefined;
  readonly directory: Pick<Directory, 'parked' | 'signingKeys'>;
  readonly metrics: Pick<ServiceMetrics, 'registry'>;
  /** Undefined without the role webhooks: another one is opened for each look. */
  readonly broker: MessageBroker | undefined;
};

const notFollowing: RunRowJob = async () => {
  throw new Error('This process has not the role projector: ask one that has it.');
};

type OpenOperatorParts = OperatorParts & { stop(): Promise<void> };

export function openOperatorParts(config: Config, given: ServiceParts): OpenOperatorParts {
  const { log, eventStore, directory } = given;
  const jobs = new OperatorJobs(given.runJob ?? notFollowing, log);
  return {
    jobs,
    eventStore,
    parked: () => parkedTenants(given),
    projection: singleFlight(projectionOf(given)),
    openCircuits: () => openCircuits(given.metrics),
    queues: singleFlight(() => within(lookAtQueues(config, given.broker))),
    machine: singleFlight(() => machineOf(config)),
    signingKeys: () => directory.signingKeys,
    settings: () => settingsInUse(process.env),
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

/** As /metrics has them. */
async function openCircuits({ registry }: Pick<ServiceMetrics, 'registry'>): Promise<ReadonlySet<string>> {
  const { values = [] } = (await registry.getSingleMetric('webhook_circuit_open')?.get()) ?? {};
  const open = values.filter(({ value }) => value === 1);
  return new Set(
    open.map(({ labels: { tenant = '', webhook = '' } }) =>
      endpointKey({ tenant: String(tenant), webhookId: String(webhook) }),
    ),
  );
}

/** Remembers the position of an earlier look for the rate. */
function projectionOf({ eventStore, progress }: ServiceParts): OperatorParts['projection'] {
  type Look = { readonly at: number; readonly position: Position };
  let [earlier, last]: (Look | undefined)[] = [];
  return async () => {
    const head = await within(eventStore.head());
    const now = { at: performance.now(), position: progress.position };
    if (last === undefined || now.at - last.at >= RATE_OVER_MS) [earlier, last] = [last, now];
    const before = last === now ? earlier : last;
    const rate =
      before === undefined ? null : Math.max(0, (now.position - before.position) / ((now.at - before.at) / 1_000));
    return { head, position: now.position, rate, tenantsBehind: progress.behind(), filling: progress.filling().size };
  };
}

/** Undefined: the embedded queue was not made yet, and a look would make it. */
async function lookAtQueues(config: Config, given: MessageBroker | undefined) {
  if (given === undefined && config.RABBITMQ_URL === undefined && !existsSync(join(config.DATA_DIR, 'broker.db')))
    return undefined;
  const broker = given ?? (await openBroker(config, () => undefined));
  try {
    return await Promise.all(
      [DELIVERY_QUEUE, BACKFILL_QUEUE].map(async (name) => ({ name, ...(await broker.depth(name)) })),
    );
  } finally {
    if (given === undefined) await broker.close();
  }
}

async function machineOf(config: Config) {
  const { DATA_DIR, EVENTSTORE_URL } = config;
  const [free, size, log, backup] = await Promise.all([
    freeBytes(DATA_DIR),
    diskBytes(DATA_DIR),
    EVENTSTORE_URL === undefined ? logFileBytes(DATA_DIR) : null,
    lastBackupAt(DATA_DIR),
  ]);
  return {
    free,
    size,
    log,
    webhooksHeld: heldWebhooks(config)?.since,
    lastBackupAt: backup === undefined ? null : new Date(backup).toISOString(),
  };
}

type Job = { -readonly [Name in keyof RowJob]: RowJob[Name] };

/** The rebuilds, verifications and retries that operators ask this process for: one at a time, as each reads the whole log. */
class OperatorJobs implements RowJobs {
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
    const job: Job = { ...request, ...begun, state: 'running', reports: [], tenantsDone: 0 };
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
}
