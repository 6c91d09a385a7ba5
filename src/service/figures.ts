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

export function figure(registry: Registry, name: string, help: string, value: () => Promise<Figure> | Figure): void {
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

function figures(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly string[],
  values: () => Promise<Labelled> | Labelled,
): void {
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
  figures(registry, 'engine_up', '1 when the engine answers, 0 when it is away.', ['engine'], async () =>
    Object.entries(await checkAll(seen.engines)).map(([engine, { ok }]) => [{ engine }, ok ? 1 : 0]),
  );
  ofDisk(registry, config);
  figure(registry, 'event_log_position', 'Position of the last event in the log, 0 while it is empty.', seen.head);
  figure(
    registry,
    'damaged_files_set_aside',
    'Damaged files of rows and of the broker that were set aside since this process started.',
    seen.setAside,
  );
  if (seen.broker !== undefined) ofQueues(registry, seen.broker, seen.queues);
  ofTenants(registry, tenants, seen.usage);
  ofQuotas(registry, tenants, seen.tenants, seen.usage);
}

function ofDisk(registry: Registry, { DATA_DIR, EVENTSTORE_URL }: Config): void {
  figure(registry, 'data_directory_free_bytes', 'What the service may still write on the disk of DATA_DIR.', () =>
    freeBytes(DATA_DIR),
  );
  figure(registry, 'data_directory_size_bytes', 'Size of the disk of DATA_DIR.', () => diskBytes(DATA_DIR));
  if (EVENTSTORE_URL === undefined)
    figure(registry, 'event_log_bytes', 'Size of the embedded event log with its write-ahead log.', () =>
      logFileBytes(DATA_DIR),
    );
  figure(
    registry,
    'backup_last_timestamp_seconds',
    'When "dynamic-assets backup" was last done with this DATA_DIR, in seconds since 1970; 0 where it never was.',
    async () => ((await lastBackupAt(DATA_DIR)) ?? 0) / 1000,
  );
}

/** @param lag positions that the rows are behind the log */
export function registerRowFigures(
  registry: Registry,
  progress: Pick<RowProgress, 'behind' | 'filling'>,
  lag: () => Promise<number>,
  parked: () => readonly ParkedTenant[],
): void {
  figure(registry, 'projection_lag_events', 'Positions of the log that the rows of tenants lack.', lag);
  figure(
    registry,
    'projection_lag_seconds',
    'Age of the oldest event that the rows of a tenant lack.',
    () => progress.behind()[0]?.seconds ?? 0,
  );
  figure(
    registry,
    'projections_parked',
    'Tenants parked at an event that could not be applied.',
    () => parked().length,
  );
  figure(
    registry,
    'projections_filling',
    'Tenants whose rows are made from the beginning.',
    () => progress.filling().size,
  );
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
  figures(
    registry,
    'queue_messages',
    'Messages in a queue: ready, delayed, in work, and dead letters.',
    ['queue', 'state'],
    async () =>
      (await depths()).flatMap(([queue, depth]) =>
        STATES.map(([key, state]) => [{ queue, state }, depth[key]] as const),
      ),
  );
  figures(
    registry,
    'queue_oldest_ready_seconds',
    'How long the first ready message of a queue has been waiting.',
    ['queue'],
    async () => (await depths()).map(([queue, depth]) => [{ queue }, depth.oldestReadyMs / 1000]),
  );
}

/** A tenant that has not synchronised for this long is shown only if there is room. */
const OVERDUE_MS = 30 * 86_400_000;

function ofTenants(registry: Registry, metrics: TenantMetrics, usage: TenantUsage): void {
  const summed = async (of: (used: Used) => number | undefined): Promise<Labelled> => {
    const shown = metrics.shown();
    const known = (await usage.ofAll()).map(([tenant, used]) => [tenant, of(used)] as const);
    return known.flatMap(([tenant, value]) =>
      value === undefined ? [] : [[{ tenant: shown.has(tenant) ? tenant : OTHERS }, value] as const],
    );
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
  const ofEach = (name: string, help: string, values: () => Promise<Labelled>): void =>
    figures(registry, name, help, ['tenant'], values);
  ofEach(
    'tenant_records',
    `Records in all tables; of tenants without series of their own together, as ${OTHERS}.`,
    () => summed(({ records }) => records),
  );
  ofEach(
    'tenant_log_bytes',
    `Bytes of events in the log; of tenants without series of their own together, as ${OTHERS}.`,
    () => summed(({ inLog }) => inLog.bytes),
  );
  ofEach(
    'tenant_last_sync_timestamp_seconds',
    'When reference data was synchronised or changed last, in seconds since 1970; of too many tenants, those overdue longest.',
    () => synchronized((at) => at),
  );
  ofEach(
    'tenant_last_sync_age_seconds',
    'How long ago reference data was synchronised or changed last; of too many tenants, those overdue longest.',
    () => synchronized((at) => Math.max(0, Date.now() - at)),
  );
}

function ofQuotas(
  registry: Registry,
  metrics: Pick<TenantMetrics, 'shown'>,
  tenants: () => Iterable<Tenant>,
  usage: TenantUsage,
): void {
  figures(
    registry,
    'tenant_quota_used_ratio',
    'Used share of each quota, where it is known; changes are refused from 1 on. Only of tenants with series of their own.',
    ['tenant', 'quota'],
    async () => {
      await usage.ofAll();
      const shown = metrics.shown();
      return [...tenants()]
        .filter(({ name }) => shown.has(name))
        .flatMap((tenant) =>
          QUOTA_NAMES.flatMap((quota) => {
            const limit = usage.limit(tenant, quota);
            const used = usage.lastKnown(tenant, quota);
            if (limit === 0 || used === undefined) return [];
            return [[{ tenant: tenant.name, quota: QUOTAS[quota].name }, used / limit] as const];
          }),
        );
    },
  );
}
