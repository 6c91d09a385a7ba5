/**
 * Where each lane's read models are stored: a file of the embedded engine, or collections of a database. The number of
 * lanes is fixed when the first is created and stored beside them, since a tenant's lane depends on it.
 */
import { existsSync } from 'node:fs';
import { link, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { type Config, ConfigError } from '../config.js';
import type { Projectors } from '../ports/projectors.js';
import { LANE_RULE, type Lane, lanesOf, ONLY_LANE } from '../projector/lanes.js';
import { LANES_FILE } from './dataDirectory.js';

/** More only if set: with 5,000 tenants each lane takes 100 MB of memory while it is filled. */
const MOST_LANES = 2;

type Settings = Pick<Config, 'DATA_DIR' | 'MONGODB_URL' | 'PROJECTION_LANES'>;

export const readModelFile = ({ DATA_DIR }: Pick<Config, 'DATA_DIR'>, { index }: Lane): string =>
  join(DATA_DIR, index === 0 ? 'readmodels.db' : `readmodels-${index + 1}.db`);

/** By number and rule: what was shared out otherwise is not taken for it. Without lanes the names are those of before. */
export const collectionPrefix = ({ index, of }: Lane): string =>
  of === 1 ? '' : `lane${index + 1}of${of}r${LANE_RULE}_`;

/** Whether it is such a file, of any lane, or one that SQLite keeps beside it. */
export const isReadModelFile = (name: string): boolean => /^readmodels(-\d+)?\.db/.test(name);

/** The number of lanes for new read models. */
export const lanesWanted = ({ PROJECTION_LANES: set }: Pick<Config, 'PROJECTION_LANES'>): number =>
  set ?? Math.min(availableParallelism(), MOST_LANES);

/** The lanes of the stored read models; of new ones by the setting. @throws ConfigError if their number is lost */
export async function ownLanes(config: Settings): Promise<readonly Lane[]> {
  const projectors = await openProjectors(config);
  if (projectors !== undefined)
    return lanesOf(await projectors.settleLanes(lanesWanted(config)).finally(() => projectors.close()));
  // Checked before the number's file, which is written before any read models.
  const hasReadModels = existsSync(readModelFile(config, ONLY_LANE));
  const file = join(config.DATA_DIR, LANES_FILE);
  const wanted = lanesWanted(config);
  // A single lane, and files of releases without lanes, have no stored number.
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

/** Files partitioned by another rule are deleted and filled again from the log. */
async function resetFiles({ DATA_DIR }: Settings, file: string, count: number): Promise<void> {
  for (const name of (await readdir(DATA_DIR)).filter(isReadModelFile)) await rm(join(DATA_DIR, name), { force: true });
  await rename(await drafted(file, count), file);
}

/** If several processes start at once, the first one decides. */
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

/** Opens what several processes that project into one database share; undefined for the embedded engine. */
export async function openProjectors({
  MONGODB_URL: url,
}: Pick<Config, 'MONGODB_URL'>): Promise<Projectors | undefined> {
  if (url === undefined) return undefined;
  const { openMongoProjectors } = await import('../adapters/readmodels/mongodb/projectors.js');
  return openMongoProjectors(url);
}
