/**
 * Keys that sign access tokens: ES256 (P-256), one file each in `<data directory>/keys/`, shared by all processes of
 * the installation. The file with the highest number signs; all of them verify.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
} from 'node:crypto';
import { link, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export type SigningKey = { readonly kid: string; readonly privateKey: KeyObject; readonly publicKey: KeyObject };

/** Sorted by file name. */
type Keys = readonly [SigningKey, ...SigningKey[]];

const KEY_FILE = /^signing-\d{4}\.pem$/;
const FIRST_KEY_FILE = 'signing-0001.pem';

/** The directory is read again for a token with an unknown key id, but not more often than this. */
const REREAD_INTERVAL_MS = 1000;

export class SigningKeys {
  readonly #directory: string;
  #keys: Keys;
  #readAt = 0;
  #reading: Promise<void> | undefined;

  private constructor(directory: string, keys: Keys) {
    this.#directory = directory;
    this.#keys = keys;
  }

  /**
   * Reads the keys of a directory, and creates the first one if there is none.
   * @param directory created with mode 0700 if missing
   * @throws Error if a key file is not a P-256 private key
   */
  static async open(directory: string): Promise<SigningKeys> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    let keys = await readKeys(directory);
    if (keys === undefined) {
      await createKeyFile(directory, FIRST_KEY_FILE);
      keys = await readKeys(directory);
    }
    if (keys === undefined) throw new Error(`No signing key could be made in ${directory}.`);
    return new SigningKeys(directory, keys);
  }

  /** The key that signs. */
  get current(): SigningKey {
    return this.#keys.at(-1) ?? this.#keys[0];
  }

  /** The key with this id; reads the directory again if it is unknown. */
  async find(kid: string): Promise<SigningKey | undefined> {
    const known = this.#known(kid);
    if (known !== undefined) return known;
    await this.#reread();
    return this.#known(kid);
  }

  /** The public keys as a JWK set (RFC 7517 §5). */
  jwks() {
    const keys = this.#keys.map(({ kid, publicKey }) => {
      const { x, y } = publicKey.export({ format: 'jwk' });
      return { kty: 'EC', crv: 'P-256', x, y, kid, alg: 'ES256', use: 'sig' } as const;
    });
    return { keys };
  }

  #known(kid: string): SigningKey | undefined {
    return this.#keys.find((key) => key.kid === kid);
  }

  async #reread(): Promise<void> {
    if (this.#reading === undefined && Date.now() - this.#readAt >= REREAD_INTERVAL_MS) {
      this.#readAt = Date.now();
      this.#reading = readKeys(this.#directory)
        .then((keys) => {
          this.#keys = keys ?? this.#keys;
        })
        .finally(() => {
          this.#reading = undefined;
        });
    }
    await this.#reading;
  }
}

/** Undefined if there are none. */
async function readKeys(directory: string): Promise<Keys | undefined> {
  const names = (await readdir(directory)).filter((name) => KEY_FILE.test(name)).sort();
  const [first, ...others] = await Promise.all(
    names.map(async (name) => toSigningKey(await readFile(join(directory, name), 'utf8'), join(directory, name))),
  );
  return first === undefined ? undefined : [first, ...others];
}

/** @throws Error that names the file and the remedy */
function toSigningKey(pem: string, file: string): SigningKey {
  const privateKey = privateKeyIn(pem);
  if (privateKey?.asymmetricKeyDetails?.namedCurve !== 'prime256v1') {
    throw new Error(
      `${file} holds no P-256 private key, as signing tokens by ES256 needs: put it back from a backup, or remove it, which ends the tokens that it signed.`,
    );
  }
  const publicKey = createPublicKey(privateKey);
  return { kid: jwkThumbprint(publicKey), privateKey, publicKey };
}

function privateKeyIn(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
}

/** Key id of an EC public key: its SHA-256 thumbprint (RFC 7638 §3), base64url. */
function jwkThumbprint(publicKey: KeyObject): string {
  const { crv, kty, x, y } = publicKey.export({ format: 'jwk' });
  return createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url');
}

/**
 * Creates a key file atomically. If several processes do so at once, the first one's file stays, and all of them use
 * it.
 */
async function createKeyFile(directory: string, name: string): Promise<void> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const draft = join(directory, `.${randomUUID()}.tmp`);
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' });
  try {
    await writeFile(draft, pem, { flag: 'wx', mode: 0o600, flush: true });
    await link(draft, join(directory, name));
  } catch (error) {
    if (!isTaken(error)) throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

const isTaken = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === 'EEXIST';
