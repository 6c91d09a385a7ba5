/** Refuses what would grow beyond a quota of its tenant, or into the reserve of the disk (507). */
import type { Request } from 'express';
import type { AssetType } from '../domain/assetTypes/assetType.js';
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

type Check = (call: Pick<Call, 'req' | 'query' | 'body' | 'tenant'>) => Promise<void>;

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
    const isReport = isStatusReport(req, isTableOperation(operation) ? knownAsset(req) : undefined, body);
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
