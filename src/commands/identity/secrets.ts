/** Secrets the service makes, and how they are kept. */
import { createHash, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import {
  MAX_PASSWORD_HASHES_WAITING,
  MAX_PASSWORD_HASHES_WAITING_OF_TENANT,
  PASSWORD_HASHES_AT_ONCE,
} from '../../domain/limits.js';
import type { Cancellation } from '../../supervision/cancellation.js';
import { FairQueue } from '../../supervision/fairQueue.js';

const SECRET_BYTES = 32;

/** A new client secret: 256 random bits, with a prefix that scanners for leaked secrets can know. */
export const newClientSecret = (): string => `das_${randomBytes(SECRET_BYTES).toString('base64url')}`;

/** A password for a first sign-in; to be changed. */
export const newPassword = (): string => randomBytes(12).toString('base64url');

/** SHA-256, hex. For generated secrets only: they cannot be guessed, so a slow hash would protect nothing. */
export const hashSecret = (secret: string): string => createHash('sha256').update(secret).digest('hex');

export function secretMatches(secret: string, hash: string): boolean {
  const given = Buffer.from(hashSecret(secret), 'hex');
  const kept = Buffer.from(hash, 'hex');
  return given.length === kept.length && timingSafeEqual(given, kept);
}

const DIGEST_LENGTH = 16;

/**
 * Ties a token to the secret or password it was given for: a short digest of the hash that is kept. With another secret
 * there is another digest, and the token ends.
 */
export const credentialOf = (keptHash: string): string =>
  createHash('sha256').update(keptHash).digest('base64url').slice(0, DIGEST_LENGTH);

// scrypt parameters as OWASP's password storage page gives them for interactive logins (N = 2^15, r = 8, p = 3).
const SCRYPT = { N: 2 ** 15, r: 8, p: 3, maxmem: 64 * 1024 * 1024 };
const KEY_BYTES = 32;
const SALT_BYTES = 16;

/** A hash takes 0.3 s of a processor and 32 MB, so few are made at once, and tenants take turns. */
const hashing = new FairQueue({
  atOnce: PASSWORD_HASHES_AT_ONCE,
  waiting: MAX_PASSWORD_HASHES_WAITING,
  waitingOfGroup: MAX_PASSWORD_HASHES_WAITING_OF_TENANT,
});

const derive = (tenant: string, password: string, salt: Buffer, cancellation?: Cancellation): Promise<Buffer> =>
  hashing.run(tenant, () => scryptKey(password, salt), cancellation);

const scryptKey = (password: string, salt: Buffer): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    scrypt(password.normalize('NFKC'), salt, KEY_BYTES, SCRYPT, (error, key) =>
      error === null ? resolve(key) : reject(error),
    );
  });

const hashText = (salt: Buffer, key: Buffer): string =>
  `scrypt$${salt.toString('base64url')}$${key.toString('base64url')}`;

/**
 * `scrypt$<salt>$<key>`, base64url.
 * @param cancellation ends the wait for others
 * @throws TooManyWaitingError when too many wait for theirs, the reason of the cancellation
 */
export async function hashPassword(tenant: string, password: string, cancellation?: Cancellation): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  return hashText(salt, await derive(tenant, password, salt, cancellation));
}

/** A hash that no password has, to be compared where there is no user: that takes as long. */
export const NOBODYS_HASH = hashText(randomBytes(SALT_BYTES), randomBytes(KEY_BYTES));

/**
 * @param cancellation ends the wait for others
 * @throws TooManyWaitingError when too many wait for theirs, the reason of the cancellation
 */
export async function passwordMatches(
  tenant: string,
  password: string,
  hash: string,
  cancellation?: Cancellation,
): Promise<boolean> {
  const [, salt = '', key = ''] = hash.split('$');
  const kept = Buffer.from(key, 'base64url');
  const given = await derive(tenant, password, Buffer.from(salt, 'base64url'), cancellation);
  return kept.length === given.length && timingSafeEqual(kept, given);
}
