/**
 * The keys of the installation: those that seal what is secret in the log and must be readable again, and those that sign
 * tokens, which are in the log themselves.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { link, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type SecretBox, type TenantDirectory, UnopenableSecretError } from '../commands/context.js';
import { ensureSigningKeys, opens, signingKeysNow } from '../commands/identity/signingKeys.js';
import type { LogAccess } from '../commands/writeStream.js';
import type { Config } from '../config.js';
import { signerOf } from '../domain/identity/signingKeys.js';
import { errorCode, writeWhole } from '../supervision/files.js';

const ALGORITHM = 'aes-256-gcm';
const SECRET_KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Names the format, so that it can change. */
const PREFIX = 'v1.';
const KEY_FILE = 'keys/secrets.key';

/**
 * AES-256-GCM (NIST SP 800-38D) with a random nonce: `v1.` and base64url of nonce, tag and cipher text. The key is not
 * named: the tag is valid under one key only.
 * @param key 32 bytes; seals and opens
 * @param others 32 bytes each; only open
 * @throws Error when a key has another length
 */
export function createSecretBox(key: Uint8Array, ...others: readonly Uint8Array[]): SecretBox {
  const keys = [key, ...others];
  if (keys.some(({ length }) => length !== SECRET_KEY_BYTES))
    throw new Error(`The secret key must have ${SECRET_KEY_BYTES} bytes.`);
  const open = (sealed: string): string => {
    for (const each of keys) {
      const plain = unsealed(each, sealed);
      if (plain !== undefined) return plain;
    }
    throw new UnopenableSecretError('A sealed secret cannot be opened: it was sealed under another key.');
  };
  return {
    seal: (plain) => sealedUnder(key, plain),
    open,
    reseal: (sealed) => (unsealed(key, sealed) === undefined ? sealedUnder(key, open(sealed)) : undefined),
  };
}

function sealedUnder(key: Uint8Array, plain: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
  const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
  return PREFIX + Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url');
}

/** Undefined if it was sealed under another key, or altered. @throws UnopenableSecretError for an unknown format */
function unsealed(key: Uint8Array, sealed: string): string | undefined {
  if (!sealed.startsWith(PREFIX)) throw new UnopenableSecretError('The sealed secret has an unknown form.');
  const bytes = Buffer.from(sealed.slice(PREFIX.length), 'base64url');
  const nonce = bytes.subarray(0, NONCE_BYTES);
  try {
    const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    const plain = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES));
    return Buffer.concat([plain, decipher.final()]).toString('utf8');
  } catch {
    // The tag is invalid under this key, or bytes are missing.
    return undefined;
  }
}

type KeyConfig = Pick<Config, 'DATA_DIR' | 'SECRETS_KEY'>;
type InstallationKeys = readonly [Uint8Array, ...Uint8Array[]];

/**
 * The keys of SECRETS_KEY, then the one kept in the data directory. The first seals, all open: so an installation can move
 * from the stored key to SECRETS_KEY.
 * @throws Error when the file holds no key
 */
export async function installationKeys({
  DATA_DIR,
  SECRETS_KEY = [],
}: KeyConfig): Promise<InstallationKeys | undefined> {
  const [first, ...others] = [...SECRETS_KEY, ...(await keysIn(join(DATA_DIR, KEY_FILE)))];
  return first === undefined ? undefined : [first, ...others];
}

/** The same; if there is none, one is made: of several processes that start at once, the first one's counts for all. */
export async function keptOrNewKeys(config: KeyConfig): Promise<InstallationKeys> {
  const kept = await installationKeys(config);
  if (kept !== undefined) return kept;
  await writeWhole(join(config.DATA_DIR, KEY_FILE), randomBytes(SECRET_KEY_BYTES).toString('base64'), link);
  return keptOrNewKeys(config);
}

async function keysIn(file: string): Promise<readonly Uint8Array[]> {
  try {
    const key = Buffer.from(await readFile(file, 'utf8'), 'base64');
    if (key.length !== SECRET_KEY_BYTES)
      throw new Error(
        `The file ${file} must hold a key of 32 bytes in base64: put it back from a backup. Without it no webhook secret that it sealed can be opened.`,
      );
    return [key];
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  }
}

/** This process cannot open what the others have sealed, and they could not open what it seals. */
export class OtherSecretsKeyError extends Error {
  constructor() {
    super(
      'No key of this process opens the key that signs tokens of the event log: set the SECRETS_KEY of its other processes (or the ' +
        'keys/secrets.key of the first). Only if that key is lost, run "dynamic-assets keys rotate --lost-secrets-key".',
    );
  }
}

/** @throws OtherSecretsKeyError if it does not open the key that signs tokens */
async function boxFor(config: KeyConfig, log: Pick<LogAccess, 'eventStore'>) {
  const signer = signerOf(await signingKeysNow(log));
  const keys = await (signer === undefined ? keptOrNewKeys(config) : installationKeys(config));
  const secretBox = keys && createSecretBox(...keys);
  if (secretBox === undefined || (signer !== undefined && !opens(secretBox, signer.sealedKey)))
    throw new OtherSecretsKeyError();
  return { secretBox, signer };
}

type StartDeps = Pick<LogAccess, 'eventStore' | 'now' | 'newId'> & {
  readonly directory: Pick<TenantDirectory, 'waitFor'>;
};

/**
 * @returns the box for secrets, once a key that it opens signs tokens
 * @throws OtherSecretsKeyError; what the event store throws
 */
export async function openKeys(config: KeyConfig, deps: StartDeps): Promise<SecretBox> {
  const { secretBox, signer } = await boxFor(config, deps);
  if (signer !== undefined) return secretBox;
  await deps.directory.waitFor(await ensureSigningKeys({ ...deps, secretBox }));
  // Another process may have been first, under its own key.
  return (await boxFor(config, deps)).secretBox;
}

/** For the command line: seals nothing under a key that is not the installation's. @throws what the event store throws */
export async function operatorsBox(config: KeyConfig, log: Pick<LogAccess, 'eventStore'>): Promise<SecretBox> {
  try {
    return (await boxFor(config, log)).secretBox;
  } catch (error) {
    if (!(error instanceof OtherSecretsKeyError)) throw error;
    const refuse = (): never => {
      throw error;
    };
    const [key = randomBytes(SECRET_KEY_BYTES), ...others] = (await installationKeys(config)) ?? [];
    return { ...createSecretBox(key, ...others), seal: refuse, reseal: refuse };
  }
}
