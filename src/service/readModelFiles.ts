/**
 * The files of the embedded read models, one for each lane. How many there are is settled when the first is made, and kept
 * beside them: a tenant's lane follows from it.
 */
import { existsSync } from 'node:fs';
import { link, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { type Config, ConfigError } from '../config.js';
import { LANE_RULE, type Lane, lanesOf, ONLY_LANE } from '../projector/lanes.js';
import { openProjectors } from './databaseLanes.js';
import { LANES_FILE } from './dataDirectory.js';

/** More are made only where the setting says so: with 5,000 tenants each takes 100 MB while it is filled. */
const MOST_LANES = 2;

type Settings = Pick<Config, 'DATA_DIR' | 'MONGODB_URL' | 'PROJECTION_LANES'>;

export const readModelFile = ({ DATA_DIR }: Pick<Config, 'DATA_DIR'>, { index }: Lane): string =>
  join(DATA_DIR, index === 0 ? 'readmodels.db' : `readmodels-${index + 1}.db`);

/** With what SQLite keeps beside them: a file of theirs, of whatever number of lanes. */
export const isReadModelFile = (name: string): boolean => /^readmodels(-\d+)?\.db/.test(name);

/** How many are made where there are no read models yet. */
export const lanesWanted = ({ PROJECTION_LANES: set }: Pick<Config, 'PROJECTION_LANES'>): number =>
  set ?? Math.min(availableParallelism(), MOST_LANES);

/** Made by the setting where there are no read models yet. @throws ConfigError where nobody knows how many there are */
export async function ownLanes(config: Settings): Promise<readonly Lane[]> {
  const projectors = await openProjectors(config);
  if (projectors !== undefined)
    return lanesOf(await projectors.settleLanes(lanesWanted(config)).finally(() => projectors.close()));
  // Before the number is looked for, as that is there before any of them is.
  const hasReadModels = existsSync(readModelFile(config, ONLY_LANE));
  const file = join(config.DATA_DIR, LANES_FILE);
  const wanted = lanesWanted(config);
  // Files from before there were lanes, or for one alone, need no number.
  if (!existsSync(file) && (hasReadModels || wanted === 1)) return only(config);
  if (!existsSync(file)) await keep(file, wanted);
  const [count, rule] = (await readFile(file, 'utf8')).trim().split(' ').map(Number);
  if (count === undefined || !Number.isSafeInteger(count) || count < 1)
    throw new ConfigError(`${file} does not hold a number of lanes.`);
  if (rule !== LANE_RULE) await resetFiles(config, file, count);
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

/** Another rule had the tenants in other lanes: the files are made again from the log. */
async function resetFiles({ DATA_DIR }: Settings, file: string, count: number): Promise<void> {
  for (const name of (await readdir(DATA_DIR)).filter(isReadModelFile)) await rm(join(DATA_DIR, name), { force: true });
  await rename(await drafted(file, count), file);
}

/** Of several processes one settles it. */
async function keep(file: string, count: number): Promise<void> {
  const draft = await drafted(file, count);
  await link(draft, file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  await rm(draft);
}

async function drafted(file: string, count: number): Promise<string> {
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, `${count} ${LANE_RULE}\n`, { mode: 0o600 });
  return draft;
}
