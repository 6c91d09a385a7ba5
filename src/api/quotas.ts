/** Refuses what would grow beyond a quota of its tenant, or into the reserve of the disk (507). */
import type { Request } from 'express';
import type { AssetType } from '../domain/assetTypes/assetType.js';
import { isObject } from '../domain/assetTypes/recordSchema.js';
import type { Tenant } from '../domain/identity/directory.js';
import { REPORTS_BEYOND_QUOTA_PERCENT } from '../domain/limits.js';
import { QUOTA_NAMES, QUOTAS, type Quota } from '../domain/quotas.js';
import type { TenantUsage } from '../projections/tenantUsage.js';
import type { Api } from './deps.js';
import { HttpError } from './errors.js';
import * as json from './openapi/schema.js';
import { type Call, knownAsset, type Operation } from './routes/operation.js';

export const quotaSchemas: json.Schemas = {
  QuotaUse: json.closedObject({ limit: json.orNull(json.count), used: json.orNull(json.count) }),
  Quotas: json.closedObject(Object.fromEntries(QUOTA_NAMES.map((quota) => [QUOTAS[quota].name, json.ref('QuotaUse')]))),
};

/** By their names in the API; `used` is null while it is not known. */
export type QuotaUses = { readonly [name: string]: { readonly limit: number | null; readonly used: number | null } };

export async function quotaUses(usage: TenantUsage, tenant: Tenant): Promise<QuotaUses> {
  const used = await usage.used(tenant.name);
  const uses = QUOTA_NAMES.map((quota) => {
    const limit = usage.limit(tenant, quota) || null;
    return [QUOTAS[quota].name, { limit, used: used?.[quota] ?? null }] as const;
  });
  return Object.fromEntries(uses);
}

const OF_REPORTS: readonly string[] = ['processing_status', 'error_reason'];

/** Whether the body reports the status of an order (spec §4.9) and changes nothing else. */
const isStatusReport = ({ method }: Request, assetType: AssetType | undefined, body: unknown): boolean =>
  method === 'PUT' &&
  assetType?.role === 'order' &&
  isObject(body) &&
  Object.keys(body).every((name) => OF_REPORTS.includes(name));

type Check = (call: Call) => Promise<void>;

/**
 * The check of an operation; undefined if it makes nothing grow. A report of a status goes on beyond the quota of the log, but
 * not for ever, and is never refused for the disk.
 */
export function growthCheck(api: Api, operation: Operation): Check | undefined {
  const { usage } = api;
  const { grows } = operation;
  if (grows === undefined) return undefined;
  /** @throws HttpError 507 */
  return async ({ req, query, body, tenant }) => {
    if (query.get('dry_run') === 'true') return;
    const isReport = isStatusReport(req, operation.tables === undefined ? undefined : knownAsset(req), body);
    if (!isReport) refuseForDisk(api);
    const quotas: readonly Quota[] = isReport ? ['logBytes'] : grows;
    const share = isReport ? 1 + REPORTS_BEYOND_QUOTA_PERCENT / 100 : 1;
    const usedUp = await usage.usedUp(tenant, quotas, share);
    if (usedUp === undefined) return;
    const { name, counts, remedy } = QUOTAS[usedUp.quota];
    throw new HttpError(
      507,
      'A quota of this tenant is used up; nothing was written.',
      `${name}: at most ${usedUp.limit} ${counts}, and there are ${usedUp.used}. ${remedy}`,
    );
  };
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
