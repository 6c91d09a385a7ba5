/**
 * Keys that sign checkpoints: Ed25519, one file each in `<data directory>/keys/`, shared by all processes of the
 * installation. The file with the highest number signs; all of them verify, so earlier ones are kept.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { link, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../supervision/errorCode.js';

type CheckpointKey = { readonly privateKey: KeyObject; readonly publicKey: KeyObject };

/** Oldest first. */
export type CheckpointKeys = readonly [CheckpointKey, ...CheckpointKey[]];

const KEY_FILE = /^checkpoint-\d{4}\.pem$/;
const FIRST_KEY_FILE = 'checkpoint-0001.pem';

/**
 * Reads the keys of a directory, and makes the first one if there is none.
 * @throws Error that names a file without an Ed25519 private key
 */
export async function openCheckpointKeys(directory: string): Promise<CheckpointKeys> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const keys = (await readKeys(directory)) ?? (await makeKey(directory).then(() => readKeys(directory)));
  if (keys === undefined) throw new Error(`No key for checkpoints could be made in ${directory}.`);
  return keys;
}

async function readKeys(directory: string): Promise<CheckpointKeys | undefined> {
  const names = (await readdir(directory)).filter((name) => KEY_FILE.test(name)).sort();
  const [first, ...others] = await Promise.all(names.map((name) => readKey(join(directory, name))));
  return first === undefined ? undefined : [first, ...others];
}

async function readKey(file: string): Promise<CheckpointKey> {
  const privateKey = privateKeyIn(await readFile(file, 'utf8'));
  if (privateKey?.asymmetricKeyType !== 'ed25519')
    throw new Error(
      `${file} holds no Ed25519 private key: put it back from a backup; it shows who signed checkpoints.`,
    );
  return { privateKey, publicKey: createPublicKey(privateKey) };
}

function privateKeyIn(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
}

/** Written under another name, then linked: if several processes start at once, the first key counts for all. */
async function makeKey(directory: string): Promise<void> {
  const draft = join(directory, `.${randomUUID()}.tmp`);
  const pem = generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' });
  try {
    await writeFile(draft, pem, { flag: 'wx', mode: 0o600, flush: true });
    await link(draft, join(directory, FIRST_KEY_FILE));
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
}
