/** What the operator's console shows of the installation, from the parts that a process has (`api/operator/parts.ts`). */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { ServiceMetrics } from '../api/metrics.js';
import type { OperatorParts } from '../api/operator/parts.js';
import { TryAgainError } from '../commands/context.js';
import { type Config, settingsInUse } from '../config.js';
import { MAX_SHORT_PAGE } from '../domain/limits.js';
import type { EventStore, Position } from '../ports/eventStore.js';
import type { MessageBroker } from '../ports/messageBroker.js';
import type { RowProgress } from '../ports/progress.js';
import type { RunRowJob } from '../ports/rowJobs.js';
import type { Directory } from '../projections/directory/directory.js';
import { singleFlight, TimeLimitError, withTimeout } from '../supervision/waiting.js';
import { endpointKey } from '../webhooks/gate.js';
import { BACKFILL_QUEUE, DELIVERY_QUEUE } from '../webhooks/queue.js';
import { machineChecks, settingsCheck } from './checks.js';
import { lastBackupAt } from './dataDirectory.js';
import { diskBytes, freeBytes, logFileBytes } from './disk.js';
import { openBroker } from './engines.js';
import { OperatorJobs } from './rowJobs.js';
import { heldWebhooks } from './webhooks.js';

/** An engine that takes longer counts as away, in milliseconds. */
const ANSWER_MS = 3_000;
/** Between two looks that a rate is made of, in milliseconds. */
const RATE_OVER_MS = 2_000;

type ServiceParts = {
  readonly log: Logger;
  readonly eventStore: EventStore;
  readonly progress: RowProgress;
  readonly runJob: RunRowJob;
  readonly directory: Pick<Directory, 'parked' | 'signingKeys'>;
  readonly metrics: Pick<ServiceMetrics, 'registry'>;
  /** Undefined without the role webhooks: another one is opened when it is first asked for. */
  readonly broker: MessageBroker | undefined;
};

type OpenOperatorParts = OperatorParts & { stop(): Promise<void> };

export function openOperatorParts(config: Config, given: ServiceParts): OpenOperatorParts {
  const { log, eventStore, directory } = given;
  const jobs = new OperatorJobs(given.runJob, log);
  const queues = new Queues(config, given.broker);
  return {
    jobs,
    eventStore,
    parked: () => parkedTenants(given),
    projection: singleFlight(projectionOf(given)),
    openCircuits: () => openCircuits(given.metrics),
    queues: singleFlight(() => within(queues.read())),
    machine: singleFlight(() => machineOf(config)),
    signingKeys: () => directory.signingKeys,
    settings: () => settingsInUse(process.env),
    checks: singleFlight(async () => [await settingsCheck(config), ...(await machineChecks(config))]),
    async stop() {
      await jobs.stop();
      await queues.close();
    },
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

class Queues {
  readonly #config: Config;
  readonly #given: MessageBroker | undefined;
  #opened: Promise<MessageBroker> | undefined;

  constructor(config: Config, given: MessageBroker | undefined) {
    this.#config = config;
    this.#given = given;
  }

  async read() {
    const { RABBITMQ_URL, DATA_DIR } = this.#config;
    // Opening the embedded queue would make it.
    if (this.#given === undefined && RABBITMQ_URL === undefined && !existsSync(join(DATA_DIR, 'broker.db')))
      return undefined;
    const broker = this.#given ?? (await this.#open());
    return Promise.all(
      [DELIVERY_QUEUE, BACKFILL_QUEUE].map(async (name) => {
        const depth = await broker.depth(name);
        const deadLetters = depth.dead === 0 ? [] : await broker.deadLetters(name, MAX_SHORT_PAGE);
        return { name, ...depth, deadLetters };
      }),
    );
  }

  #open(): Promise<MessageBroker> {
    this.#opened ??= openBroker(this.#config, () => undefined).catch((error: unknown) => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  async close(): Promise<void> {
    await (await this.#opened?.catch(() => undefined))?.close();
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
