/** Idempotency-Key: a client's name for a request, so that sending it again has no further effect. */
import type { Request } from 'express';
import { MAX_IDEMPOTENCY_KEY_LENGTH } from '../domain/limits.js';
import { badRequest } from './errors.js';

/** Visible ASCII characters. */
const KEY = /^[!-~]+$/;

/** @throws HttpError 400 if the key is empty, too long, or has other characters */
export function idempotencyKeyOf({ headers }: Request): string | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key === 'string' && key.length <= MAX_IDEMPOTENCY_KEY_LENGTH && KEY.test(key)) return key;
  throw badRequest(
    `Idempotency-Key must have 1 to ${MAX_IDEMPOTENCY_KEY_LENGTH} visible ASCII characters, and be given once.`,
  );
}
