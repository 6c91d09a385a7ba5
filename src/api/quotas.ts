/** Refuses what would grow beyond a quota of its tenant, or into the reserve of the disk (507). */
import type { Request } from 'express';
import { untilTenantIsShown } from '../commands/catchUp.js';
import { isUsed } from '../commands/idempotency.js';
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

/** What a request makes grow. */
type Growth = {
  readonly quotas: readonly Quota[];
  /** A report goes on beyond the quota of the log, but not for ever, and is never refused for the disk. */
  readonly isReport: boolean;
  /** The table that an Idempotency-Key belongs to. */
  readonly table: string;
  /** The keys of the request's parts under one Idempotency-Key. */
  readonly keysOf: (key: string) => readonly string[];
};

const OF_REPORT: readonly Quota[] = ['logBytes'];

/**
 * The check of an operation; undefined if it makes nothing grow. Usually it answers at once, from figures in memory. Before
 * a refusal they are looked up again, and a repetition of a request that was accepted is let through: it has an answer.
 */
export function growthCheck(api: Api, operation: Operation): ((call: Call) => void | Promise<void>) | undefined {
  const { grows, keysOf } = operation;
  if (grows === undefined) return undefined;
  return ({ req, query, body, tenant }) => {
    if (query.get('dry_run') === 'true') return;
    const assetType = isTableOperation(operation) ? knownAsset(req) : undefined;
    const isReport = isStatusReport(req, assetType, body);
    const quotas = isReport ? OF_REPORT : grows;
    const hasRoom = quotas.every((quota) => (api.usage.known(tenant, quota) ?? 0) < end(api, tenant, quota, isReport));
    if (hasRoom && (isReport || refusalByDisk(api) === undefined)) return;
    const table = assetType?.name ?? (String(req.params.table ?? '') || tenant.orderModel);
    return refuse(api, req, { quotas, isReport, table, keysOf: (key) => keysOf?.(key, body) ?? [key] });
  };
}

/** From here on it is refused. */
function end({ usage }: Api, tenant: Tenant, quota: Quota, isReport: boolean): number {
  const limit = usage.limit(tenant, quota);
  if (limit === 0) return Number.POSITIVE_INFINITY;
  return isReport ? limit * (1 + REPORTS_BEYOND_QUOTA_PERCENT / 100) : limit;
}

/** @throws HttpError 507 */
async function refuse(api: Api, req: Request, growth: Growth): Promise<void> {
  const { context, headers } = req;
  const ofDisk = growth.isReport ? undefined : refusalByDisk(api);
  const refusal = ofDisk ?? (await refusalByQuota(api, context.tenant, growth));
  if (refusal === undefined) return;
  const key = headers['idempotency-key'];
  if (typeof key !== 'string' || !(await areAccepted(api, req, growth, growth.keysOf(key)))) throw refusal;
}

/** @throws TryAgainError while the rows do not show what the tenant has written: a key may be used in it */
async function areAccepted(
  { commands }: Api,
  { context }: Request,
  { table }: Growth,
  keys: readonly string[],
): Promise<boolean> {
  await untilTenantIsShown(commands, context.caller());
  for (const key of keys) if (!(await isUsed(commands, context.caller(), { table, key }))) return false;
  return keys.length > 0;
}

async function refusalByQuota(api: Api, tenant: Tenant, { quotas, isReport }: Growth): Promise<HttpError | undefined> {
  for (const quota of quotas) {
    const used = (await api.usage.now(tenant, quota)) ?? 0;
    if (used < end(api, tenant, quota, isReport)) continue;
    const { name, counts, remedy } = QUOTAS[quota];
    return new HttpError(
      507,
      'A quota of this tenant is used up; nothing was written.',
      `${name}: at most ${api.usage.limit(tenant, quota)} ${counts}, and there are ${used}. ${remedy}`,
    );
  }
  return undefined;
}

function refusalByDisk({ disk: { free, reserve } }: Api): HttpError | undefined {
  if (free >= reserve) return undefined;
  return new HttpError(
    507,
    'The disk of the service is nearly full; nothing was written.',
    `${free} bytes are free, and ${reserve} are kept in reserve (DISK_RESERVE). Reads, status reports, clean-ups and deletions go on; the operator has to free space.`,
  );
}
