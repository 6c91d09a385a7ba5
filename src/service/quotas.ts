/** Opens what the quotas of tenants are compared with, and shows it in /metrics. */
import { Gauge, type Registry } from 'prom-client';
import { OTHERS, type ServiceMetrics } from '../api/metrics.js';
import { TenantUsage, type UsageSource } from '../api/tenantUsage.js';
import type { Config } from '../config.js';
import type { Tenant } from '../domain/identity/directory.js';
import { LogTally } from '../domain/logUsage.js';
import { QUOTA_NAMES, QUOTAS, type Quotas } from '../domain/quotas.js';
import type { EventStore } from '../ports/eventStore.js';
import { type DiskReserve, openDiskReserve } from './diskReserve.js';
import { LogUsage } from './logUsage.js';

type QuotaConfig = Pick<Config, 'QUOTA_LOG_BYTES' | 'QUOTA_RECORDS'>;

/** The installation's quotas. */
export const quotasOf = (config: QuotaConfig): Quotas => ({
  logBytes: config.QUOTA_LOG_BYTES,
  records: config.QUOTA_RECORDS,
});

type Parts = Pick<UsageSource, 'queries'> & {
  readonly eventStore: EventStore;
  readonly directory: UsageSource['directory'] & { tenants(): Iterable<Tenant> };
  readonly metrics: ServiceMetrics;
  /** Whether this process refuses requests; otherwise it counts nothing. */
  readonly isApi: boolean;
  /** Called when counting is interrupted; it goes on by itself. */
  readonly onError: (error: unknown) => void;
};

type OpenQuotas = { readonly usage: TenantUsage; readonly disk: DiskReserve; stop(): Promise<void> };

/** @throws what the event store throws */
export async function openQuotas(config: Config, parts: Parts): Promise<OpenQuotas> {
  const { eventStore, queries, directory, metrics, isApi, onError } = parts;
  const log = isApi ? await LogUsage.start(eventStore, config, onError) : undefined;
  const usage = new TenantUsage({
    log: log ?? { tally: new LogTally() },
    queries,
    directory,
    quotas: quotasOf(config),
  });
  if (isApi) registerQuotaMetrics(metrics, directory, usage);
  return { usage, disk: openDiskReserve(config), stop: async () => log?.stop() };
}

function registerQuotaMetrics(
  { registry, tenants }: { readonly registry: Registry } & Pick<ServiceMetrics, 'tenants'>,
  directory: Pick<Parts['directory'], 'tenants'>,
  usage: TenantUsage,
): void {
  new Gauge({
    registers: [registry],
    name: 'tenant_log_bytes',
    help: `Bytes of events in the log; of tenants without series of their own together, as ${OTHERS}.`,
    labelNames: ['tenant'],
    collect() {
      this.reset();
      const shown = tenants.shown();
      for (const tenant of directory.tenants())
        this.inc({ tenant: shown.has(tenant.name) ? tenant.name : OTHERS }, usage.known(tenant, 'logBytes') ?? 0);
    },
  });
  new Gauge({
    registers: [registry],
    name: 'tenant_quota_used_ratio',
    help: 'Used share of each quota, where it is known; changes are refused from 1 on. Only of tenants with series of their own.',
    labelNames: ['tenant', 'quota'],
    collect() {
      this.reset();
      const shown = tenants.shown();
      for (const tenant of directory.tenants()) {
        if (!shown.has(tenant.name)) continue;
        for (const quota of QUOTA_NAMES) {
          const limit = usage.limit(tenant, quota);
          const used = usage.lastKnown(tenant, quota);
          if (limit > 0 && used !== undefined)
            this.set({ tenant: tenant.name, quota: QUOTAS[quota].name }, used / limit);
        }
      }
    },
  });
}
