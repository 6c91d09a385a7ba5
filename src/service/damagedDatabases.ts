/**
 * Checks the embedded engines' files before they are opened. With a damaged event log the service does not start.
 * Damaged files that were made from the log are set aside and made again.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { damageOf, isMarkedDamaged, markDamaged, setAside } from '../adapters/damagedFiles.js';
import { refuseDamagedLog } from '../adapters/eventstore/sqlite/logFile.js';
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
  const names = await readdir(DATA_DIR);
  const readModels = config.MONGODB_URL === undefined && roles.has('projector') ? names.filter(isDatabase) : [];
  // Another process would continue with the jobs in the renamed file.
  const isOnly = (await usersOf(DATA_DIR)).length <= 1;
  const broker = config.RABBITMQ_URL === undefined && roles.has('webhooks') && isOnly ? ['broker.db'] : [];
  const files = [...readModels, ...broker].map((name) => join(DATA_DIR, name));
  return files.filter((file) => isSetAside(file, log)).length;
}

const isDatabase = (name: string): boolean => isReadModelFile(name) && name.endsWith('.db');

function isSetAside(file: string, log: Logger): boolean {
  const damage = damageOf(file);
  if (damage === undefined && !isMarkedDamaged(file)) return false;
  markDamaged(file);
  const aside = setAside(file);
  log.error({ file, aside, damage }, 'a damaged file was set aside: a new one is filled from the event log');
  return true;
}
