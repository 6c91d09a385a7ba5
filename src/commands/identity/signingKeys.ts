/**
 * The keys that sign access tokens (ES256, P-256) in the log, sealed as secrets of webhooks are. So they also show whether
 * a process has the installation's key for secrets. Where several processes write at once, the first one counts.
 */
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import {
  evolveSigningKeys,
  type SealedKey,
  type SigningKeyEvent,
  type StoredSigningKey,
  type StoredSigningKeys,
  signerOf,
} from '../../domain/identity/signingKeys.js';
import { SIGNING_KEYS_STREAM } from '../../domain/streams.js';
import { type Caller, type SecretBox, UnopenableSecretError } from '../context.js';
import { type LogAccess, loadStream, writeStream } from '../writeStream.js';

export type SigningKey = { readonly kid: string; readonly privateKey: KeyObject; readonly publicKey: KeyObject };

type SigningKeyCommands = LogAccess & { readonly secretBox: SecretBox };

/** @returns undefined if the text is no P-256 private key */
function signingKeyFrom(pem: string): SigningKey | undefined {
  try {
    const privateKey = createPrivateKey(pem);
    if (privateKey.asymmetricKeyDetails?.namedCurve !== 'prime256v1') return undefined;
    const publicKey = createPublicKey(privateKey);
    return { kid: jwkThumbprint(publicKey), privateKey, publicKey };
  } catch {
    return undefined;
  }
}

/** Key id of an EC public key: its SHA-256 thumbprint (RFC 7638 §3), base64url. */
function jwkThumbprint(publicKey: KeyObject): string {
  const { crv, kty, x, y } = publicKey.export({ format: 'jwk' });
  return createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url');
}

/** @throws UnopenableSecretError */
export function openedKey(box: Pick<SecretBox, 'open'>, { kid, sealedKey }: SealedKey): SigningKey {
  const key = signingKeyFrom(box.open(sealedKey));
  if (key?.kid !== kid) throw new UnopenableSecretError(`The sealed signing key is not ${kid}.`);
  return key;
}

/** Whether this process has the key under which it was sealed. */
export function opens(box: Pick<SecretBox, 'open'>, sealed: string): boolean {
  try {
    box.open(sealed);
    return true;
  } catch (error) {
    if (error instanceof UnopenableSecretError) return false;
    throw error;
  }
}

const sealedBy = (box: SecretBox, { kid, privateKey }: SigningKey): SealedKey => ({
  kid,
  sealedKey: box.seal(privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()),
});

const newKey = (): SigningKey => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { kid: jwkThumbprint(publicKey), privateKey, publicKey };
};

const load = (eventStore: LogAccess['eventStore']) =>
  loadStream<StoredSigningKeys>(eventStore, SIGNING_KEYS_STREAM, (keys = [], { type, data, metadata }) =>
    evolveSigningKeys(keys, { type, data } as SigningKeyEvent, metadata.occurredAt),
  );

/** As the log has them now. */
export const signingKeysNow = async ({ eventStore }: Pick<LogAccess, 'eventStore'>): Promise<StoredSigningKeys> =>
  (await load(eventStore)).state ?? [];

/** @param decide see `Change` */
async function write(
  log: LogAccess,
  actor: Caller['actor'],
  decide: (keys: StoredSigningKeys) => readonly SigningKeyEvent[],
) {
  const id = log.newId();
  const caller: Caller = { tenant: '', actor, correlationId: id, causationId: id };
  return writeStream<StoredSigningKeys | undefined, SigningKeyEvent>(log, caller, {
    stream: SIGNING_KEYS_STREAM,
    load: () => load(log.eventStore),
    decide: (keys = []) => decide(keys),
  });
}

const BY_SERVICE = { kind: 'system', id: 'signing-keys' } as const;

/** Sees to it that there is a key that signs. @returns position of the last event; 0 when nothing changed */
export async function ensureSigningKeys(commands: SigningKeyCommands): Promise<number> {
  const made = sealedBy(commands.secretBox, newKey());
  const { position } = await write(commands, BY_SERVICE, (keys) =>
    signerOf(keys) === undefined ? [{ type: 'SigningKeyAdded', data: made }] : [],
  );
  return position;
}

/** `overlap`: earlier keys verify until their tokens have expired. `revoke`: they do not, so their tokens end now. */
export type Rotation = 'overlap' | 'revoke';

/**
 * A new key signs from now on.
 * @param rotation earlier keys that this process cannot open are revoked in any case
 * @returns its id, and the ids of revoked ones
 */
export async function rotateSigningKey(commands: SigningKeyCommands, actor: Caller['actor'], rotation: Rotation) {
  const key = sealedBy(commands.secretBox, newKey());
  let kids: readonly string[] = [];
  const { position } = await write(commands, actor, (keys) => {
    kids = keys.filter(endsNow).map(({ kid }) => kid);
    const revoked: readonly SigningKeyEvent[] =
      kids.length === 0 ? [] : [{ type: 'SigningKeysRevoked', data: { kids } }];
    return [...revoked, { type: 'SigningKeyAdded', data: key }];
  });
  return { position, kid: key.kid, revoked: kids };

  function endsNow({ revoked, sealedKey }: StoredSigningKey): boolean {
    return !revoked && (rotation === 'revoke' || !opens(commands.secretBox, sealedKey));
  }
}

/** Seals the keys again under the first key of SECRETS_KEY. Those that no key opens are left. @returns how many */
export async function resealSigningKeys(commands: SigningKeyCommands, actor: Caller['actor']): Promise<number> {
  let keys: readonly SealedKey[] = [];
  await write(commands, actor, (stored) => {
    keys = stored
      .filter(({ revoked, sealedKey }) => !revoked && opens(commands.secretBox, sealedKey))
      .flatMap(({ kid, sealedKey }) => {
        const resealed = commands.secretBox.reseal(sealedKey);
        return resealed === undefined ? [] : [{ kid, sealedKey: resealed }];
      });
    return keys.length === 0 ? [] : [{ type: 'SigningKeysResealed', data: { keys } }];
  });
  return keys.length;
}
