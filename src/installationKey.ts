/** The key that seals webhook secrets: from SECRETS_KEY, or made once and kept in the data directory. */
import { randomBytes } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from './config.js';
import { SECRET_KEY_BYTES } from './webhooks/secretBox.js';

export async function installationKey(config: Pick<Config, 'DATA_DIR' | 'SECRETS_KEY'>): Promise<Uint8Array> {
  if (config.SECRETS_KEY !== undefined) return Buffer.from(config.SECRETS_KEY, 'base64');
  const directory = join(config.DATA_DIR, 'keys');
  const file = join(directory, 'secrets.key');
  return (await readKey(file)) ?? (await makeKey(directory, file));
}

async function readKey(file: string): Promise<Uint8Array | undefined> {
  try {
    return Buffer.from(await readFile(file, 'utf8'), 'base64');
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
