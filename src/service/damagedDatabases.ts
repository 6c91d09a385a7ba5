/**
 * Checks the embedded engines' files before they are opened. A damaged event log ends the start. Files derived from the log
 * are set aside when damaged, and read models of another schema version are emptied: both are filled from the log again.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { damageOf, isMarkedDamaged, markDamaged, setAside } from '../adapters/damagedFiles.js';
import { refuseDamagedLog } from '../adapters/eventstore/sqlite/logFile.js';
import { otherSchemaVersion, replaceByEmpty } from '../adapters/readmodels/sqlite/connections.js';
import type { Config, Role } from '../config.js';
import { usersOf } from './directoryUse.js';
import { isReadModelFile } from './laneStorage.js';

type Settings = Pick<Config, 'DATA_DIR' | 'DURABILITY' | 'EVENTSTORE_URL' | 'MONGODB_URL' | 'RABBITMQ_URL'>;

/**
 * @returns how many files were set aside
 * @throws EventLogDamagedError
 */
export async function setDamagedAside(config: Settings, roles: ReadonlySet<Role>, log: Logger): Promise<number> {
  const { DATA_DIR } = config;
  if (config.EVENTSTORE_URL === undefined) refuseDamagedLog(join(DATA_DIR, 'events.db'), config.DURABILITY);
  const readModels = await readModelFiles(config, roles);
  // Another process would go on with the jobs in a file that is set aside.
  const isOnly = (await usersOf(DATA_DIR)).length <= 1;
  const broker = config.RABBITMQ_URL === undefined && roles.has('webhooks') && isOnly ? ['broker.db'] : [];
  const files = [...readModels, ...broker.map((name) => join(DATA_DIR, name))];
  return files.filter((file) => isSetAside(file, log)).length;
}

/** Empties read models that another release wrote. Only the projector's process does, which fills them. */
export async function emptyOutdated(config: Settings, roles: ReadonlySet<Role>, log: Logger): Promise<void> {
  for (const file of await readModelFiles(config, roles)) {
    const version = otherSchemaVersion(file);
    if (version === undefined) continue;
    replaceByEmpty(file);
    log.warn(
      { file, version },
      'these read models are of another release: they are filled from the event log, and the reads of their tenants are 503 until then',
    );
  }
}

/** The embedded read models that this process projects. */
async function readModelFiles(
  { DATA_DIR, MONGODB_URL }: Settings,
  roles: ReadonlySet<Role>,
): Promise<readonly string[]> {
  if (MONGODB_URL !== undefined || !roles.has('projector')) return [];
  const names = await readdir(DATA_DIR);
  return names.filter((name) => isReadModelFile(name) && name.endsWith('.db')).map((name) => join(DATA_DIR, name));
}

function isSetAside(file: string, log: Logger): boolean {
  const damage = damageOf(file);
  if (damage === undefined && !isMarkedDamaged(file)) return false;
  markDamaged(file);
  const aside = setAside(file);
  log.error({ file, aside, damage }, 'a damaged file was set aside: a new one is filled from the event log');
  return true;
}
