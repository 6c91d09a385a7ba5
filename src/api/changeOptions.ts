/** How a change is to be carried out: as a dry run, or once for an Idempotency-Key. */
import type { Request } from 'express';
import type { WriteOptions } from '../commands/application.js';
import { MAX_STRING_LENGTH } from '../domain/limits.js';
import { badRequest } from './errors.js';
import type { Call, QueryParameter } from './routes/operation.js';

export const DRY_RUN: QueryParameter = {
  name: 'dry_run',
  description: 'true: checks, counts, shows the first of what would change, and writes nothing.',
  schema: { type: 'boolean', default: false },
};

export function isDryRun(query: URLSearchParams): boolean {
  const value = query.get('dry_run') ?? 'false';
  if (value !== 'true' && value !== 'false') throw badRequest('dry_run must be true or false.');
  return value === 'true';
}

/** @throws HttpError 400 */
export function writeOptionsOf({ req, query }: Call): WriteOptions {
  const dryRun = isDryRun(query);
  return { dryRun, key: dryRun ? undefined : idempotencyKeyOf(req) };
}

/** Visible ASCII characters. */
const KEY = /^[!-~]+$/;

/** @throws HttpError 400 if the key is empty, too long, or has other characters */
export function idempotencyKeyOf({ headers }: Request): string | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key === 'string' && key.length <= MAX_STRING_LENGTH && KEY.test(key)) return key;
  throw badRequest(`Idempotency-Key must have 1 to ${MAX_STRING_LENGTH} visible ASCII characters, and be given once.`);
}
