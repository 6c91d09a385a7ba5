/** A start finds out whether this process has the installation's key for secrets, and sees to it that a key signs tokens. */
import { randomBytes } from 'node:crypto';
import type { SecretBox, TenantDirectory } from '../commands/context.js';
import { ensureSigningKeys, opens, signingKeysNow } from '../commands/identity/signingKeys.js';
import type { LogAccess } from '../commands/writeStream.js';
import type { Config } from '../config.js';
import { type StoredSigningKeys, signerOf } from '../domain/identity/signingKeys.js';
import { createSecretBox, installationKeys, knownInstallationKeys } from './secretBox.js';

type KeyConfig = Pick<Config, 'DATA_DIR' | 'SECRETS_KEY'>;

/** This process cannot open what the others have sealed, and they could not open what it seals. */
export class OtherSecretsKeyError extends Error {
  override readonly name = 'OtherSecretsKeyError';
  constructor(what: string) {
    super(
      `No key of this process opens ${what} of the event log: set the SECRETS_KEY of its other processes (the first ` +
        'one, if it has none, keeps it in keys/secrets.key in its data directory). Only if that key is lost, run ' +
        '"dynamic-assets keys rotate --lost-secrets-key".',
    );
  }
}

const SIGNING_KEY = 'the key that signs tokens';

type StartDeps = Pick<LogAccess, 'eventStore' | 'now' | 'newId'> & {
  readonly directory: Pick<TenantDirectory, 'waitFor'> & { readonly signingKeys: StoredSigningKeys };
};

/**
 * @returns the box for secrets, once a key that it opens signs tokens
 * @throws OtherSecretsKeyError; what the event store throws
 */
export async function openKeys(config: KeyConfig, deps: StartDeps): Promise<SecretBox> {
  const { directory } = deps;
  const hasSigner = signerOf(directory.signingKeys) !== undefined;
  const known = await knownInstallationKeys(config);
  if (known === undefined && hasSigner) throw new OtherSecretsKeyError(SIGNING_KEY);
  const secretBox = createSecretBox(...(known ?? (await installationKeys(config))));
  requireSigner(secretBox, directory.signingKeys);
  if (!hasSigner) {
    await directory.waitFor(await ensureSigningKeys({ ...deps, secretBox }));
    // Another process may have been first, under its own key.
    requireSigner(secretBox, await signingKeysNow(deps));
  }
  return secretBox;
}

/** @throws OtherSecretsKeyError */
function requireSigner(secretBox: SecretBox, keys: StoredSigningKeys): void {
  const signer = signerOf(keys);
  if (signer !== undefined && !opens(secretBox, signer.sealedKey)) throw new OtherSecretsKeyError(SIGNING_KEY);
}

/** For the command line: seals nothing under a key that is not the installation's. @throws what the event store throws */
export async function operatorsBox(config: KeyConfig, log: Pick<LogAccess, 'eventStore'>): Promise<SecretBox> {
  const signer = signerOf(await signingKeysNow(log));
  if (signer === undefined) return createSecretBox(...(await installationKeys(config)));
  const [key = randomBytes(32), ...others] = (await knownInstallationKeys(config)) ?? [];
  const secretBox = createSecretBox(key, ...others);
  if (opens(secretBox, signer.sealedKey)) return secretBox;
  const refuse = (): never => {
    throw new OtherSecretsKeyError(SIGNING_KEY);
  };
  return { ...secretBox, seal: refuse, reseal: refuse };
}
