/** The keys that seal webhook secrets: from SECRETS_KEY, and one that is made once and kept in the data directory. */
import { randomBytes } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config.js';
import { SECRET_KEY_BYTES } from './secretBox.js';

/**
 * The first seals, all open: those of SECRETS_KEY, then the one in DATA_DIR, so that an installation can move from that
 * to SECRETS_KEY. Where there is none at all, one is made in DATA_DIR.
 * @throws Error when the file holds no key
 */
export async function installationKeys(
  config: Pick<Config, 'DATA_DIR' | 'SECRETS_KEY'>,
): Promise<readonly [Uint8Array, ...Uint8Array[]]> {
  const directory = join(config.DATA_DIR, 'keys');
  const file = join(directory, 'secrets.key');
  const kept = await readKey(file);
  const [first, ...others] = [...(config.SECRETS_KEY ?? []), ...(kept === undefined ? [] : [kept])];
  return first === undefined ? [await makeKey(directory, file)] : [first, ...others];
}

async function readKey(file: string): Promise<Uint8Array | undefined> {
  try {
    const key = Buffer.from(await readFile(file, 'utf8'), 'base64');
    if (key.length !== SECRET_KEY_BYTES) throw new Error(`The file ${file} must hold a key of 32 bytes in base64.`);
    return key;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Written whole under another name first: of several processes that start at once, the first one's key counts for all. */
async function makeKey(directory: string, file: string): Promise<Uint8Array> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const draft = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`;
  await writeFile(draft, randomBytes(SECRET_KEY_BYTES).toString('base64'), { mode: 0o600, flush: true });
  try {
    await link(draft, file);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
  const key = await readKey(file);
  if (key === undefined) throw new Error(`The key file ${file} vanished while it was made.`);
  return key;
}

const codeOf = (error: unknown): unknown =>
  typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
