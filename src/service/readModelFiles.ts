/**
 * The files of the embedded read models, one for each lane. How many there are is settled when the first is made, and kept
 * beside them: a tenant's lane follows from it.
 */
import { existsSync } from 'node:fs';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Config, ConfigError } from '../config.js';
import { type Lane, lanesOf, ONLY_LANE } from '../projections/lanes.js';
import { LANES_FILE } from './dataDirectory.js';

type Settings = Pick<Config, 'DATA_DIR' | 'MONGODB_URL' | 'PROJECTION_LANES'>;

export const readModelFile = ({ DATA_DIR }: Pick<Config, 'DATA_DIR'>, { index }: Lane): string =>
  join(DATA_DIR, index === 0 ? 'readmodels.db' : `readmodels-${index + 1}.db`);

/** Made by the setting where there are no read models yet. @throws ConfigError where nobody knows how many there are */
export async function ownLanes(config: Settings): Promise<readonly Lane[]> {
  if (config.MONGODB_URL !== undefined) return [ONLY_LANE];
  // Before the number is looked for, as that is there before any of them is.
  const hasReadModels = existsSync(readModelFile(config, ONLY_LANE));
  const file = join(config.DATA_DIR, LANES_FILE);
  // Files from before there were lanes, or for one alone, need no number.
  if (!existsSync(file) && (hasReadModels || config.PROJECTION_LANES === 1)) return only(config);
  if (!existsSync(file)) await keep(file, config.PROJECTION_LANES);
  const count = Number(await readFile(file, 'utf8'));
  if (!Number.isSafeInteger(count) || count < 1) throw new ConfigError(`${file} does not hold a number of lanes.`);
  return lanesOf(count);
}

/** @throws ConfigError */
function only(config: Settings): readonly Lane[] {
  const second = readModelFile(config, { index: 1, of: 2 });
  if (!existsSync(second)) return [ONLY_LANE];
  throw new ConfigError(
    `${second} is there, and ${LANES_FILE} beside it is not: delete all readmodels*.db*, which are built again from the log.`,
  );
}

/** Of several processes one settles it. */
async function keep(file: string, count: number): Promise<void> {
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, `${count}\n`, { mode: 0o600 });
  await link(draft, file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  await rm(draft);
}
