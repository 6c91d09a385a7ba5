/** What each tenant uses, as its rows say, and what is refused for a quota or for the disk (507). */
import type { Request } from 'express';
import { LRUCache } from 'lru-cache';
import type { AssetType } from '../domain/assetTypes/assetType.js';
import type { Tenant } from '../domain/identity/directory.js';
import { REPORTS_BEYOND_QUOTA_PERCENT } from '../domain/limits.js';
import { QUOTAS, type Quota, type Quotas } from '../domain/quotas.js';
import type { RowReads } from '../ports/rowStore.js';
import { recordsIn } from '../queries/records.js';
import { singleFlight, withTimeout } from '../supervision/waiting.js';
import type { Api } from './deps.js';
import { HttpError } from './errors.js';
import { type Call, isTableOperation, knownAsset, type Operation } from './routes/operation.js';

/** Tenants that are remembered; the least recently used are forgotten. */
const MAX_KEPT_FIGURES = 20_000;
/** Milliseconds that a figure may be old when it refuses a request. */
const QUOTA_CONFIRMED_WITHIN_MS = 100;
/** Milliseconds after which a figure that a quota is compared with is looked up again, while the tenant writes. */
const QUOTA_LOOKED_UP_EVERY_MS = 2_000;
/** A look-up is given up after this time, in milliseconds. */
const LOOK_LIMIT_MS = 3_000;

/** Undefined while its rows cannot be read. */
export type Used = { readonly [quota in Quota]: number | undefined };

type Figures = { used?: Used | undefined; lookedUpAt: number; readonly lookUp: () => Promise<void> };

export class TenantUsage {
  readonly #rows: Pick<RowReads, 'progress' | 'spaces'>;
  readonly #quotas: Quotas;
  readonly #figures = new LRUCache<string, Figures>({ max: MAX_KEPT_FIGURES });

  /** @param quotas the installation's, for tenants without their own */
  constructor(rows: Pick<RowReads, 'progress' | 'spaces'>, quotas: Quotas) {
    this.#rows = rows;
    this.#quotas = quotas;
  }

  /** The tenant's own quota, or the installation's; 0: no limit. */
  limit({ quotas }: Pick<Tenant, 'quotas'>, quota: Quota): number {
    return quotas?.[quota] ?? this.#quotas[quota];
  }

  /** What is used as far as it is known now. Has it looked up again if it is old. */
  known(tenant: string): Used | undefined {
    const figures = this.#of(tenant);
    if (performance.now() - figures.lookedUpAt > QUOTA_LOOKED_UP_EVERY_MS) void figures.lookUp();
    return figures.used;
  }

  /** What is used, at most a moment old. Never rejects. */
  async used(tenant: string): Promise<Used | undefined> {
    const figures = this.#of(tenant);
    if (performance.now() - figures.lookedUpAt > QUOTA_CONFIRMED_WITHIN_MS) await figures.lookUp();
    return figures.used;
  }

  #of(tenant: string): Figures {
    const kept = this.#figures.get(tenant);
    if (kept !== undefined) return kept;
    const lookUp = singleFlight(async () => {
      const looking = withTimeout(LOOK_LIMIT_MS, 'The rows cannot be read.', this.#find(tenant));
      figures.used = await looking.catch(() => undefined);
      figures.lookedUpAt = performance.now();
    });
    const figures: Figures = { lookedUpAt: Number.NEGATIVE_INFINITY, lookUp };
    this.#figures.set(tenant, figures);
    return figures;
  }

  async #find(tenant: string): Promise<Used> {
    const found = this.#rows.spaces(tenant).then((each) => [...(each ?? [])]);
    const [spaces, progress] = await Promise.all([found.catch(() => undefined), this.#rows.progress(tenant)]);
    return { logBytes: progress?.logBytes ?? 0, records: spaces && recordsIn(new Map(spaces)) };
  }
}

const OF_REPORTS: readonly string[] = ['processing_status', 'error_reason'];

/** Whether the body reports the status of an order (spec §4.9) and changes nothing else. */
const isStatusReport = ({ method }: Request, assetType: AssetType | undefined, body: unknown): boolean =>
  method === 'PUT' &&
  assetType?.role === 'order' &&
  typeof body === 'object' &&
  body !== null &&
  Object.keys(body).every((name) => OF_REPORTS.includes(name));

type Check = (call: Pick<Call, 'req' | 'query' | 'body' | 'tenant'>) => void | Promise<void>;

/**
 * The check of an operation; undefined if it makes nothing grow. Usually it answers at once, from figures in memory; before a
 * refusal they are looked up again. A report of a status goes on beyond the quota of the log, but not for ever, and is never
 * refused for the disk.
 */
export function growthCheck(api: Api, operation: Operation): Check | undefined {
  const { grows } = operation;
  if (grows === undefined) return undefined;
  return ({ req, query, body, tenant }) => {
    if (query.get('dry_run') === 'true') return;
    const isReport = isStatusReport(req, isTableOperation(operation) ? knownAsset(req) : undefined, body);
    if (!isReport) refuseForDisk(api);
    const quotas: readonly Quota[] = isReport ? ['logBytes'] : grows;
    const isUsedUp = (quota: Quota, used = 0): boolean => {
      const limit = api.usage.limit(tenant, quota);
      return limit > 0 && used >= (isReport ? limit * (1 + REPORTS_BEYOND_QUOTA_PERCENT / 100) : limit);
    };
    const usedUp = quotas.filter((quota) => isUsedUp(quota, api.usage.known(tenant.name)?.[quota]));
    if (usedUp.length > 0) return refuseForQuota(api, tenant, usedUp, isUsedUp);
  };
}

/** @throws HttpError 507 */
async function refuseForQuota(
  { usage }: Api,
  tenant: Tenant,
  quotas: readonly Quota[],
  isUsedUp: (quota: Quota, used: number | undefined) => boolean,
): Promise<void> {
  const all = await usage.used(tenant.name);
  for (const quota of quotas) {
    const used = all?.[quota];
    if (!isUsedUp(quota, used)) continue;
    const { name, counts, remedy } = QUOTAS[quota];
    throw new HttpError(
      507,
      'A quota of this tenant is used up; nothing was written.',
      `${name}: at most ${usage.limit(tenant, quota)} ${counts}, and there are ${used}. ${remedy}`,
    );
  }
}

/** @throws HttpError 507 */
function refuseForDisk({ disk: { free, reserve } }: Api): void {
  if (free >= reserve) return;
  throw new HttpError(
    507,
    'The disk of the service is nearly full; nothing was written.',
    `${free} bytes are free, and ${reserve} are kept in reserve (DISK_RESERVE). Reads, status reports, clean-ups and deletions go on; the operator has to free space.`,
  );
}
