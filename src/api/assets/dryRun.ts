/** The parameter `dry_run`. */
import type { Request } from 'express';
import { MAX_DIFFERENCES } from '../../domain/limits.js';
import { badRequest } from '../errors.js';
import { idempotencyKeyOf } from '../idempotencyKey.js';
import type { QueryParameter } from '../routes/operation.js';

export const DRY_RUN: QueryParameter = {
  component: 'DryRun',
  name: 'dry_run',
  description: `true: checks, counts, shows the first ${MAX_DIFFERENCES} differences field by field, and writes nothing.`,
  schema: { type: 'boolean', default: false },
};

export function isDryRun(query: URLSearchParams): boolean {
  const value = query.get('dry_run') ?? 'false';
  if (value !== 'true' && value !== 'false') throw badRequest('dry_run must be true or false.');
  return value === 'true';
}

/** The Idempotency-Key of a change. @throws HttpError 400 if it is a dry run */
export function keyOfChange(req: Request, dryRun: boolean): string | undefined {
  const key = idempotencyKeyOf(req);
  if (key !== undefined && dryRun) throw badRequest('A dry run writes nothing: send it without Idempotency-Key.');
  return key;
}
