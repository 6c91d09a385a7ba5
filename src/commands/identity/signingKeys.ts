/**
 * The keys that sign access tokens (ES256, P-256) in the log, sealed as secrets of webhooks are. So they also show whether
 * a process has the installation's key for secrets. Where several processes write at once, the first one counts.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import {
  evolveSigningKeys,
  type SealedKey,
  type SigningKeyEvent,
  type StoredSigningKeys,
  signerOf,
} from '../../domain/identity/signingKeys.js';
import { SIGNING_KEYS_STREAM } from '../../domain/streams.js';
import type { RecordedEvent } from '../../ports/eventStore.js';
import { type Caller, type SecretBox, UnopenableSecretError } from '../context.js';
import { type LogAccess, loadStream, writeStream } from '../writeStream.js';

export type SigningKey = { readonly kid: string; readonly privateKey: KeyObject; readonly publicKey: KeyObject };

type SigningKeyCommands = LogAccess & { readonly secretBox: SecretBox };

/** @throws UnopenableSecretError */
export function openedKey(box: Pick<SecretBox, 'open'>, { kid, sealedKey }: SealedKey): SigningKey {
  const privateKey = createPrivateKey(box.open(sealedKey));
  return { kid, privateKey, publicKey: createPublicKey(privateKey) };
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

/** Sealed under the first key of SECRETS_KEY; undefined where it is already, and where no key opens it. */
export const resealed = (box: SecretBox, sealed: string): string | undefined =>
  opens(box, sealed) ? box.reseal(sealed) : undefined;

function newKey(box: SecretBox): SealedKey {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const kid = randomBytes(32).toString('base64url');
  return { kid, sealedKey: box.seal(privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()) };
}

const load = ({ eventStore }: Pick<LogAccess, 'eventStore'>) =>
  loadStream<StoredSigningKeys>(eventStore, SIGNING_KEYS_STREAM, evolve, []);

const evolve = (keys: StoredSigningKeys, { type, data, metadata }: RecordedEvent): StoredSigningKeys =>
  evolveSigningKeys(keys, { type, data } as SigningKeyEvent, metadata.occurredAt);

/** As the log has them now. */
export const signingKeysNow = async (log: Pick<LogAccess, 'eventStore'>): Promise<StoredSigningKeys> =>
  (await load(log)).state;

/** @param decide see `Change` */
async function write(
  log: LogAccess,
  actor: Caller['actor'],
  decide: (keys: StoredSigningKeys) => readonly SigningKeyEvent[],
) {
  const id = log.newId();
  const caller: Caller = { tenant: '', actor, correlationId: id, causationId: id };
  return writeStream(log, caller, { stream: SIGNING_KEYS_STREAM, load: () => load(log), decide });
}

const BY_SERVICE = { kind: 'system', id: 'signing-keys' } as const;

/** Sees to it that there is a key that signs. @returns position of the last event; 0 when nothing changed */
export async function ensureSigningKeys(commands: SigningKeyCommands): Promise<number> {
  const made = newKey(commands.secretBox);
  const { position } = await write(commands, BY_SERVICE, (keys) =>
    signerOf(keys) === undefined ? [{ type: 'SigningKeyAdded', data: made }] : [],
  );
  return position;
}

/**
 * A new key signs from now on. Earlier ones verify until their tokens have expired, unless they are revoked.
 * @param isRevoking those that this process cannot open are revoked in any case
 * @returns its id, and the ids of revoked ones
 */
export async function rotateSigningKey(commands: SigningKeyCommands, actor: Caller['actor'], isRevoking: boolean) {
  const key = newKey(commands.secretBox);
  let kids: readonly string[] = [];
  const { position } = await write(commands, actor, (keys) => {
    const ended = keys.filter(({ sealedKey }) => isRevoking || !opens(commands.secretBox, sealedKey));
    kids = ended.map(({ kid }) => kid);
    const revoked = kids.length === 0 ? [] : [{ type: 'SigningKeysRevoked', data: { kids } } as const];
    return [...revoked, { type: 'SigningKeyAdded', data: key }];
  });
  return { position, kid: key.kid, revoked: kids };
}

/** Seals the keys again under the first key of SECRETS_KEY. Those that no key opens are left. @returns how many */
export async function resealSigningKeys(commands: SigningKeyCommands, actor: Caller['actor']): Promise<number> {
  let keys: readonly SealedKey[] = [];
  await write(commands, actor, (stored) => {
    keys = stored.flatMap(({ kid, sealedKey: sealed }) => {
      const sealedKey = resealed(commands.secretBox, sealed);
      return sealedKey === undefined ? [] : [{ kid, sealedKey }];
    });
    return keys.length === 0 ? [] : [{ type: 'SigningKeysResealed', data: { keys } }];
  });
  return keys.length;
}
