/** Refuses what would grow beyond a quota of its tenant, or into the reserve of the disk (507). */
import type { Request } from 'express';
import type { AssetType } from '../domain/assetTypes/assetType.js';
import type { Tenant } from '../domain/identity/directory.js';
import { REPORTS_BEYOND_QUOTA_PERCENT } from '../domain/limits.js';
import { QUOTAS, type Quota } from '../domain/quotas.js';
import type { Api } from './deps.js';
import { HttpError } from './errors.js';
import { type Call, isTableOperation, knownAsset, type Operation } from './routes/operation.js';

const OF_REPORTS: readonly string[] = ['processing_status', 'error_reason'];

/** Whether the body reports the status of an order (spec §4.9) and changes nothing else. */
const isStatusReport = ({ method }: Request, assetType: AssetType | undefined, body: unknown): boolean =>
  method === 'PUT' &&
  assetType?.role === 'order' &&
  typeof body === 'object' &&
  body !== null &&
  Object.keys(body).every((name) => OF_REPORTS.includes(name));

const OF_REPORT: readonly Quota[] = ['logBytes'];

/**
 * The check of an operation; undefined if it makes nothing grow. Usually it answers at once, from figures in memory; before a
 * refusal they are looked up again. A report of a status goes on beyond the quota of the log, but not for ever, and is never
 * refused for the disk.
 */
export function growthCheck(
  api: Api,
  operation: Operation,
): ((call: Pick<Call, 'req' | 'query' | 'body' | 'tenant'>) => void | Promise<void>) | undefined {
  const { grows } = operation;
  if (grows === undefined) return undefined;
  return ({ req, query, body, tenant }) => {
    if (query.get('dry_run') === 'true') return;
    const assetType = isTableOperation(operation) ? knownAsset(req) : undefined;
    const isReport = isStatusReport(req, assetType, body);
    if (!isReport) refuseForDisk(api);
    const quotas = isReport ? OF_REPORT : grows;
    const hasRoom = quotas.every((quota) => (api.usage.known(tenant, quota) ?? 0) < end(api, tenant, quota, isReport));
    if (!hasRoom) return refuseForQuota(api, tenant, quotas, isReport);
  };
}

/** From here on it is refused. */
function end({ usage }: Api, tenant: Tenant, quota: Quota, isReport: boolean): number {
  const limit = usage.limit(tenant, quota);
  if (limit === 0) return Number.POSITIVE_INFINITY;
  return isReport ? limit * (1 + REPORTS_BEYOND_QUOTA_PERCENT / 100) : limit;
}

/** @throws HttpError 507 */
async function refuseForQuota(api: Api, tenant: Tenant, quotas: readonly Quota[], isReport: boolean): Promise<void> {
  for (const quota of quotas) {
    const used = (await api.usage.now(tenant, quota)) ?? 0;
    if (used < end(api, tenant, quota, isReport)) continue;
    const { name, counts, remedy } = QUOTAS[quota];
    throw new HttpError(
      507,
      'A quota of this tenant is used up; nothing was written.',
      `${name}: at most ${api.usage.limit(tenant, quota)} ${counts}, and there are ${used}. ${remedy}`,
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
