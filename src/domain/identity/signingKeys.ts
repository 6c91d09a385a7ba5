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

type StoredSigningKey = SealedKey & {
  /** When it has ceased to sign. */
  readonly retiredAt?: string;
};

/** In the order in which they came, but for revoked ones. */
export type StoredSigningKeys = readonly StoredSigningKey[];

/** @param at time of the event */
export function evolveSigningKeys(keys: StoredSigningKeys, event: SigningKeyEvent, at: string): StoredSigningKeys {
  switch (event.type) {
    case 'SigningKeyAdded':
      return [...keys.map((key) => ({ retiredAt: at, ...key })), sealed(event.data)];
    case 'SigningKeyAdopted':
      return [{ ...sealed(event.data), retiredAt: at }, ...keys];
    case 'SigningKeysRevoked': {
      const { kids } = event.data;
      return keys.filter(({ kid }) => !kids.includes(kid));
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

/** For which a key verifies after another one signs: longer than any token is valid. */
export const KEY_OVERLAP_HOURS = 25;

/** Keys whose tokens are accepted: the one that signs, then the others, the latest first. */
export const verifyingKeys = (keys: StoredSigningKeys, nowMs: number): StoredSigningKeys =>
  keys
    .filter(({ retiredAt }) => retiredAt === undefined || nowMs < Date.parse(retiredAt) + KEY_OVERLAP_HOURS * 3_600_000)
    .toReversed();
