/**
 * The keys that sign access tokens, evolved from one stream of the log, so that all processes have the same. One signs;
 * those before it verify until the tokens that they signed have expired.
 */
import type { EventOf } from '../eventTypes.js';

/** `sealedKey`: the private key, sealed under the installation's key for secrets. */
export type SealedKey = { readonly kid: string; readonly sealedKey: string };

export type SigningKeyEvent =
  /** It signs from now on. */
  | EventOf<'SigningKeyAdded', SealedKey>
  /** A key of an earlier release, from a data directory: it only verifies. */
  | EventOf<'SigningKeyAdopted', SealedKey>
  /** They verify no longer. */
  | EventOf<'SigningKeysRevoked', { readonly kids: readonly string[] }>
  /** The same keys, sealed under another key. */
  | EventOf<'SigningKeysResealed', { readonly keys: readonly SealedKey[] }>;

export type StoredSigningKey = SealedKey & {
  readonly addedAt: string;
  /** When it has ceased to sign. */
  readonly retiredAt?: string;
  readonly revoked?: true;
};

/** In the order in which they came. */
export type StoredSigningKeys = readonly StoredSigningKey[];

/** @param at time of the event */
export function evolveSigningKeys(keys: StoredSigningKeys, event: SigningKeyEvent, at: string): StoredSigningKeys {
  switch (event.type) {
    case 'SigningKeyAdded':
      return [...keys.map((key) => ({ retiredAt: at, ...key })), { ...sealed(event.data), addedAt: at }];
    case 'SigningKeyAdopted':
      return [...keys, { ...sealed(event.data), addedAt: at, retiredAt: at }];
    case 'SigningKeysRevoked': {
      const { kids } = event.data;
      return keys.map((key) => (kids.includes(key.kid) ? { retiredAt: at, ...key, revoked: true } : key));
    }
    case 'SigningKeysResealed': {
      const resealed = new Map(event.data.keys.map(({ kid, sealedKey }) => [kid, sealedKey]));
      return keys.map((key) => ({ ...key, sealedKey: resealed.get(key.kid) ?? key.sealedKey }));
    }
    default:
      return event satisfies never;
  }
}

const sealed = ({ kid, sealedKey }: SealedKey): SealedKey => ({ kid, sealedKey });

/** The key that signs; undefined before the first. */
export const signerOf = (keys: StoredSigningKeys): StoredSigningKey | undefined =>
  keys.find(({ retiredAt }) => retiredAt === undefined);

/**
 * Keys whose tokens are accepted: the one that signs, then the others, the latest first.
 * @param overlapMs how long a key verifies after it has ceased to sign
 */
export function verifyingKeys(keys: StoredSigningKeys, nowMs: number, overlapMs: number): StoredSigningKeys {
  const retiredMs = ({ retiredAt }: StoredSigningKey): number =>
    retiredAt === undefined ? Number.MAX_SAFE_INTEGER : Date.parse(retiredAt);
  return keys
    .filter((key) => !key.revoked && nowMs < retiredMs(key) + overlapMs)
    .toSorted((one, other) => retiredMs(other) - retiredMs(one));
}
