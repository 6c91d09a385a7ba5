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
