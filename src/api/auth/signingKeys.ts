/**
 * The keys that sign access tokens: ES256 (P-256), one file each in `<data directory>/keys/`, shared by all
 * processes of the installation. The file with the highest number signs; all of them verify.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
} from 'node:crypto';
import { constants } from 'node:fs';
import { link, mkdir, open, readdir, readFile, unlink } from 'node:fs/promises';
import { join } from 'node:path';

export type SigningKey = { readonly kid: string; readonly privateKey: KeyObject; readonly publicKey: KeyObject };

/** A public key as the JWKS document shows it (RFC 7517). */
export type PublicJwk = {
  readonly kty: 'EC';
  readonly crv: 'P-256';
  readonly x: string;
  readonly y: string;
  readonly kid: string;
  readonly alg: 'ES256';
  readonly use: 'sig';
};

const KEY_FILE = /^signing-\d{4}\.pem$/;
const FIRST_KEY_FILE = 'signing-0001.pem';

/** A token with an unknown key id makes us look at the directory, but not more often than this. */
const REREAD_INTERVAL_MS = 1000;

export class SigningKeys {
  readonly #directory: string;
  #byKid: ReadonlyMap<string, SigningKey>;
  #current: SigningKey;
  #readAt = 0;
  #reading: Promise<void> | undefined;

  private constructor(directory: string, keys: readonly [SigningKey, ...SigningKey[]]) {
    this.#directory = directory;
    this.#byKid = new Map(keys.map((key) => [key.kid, key]));
    this.#current = keys.at(-1) ?? keys[0];
  }

  /**
   * Reads the keys of a directory, and makes the first one where there is none.
   * @param directory made with mode 0700 when it is missing
   * @throws Error when a key file is no P-256 private key
   */
  static async open(directory: string): Promise<SigningKeys> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    let keys = await readKeys(directory);
    if (!isFilled(keys)) {
      await createKeyFile(directory, FIRST_KEY_FILE);
      keys = await readKeys(directory);
    }
    if (!isFilled(keys)) throw new Error(`No signing key could be made in ${directory}.`);
    return new SigningKeys(directory, keys);
  }

  /** The key that signs. */
  get current(): SigningKey {
    return this.#current;
  }

  /** The key with this id; looks at the directory again when it is unknown here. */
  async find(kid: string): Promise<SigningKey | undefined> {
    const known = this.#byKid.get(kid);
    if (known !== undefined) return known;
    await this.#reread();
    return this.#byKid.get(kid);
  }

  /** The public keys as a JWK set (RFC 7517 §5). */
  jwks(): { readonly keys: readonly PublicJwk[] } {
    return {
      keys: [...this.#byKid.values()].map(({ kid, publicKey }) => {
        const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
        return { kty: 'EC', crv: 'P-256', x, y, kid, alg: 'ES256', use: 'sig' };
      }),
    };
  }

  async #reread(): Promise<void> {
    if (this.#reading === undefined && Date.now() - this.#readAt >= REREAD_INTERVAL_MS) {
      this.#readAt = Date.now();
      this.#reading = readKeys(this.#directory)
        .then((keys) => {
          if (!isFilled(keys)) return;
          this.#byKid = new Map(keys.map((key) => [key.kid, key]));
          this.#current = keys.at(-1) ?? keys[0];
        })
        .finally(() => {
          this.#reading = undefined;
        });
    }
    await this.#reading;
  }
}

const isFilled = <T>(list: readonly T[]): list is readonly [T, ...T[]] => list.length > 0;

async function readKeys(directory: string): Promise<SigningKey[]> {
  const names = (await readdir(directory)).filter((name) => KEY_FILE.test(name)).sort();
  return Promise.all(names.map(async (name) => toSigningKey(await readFile(join(directory, name), 'utf8'), name)));
}

function toSigningKey(pem: string, name: string): SigningKey {
  const privateKey = createPrivateKey(pem);
  if (privateKey.asymmetricKeyDetails?.namedCurve !== 'prime256v1') {
    throw new Error(`${name} holds no P-256 key (ES256 needs one).`);
  }
  const publicKey = createPublicKey(privateKey);
  return { kid: jwkThumbprint(publicKey), privateKey, publicKey };
}

/** Key id of an EC public key: its SHA-256 thumbprint (RFC 7638 §3), base64url. */
function jwkThumbprint(publicKey: KeyObject): string {
  const { crv, kty, x, y } = publicKey.export({ format: 'jwk' });
  return createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url');
}

/**
 * Puts a new key file in place in one step. When several processes do so at once the first one's file
 * stays, and all of them go on with it.
 */
async function createKeyFile(directory: string, name: string): Promise<void> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const draft = join(directory, `.${randomUUID()}.tmp`);
  const file = await open(draft, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600);
  try {
    await file.writeFile(privateKey.export({ format: 'pem', type: 'pkcs8' }));
    await file.sync();
    await file.close();
    await link(draft, join(directory, name));
  } catch (error) {
    if (!isTaken(error)) throw error;
  } finally {
    await file.close();
    await unlink(draft);
  }
}

const isTaken = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === 'EEXIST';
