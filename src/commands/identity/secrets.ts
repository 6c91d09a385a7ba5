/** Client secrets and passwords: how they are made, hashed and compared. */
import { hash, randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import type { ApiClient } from '../../domain/identity/events.js';
import { MAX_PASSWORD_HASHES_WAITING_OF_TENANT } from '../../domain/limits.js';
import type { Cancellation } from '../../supervision/cancellation.js';
import { FairQueue } from '../../supervision/fairQueue.js';

/** A new client secret: 256 random bits, with a prefix that secret scanners can recognise. */
export const newClientSecret = (): string => `das_${randomBytes(32).toString('base64url')}`;

/** A password for the first sign-in, after which the user has to change it. */
export const newPassword = (): string => randomBytes(12).toString('base64url');

/** SHA-256, hex. Only for generated secrets: they cannot be guessed, so a slow hash would protect nothing. */
export const hashSecret = (secret: string): string => hash('sha256', secret, 'hex');

export function secretMatches(secret: string, keptHash: string): boolean {
  const kept = Buffer.from(keptHash, 'hex');
  return kept.length === 32 && timingSafeEqual(hash('sha256', secret, 'buffer'), kept);
}

/** Hashes of the secrets of a client that are valid now. */
export const liveHashes = ({ secretHash, previous }: ApiClient): readonly string[] =>
  previous === undefined || (previous.endsAt !== undefined && Date.parse(previous.endsAt) <= Date.now())
    ? [secretHash]
    : [secretHash, previous.secretHash];

/**
 * A short digest of the stored hash, which ties a token to the secret or password it was issued for: when the secret
 * changes, the digest changes, and the token ends.
 */
export const credentialOf = (keptHash: string): string => hash('sha256', keptHash, 'base64url').slice(0, 16);

// scrypt parameters as OWASP's password storage page gives them for interactive logins (N = 2^15, r = 8, p = 3).
const SCRYPT = { N: 2 ** 15, r: 8, p: 3, maxmem: 64 * 1024 * 1024 };
const KEY_BYTES = 32;
const SALT_BYTES = 16;

/** A hash takes 0.3 s of CPU and 32 MB, so few run at the same time, and tenants take turns. */
const hashing = new FairQueue({
  atOnce: 2,
  waitingOfGroup: MAX_PASSWORD_HASHES_WAITING_OF_TENANT,
});

const scryptKey = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

const derive = (tenant: string, password: string, salt: Buffer, cancellation?: Cancellation): Promise<Buffer> =>
  hashing.run(tenant, () => scryptKey(password.normalize('NFKC'), salt, KEY_BYTES, SCRYPT), cancellation);

const hashText = (salt: Buffer, key: Buffer): string =>
  `scrypt$${salt.toString('base64url')}$${key.toString('base64url')}`;

/**
 * `scrypt$<salt>$<key>`, base64url.
 * @param cancellation ends the wait in the queue
 * @throws TooManyWaitingError when the queue is full; the reason of the cancellation
 */
export async function hashPassword(tenant: string, password: string, cancellation?: Cancellation): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  return hashText(salt, await derive(tenant, password, salt, cancellation));
}

/** A hash of no password: comparing with it makes the answer for an unknown user take as long as for a known one. */
export const NOBODYS_HASH = hashText(randomBytes(SALT_BYTES), randomBytes(KEY_BYTES));

/** @throws as `hashPassword` */
export async function passwordMatches(
  tenant: string,
  password: string,
  keptHash: string,
  cancellation?: Cancellation,
): Promise<boolean> {
  const [, salt = '', key = ''] = keptHash.split('$');
  const kept = Buffer.from(key, 'base64url');
  const given = await derive(tenant, password, Buffer.from(salt, 'base64url'), cancellation);
  return kept.length === given.length && timingSafeEqual(kept, given);
}
