/** What `/metrics` says of engines, disk, rows, queues and tenants, looked up at each scrape: without a value while it cannot be found, rather than an old one. */
import { Gauge, type Registry } from 'prom-client';
import { OTHERS, type ServiceMetrics, type TenantMetrics } from '../api/metrics.js';
import type { TenantUsage, Used } from '../api/tenantUsage.js';
import type { Config } from '../config.js';
import type { Tenant } from '../domain/identity/directory.js';
import { QUOTA_NAMES, QUOTAS } from '../domain/quotas.js';
import type { MessageBroker } from '../ports/messageBroker.js';
import type { ParkedTenant, RowProgress } from '../ports/progress.js';
import { singleFlight } from '../supervision/waiting.js';
import { lastBackupAt } from './dataDirectory.js';
import { diskBytes, freeBytes, logFileBytes } from './disk.js';
import { answerInTime, checkAll, type EngineProbes } from './health.js';

type Figure = number | undefined;
/** By name: what it says, and its value; without one while it cannot be found. */
type Gauges = { readonly [name: string]: readonly [help: string, value: () => Promise<Figure> | Figure] };

export function registerGauges(registry: Registry, gauges: Gauges): void {
  for (const [name, [help, value]] of Object.entries(gauges))
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
}

type Labelled = readonly (readonly [labels: { readonly [label: string]: string }, value: number])[];
type LabelledGauges = {
  readonly [name: string]: readonly [help: string, labels: readonly string[], values: () => Promise<Labelled>];
};

function registerLabelled(registry: Registry, gauges: LabelledGauges): void {
  for (const [name, [help, labelNames, values]] of Object.entries(gauges))
    new Gauge({
      registers: [registry],
      name,
      help,
      labelNames: [...labelNames],
      async collect() {
        const found = await values();
        this.reset();
        for (const [labels, value] of found) this.inc(labels, value);
      },
    });
}

type Seen = {
  readonly engines: EngineProbes;
  readonly head: () => Promise<number>;
  readonly setAside: () => number;
  readonly broker: Pick<MessageBroker, 'depth'> | undefined;
  readonly queues: readonly string[];
  readonly tenants: () => Iterable<Tenant>;
  readonly usage: TenantUsage;
};

export function registerFigures({ registry, tenants }: ServiceMetrics, config: Config, seen: Seen): void {
  const { DATA_DIR, EVENTSTORE_URL } = config;
  const isUp = async (): Promise<Labelled> =>
    Object.entries(await checkAll(seen.engines)).map(([engine, { ok }]) => [{ engine }, ok ? 1 : 0]);
  registerLabelled(registry, { engine_up: ['1 when the engine answers, 0 when it is away.', ['engine'], isUp] });
  registerGauges(registry, {
    data_directory_free_bytes: ['What the service may still write on the disk of DATA_DIR.', () => freeBytes(DATA_DIR)],
    data_directory_size_bytes: ['Size of the disk of DATA_DIR.', () => diskBytes(DATA_DIR)],
    backup_last_timestamp_seconds: [
      'When "dynamic-assets backup" was last done with this DATA_DIR, in seconds since 1970; 0 where it never was.',
      async () => ((await lastBackupAt(DATA_DIR)) ?? 0) / 1000,
    ],
    event_log_position: ['Position of the last event in the log, 0 while it is empty.', seen.head],
    damaged_files_set_aside: [
      'Damaged files of rows and of the broker that were set aside since this process started.',
      seen.setAside,
    ],
  });
  if (EVENTSTORE_URL === undefined)
    registerGauges(registry, {
      event_log_bytes: ['Size of the embedded event log with its write-ahead log.', () => logFileBytes(DATA_DIR)],
    });
  if (seen.broker !== undefined) ofQueues(registry, seen.broker, seen.queues);
  ofTenants(registry, tenants, seen);
}

/** @param lag positions that the rows are behind the log */
export function registerRowFigures(
  registry: Registry,
  progress: Pick<RowProgress, 'behind' | 'filling'>,
  lag: () => Promise<number>,
  parked: () => readonly ParkedTenant[],
): void {
  registerGauges(registry, {
    projection_lag_events: ['Positions of the log that the rows of tenants lack.', lag],
    projection_lag_seconds: [
      'Age of the oldest event that the rows of a tenant lack.',
      () => progress.behind()[0]?.seconds ?? 0,
    ],
    projections_parked: ['Tenants parked at an event that could not be applied.', () => parked().length],
    projections_filling: ['Tenants whose rows are made from the beginning.', () => progress.filling().size],
  });
}

const STATES = [
  ['ready', 'ready'],
  ['delayed', 'delayed'],
  ['inFlight', 'in_work'],
  ['dead', 'dead'],
] as const;

function ofQueues(registry: Registry, broker: Pick<MessageBroker, 'depth'>, queues: readonly string[]): void {
  // One call for both, which are collected at the same time. engine_up reports a broker that is away.
  const depths = singleFlight(() =>
    answerInTime(Promise.all(queues.map(async (queue) => [queue, await broker.depth(queue)] as const))).catch(() => []),
  );
  const messages = async (): Promise<Labelled> =>
    (await depths()).flatMap(([queue, depth]) => STATES.map(([key, state]) => [{ queue, state }, depth[key]] as const));
  const oldest = async (): Promise<Labelled> =>
    (await depths()).map(([queue, depth]) => [{ queue }, depth.oldestReadyMs / 1000]);
  registerLabelled(registry, {
    queue_messages: ['Messages in a queue: ready, delayed, in work, and dead letters.', ['queue', 'state'], messages],
    queue_oldest_ready_seconds: ['How long the first ready message of a queue has been waiting.', ['queue'], oldest],
  });
}

/** A tenant that has not synchronised for this long is shown only if there is room. */
const OVERDUE_MS = 30 * 86_400_000;
const TOGETHER = `of tenants without series of their own together, as ${OTHERS}.`;

function ofTenants(registry: Registry, metrics: TenantMetrics, { usage, tenants }: Pick<Seen, 'usage' | 'tenants'>) {
  const summed = async (of: (used: Used) => number | undefined): Promise<Labelled> => {
    const shown = metrics.shown();
    return (await usage.ofAll()).flatMap(([tenant, used]) => {
      const value = of(used);
      return value === undefined ? [] : [[{ tenant: shown.has(tenant) ? tenant : OTHERS }, value] as const];
    });
  };
  /** Of too many, those overdue longest. */
  const synchronized = async (value: (at: number) => number): Promise<Labelled> => {
    const all = (await usage.ofAll())
      .map(([tenant, used]) => [tenant, Math.max(used.synchronizedAt, metrics.synchronizedAt(tenant))] as const)
      .filter(([, at]) => at > 0)
      .sort(([, a], [, b]) => a - b);
    const since = Date.now() - OVERDUE_MS;
    const late = all.length <= metrics.limit ? all : all.filter(([, at]) => at > since);
    return late.slice(0, metrics.limit).map(([tenant, at]) => [{ tenant }, value(at) / 1000]);
  };
  const quotas = async (): Promise<Labelled> => {
    await usage.ofAll();
    const shown = metrics.shown();
    const own = [...tenants()].filter(({ name }) => shown.has(name));
    return own.flatMap((tenant) =>
      QUOTA_NAMES.flatMap((quota) => {
        const [limit, used] = [usage.limit(tenant, quota), usage.lastKnown(tenant, quota)];
        if (limit === 0 || used === undefined) return [];
        return [[{ tenant: tenant.name, quota: QUOTAS[quota].name }, used / limit] as const];
      }),
    );
  };
  registerLabelled(registry, {
    tenant_records: [`Records in all tables; ${TOGETHER}`, ['tenant'], () => summed(({ records }) => records)],
    tenant_log_bytes: [`Bytes of events in the log; ${TOGETHER}`, ['tenant'], () => summed(({ inLog }) => inLog.bytes)],
    tenant_last_sync_timestamp_seconds: [
      'When reference data was synchronised or changed last, in seconds since 1970; of too many tenants, those overdue longest.',
      ['tenant'],
      () => synchronized((at) => at),
    ],
    tenant_last_sync_age_seconds: [
      'How long ago reference data was synchronised or changed last; of too many tenants, those overdue longest.',
      ['tenant'],
      () => synchronized((at) => Math.max(0, Date.now() - at)),
    ],
    tenant_quota_used_ratio: [
      'Used share of each quota, where it is known; changes are refused from 1 on. Only of tenants with series of their own.',
      ['tenant', 'quota'],
      quotas,
    ],
  });
}
