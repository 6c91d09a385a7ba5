/** The health of the engines: the answer of /health/ready, and metrics collected at each scrape. */
import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { Gauge, type Registry } from 'prom-client';
import type { ApiDeps, ReadinessReport } from '../api/deps.js';
import type { Config } from '../config.js';
import type { MessageBroker, QueueDepth } from '../ports/messageBroker.js';
import type { ParkedTenant, RowProgress } from '../ports/progress.js';
import { behindText, parkedText } from '../projections/tenantTexts.js';
import { singleFlight, withTimeout } from '../supervision/waiting.js';
import { lastBackupAt } from './dataDirectory.js';
import { freeBytes } from './diskReserve.js';
import type { RowWatch } from './rowWatch.js';

/** A cheap call to each engine, by name; rejects if the engine is away. A text that it resolves with is shown. */
export type EngineProbes = { readonly [engine: string]: () => Promise<unknown> };

type Checks = ReadinessReport['checks'];

/** The caller waits for the report, so an engine that hangs counts as away. */
const PROBE_LIMIT_MS = 3_000;

type ReadinessParts = {
  readonly engines: EngineProbes;
  /** Undefined if another process follows the log for the rows. */
  readonly watch: Pick<RowWatch, 'trouble' | 'mistrust'> | undefined;
  /** Tenants that are parked here, in rows or in the directory. */
  readonly parked: () => readonly ParkedTenant[];
  readonly behind: RowProgress['behind'];
  /** The last failure of the thread that follows the log; undefined while it runs. */
  readonly rowsFailure: () => Error | undefined;
};

/** Concurrent callers share one answer, because anybody may ask at any rate. */
export function readiness(parts: ReadinessParts): ApiDeps['ready'] {
  const named = singleFlight(() => report(parts, true));
  const unnamed = singleFlight(() => report(parts, false));
  return (isNamed) => (isNamed ? named() : unnamed());
}

async function report(parts: ReadinessParts, isNamed: boolean): Promise<ReadinessReport> {
  const { engines, watch, parked, behind, rowsFailure } = parts;
  const probes: EngineProbes = {
    ...engines,
    projections: async () => {
      const failure = rowsFailure();
      if (failure !== undefined) throw failure;
      const trouble = await watch?.trouble();
      const sentences = [parkedText(parked(), isNamed), behindText(behind(), isNamed)];
      const text = [trouble, ...sentences].filter((each) => each !== undefined).join(' ');
      // While some tenants are parked or behind, the service stays ready for the others.
      if (trouble !== undefined) throw new Error(text);
      return text;
    },
  };
  const checks = await checkAll(probes);
  if (checks.projections?.ok === false) watch?.mistrust();
  return { ready: Object.values(checks).every(({ ok }) => ok), checks };
}

/** Asks all at once; never rejects. */
async function checkAll(probes: EngineProbes): Promise<Checks> {
  const checks = Object.entries(probes).map(async ([name, probe]) => [name, await check(probe)] as const);
  return Object.fromEntries(await Promise.all(checks));
}

async function check(probe: () => Promise<unknown>): Promise<Checks[string]> {
  try {
    const detail = await answerOf(probe());
    return typeof detail === 'string' && detail !== '' ? { ok: true, detail } : { ok: true };
  } catch (error) {
    return { ok: false, detail: error instanceof Error ? error.message : String(error) };
  }
}

const answerOf = <T>(asked: Promise<T>): Promise<T> =>
  withTimeout(PROBE_LIMIT_MS, `no answer within ${PROBE_LIMIT_MS} ms`, asked);

/** `engine_up`: 1 for each engine that answers, 0 for one that is away. */
export function registerEngineMetrics(registry: Registry, engines: EngineProbes): void {
  new Gauge({
    registers: [registry],
    name: 'engine_up',
    help: '1 when the engine answers, 0 when it is away.',
    labelNames: ['engine'],
    async collect() {
      for (const [engine, { ok }] of Object.entries(await checkAll(engines))) this.set({ engine }, ok ? 1 : 0);
    },
  });
}

/** `event_log_position`: moves with each stored event. No value while the log is away. */
export function registerLogMetrics(registry: Registry, head: () => Promise<number>): void {
  new Gauge({
    registers: [registry],
    name: 'event_log_position',
    help: 'Position of the last event in the log, 0 while it is empty.',
    async collect() {
      const position = await head().catch(() => undefined);
      if (position === undefined) this.remove();
      else this.set(position);
    },
  });
}

/** `damaged_files_set_aside`: the files are then filled again from the log. */
export function registerSetAsideMetrics(registry: Registry, count: () => number): void {
  new Gauge({
    registers: [registry],
    name: 'damaged_files_set_aside',
    help: 'Damaged files of rows and of the broker that were set aside since this process started.',
    collect() {
      this.set(count());
    },
  });
}

/** How far the rows are: lag in events and seconds, tenants that are parked, behind or being filled. */
export function registerRowMetrics(
  registry: Registry,
  progress: Pick<RowProgress, 'behind' | 'filling'>,
  lag: () => Promise<number>,
  parked: () => readonly ParkedTenant[],
): void {
  const register = (name: string, help: string, value: () => Promise<number> | number): void => {
    new Gauge({
      registers: [registry],
      name,
      help,
      async collect() {
        const found = await Promise.resolve()
          .then(value)
          .catch(() => undefined);
        if (found === undefined) this.remove();
        else this.set(found);
      },
    });
  };
  register('projection_lag_events', 'Positions of the log that the rows of tenants lack.', lag);
  register(
    'projection_lag_seconds',
    'Age of the oldest event that the rows of a tenant lack.',
    () => progress.behind()[0]?.seconds ?? 0,
  );
  register('projections_parked', 'Tenants parked at an event that could not be applied.', () => parked().length);
  register('projections_filling', 'Tenants whose rows are made from the beginning.', () => progress.filling().size);
}

const STATES = ['ready', 'delayed', 'inFlight', 'dead'] as const;

/** Messages in the queues. No values while the broker is away, rather than old ones. */
export function registerQueueMetrics(
  registry: Registry,
  broker: Pick<MessageBroker, 'depth'>,
  queues: readonly string[],
): void {
  // One call for both gauges, which are collected at the same time.
  const depths = singleFlight(
    (): Promise<ReadonlyMap<string, QueueDepth>> =>
      answerOf(Promise.all(queues.map(async (queue) => [queue, await broker.depth(queue)] as const)))
        .then((entries) => new Map(entries))
        // engine_up reports it.
        .catch(() => new Map()),
  );
  new Gauge({
    registers: [registry],
    name: 'queue_messages',
    help: 'Messages in a queue: ready, delayed, in work, and dead letters.',
    labelNames: ['queue', 'state'],
    async collect() {
      const found = await depths();
      this.reset();
      for (const [queue, counts] of found) {
        for (const state of STATES) this.set({ queue, state: state === 'inFlight' ? 'in_work' : state }, counts[state]);
      }
    },
  });
  new Gauge({
    registers: [registry],
    name: 'queue_oldest_ready_seconds',
    help: 'How long the first ready message of a queue has been waiting.',
    labelNames: ['queue'],
    async collect() {
      const found = await depths();
      this.reset();
      for (const [queue, { oldestReadyMs }] of found) this.set({ queue }, oldestReadyMs / 1000);
    },
  });
}

const LOG_FILES = ['events.db', 'events.db-wal'];

/** Size of the embedded event log with its write-ahead log. */
export async function logFileBytes(directory: string): Promise<number> {
  const sizes = LOG_FILES.map((name) =>
    stat(join(directory, name)).then(
      ({ size }) => size,
      () => 0,
    ),
  );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/** Size of the disk of a directory. */
export async function diskBytes(directory: string): Promise<number> {
  const { blocks, bsize } = await statfs(directory);
  return blocks * bsize;
}

/** Metrics of the data directory: free space, size of the embedded log, and the last backup. */
export function registerDiskMetrics(
  registry: Registry,
  { DATA_DIR, EVENTSTORE_URL }: Pick<Config, 'DATA_DIR' | 'EVENTSTORE_URL'>,
): void {
  const register = (name: string, help: string, value: () => Promise<number>): void => {
    new Gauge({
      registers: [registry],
      name,
      help,
      async collect() {
        const found = await value().catch(() => undefined);
        if (found === undefined) this.remove();
        else this.set(found);
      },
    });
  };
  register('data_directory_free_bytes', 'What the service may still write on the disk of DATA_DIR.', () =>
    freeBytes(DATA_DIR),
  );
  register('data_directory_size_bytes', 'Size of the disk of DATA_DIR.', () => diskBytes(DATA_DIR));
  if (EVENTSTORE_URL === undefined)
    register('event_log_bytes', 'Size of the embedded event log with its write-ahead log.', () =>
      logFileBytes(DATA_DIR),
    );
  register(
    'backup_last_timestamp_seconds',
    'When "dynamic-assets backup" was last done with this DATA_DIR, in seconds since 1970; 0 where it never was.',
    async () => ((await lastBackupAt(DATA_DIR)) ?? 0) / 1000,
  );
  new Gauge({
    registers: [registry],
    name: 'backup_age_seconds',
    help: 'How long ago "dynamic-assets backup" was last done with this DATA_DIR; missing where it never was.',
    async collect() {
      const at = await lastBackupAt(DATA_DIR);
      if (at === undefined) this.remove();
      else this.set(Math.max(0, (Date.now() - at) / 1000));
    },
  });
}
