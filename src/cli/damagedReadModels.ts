/** `projections rebuild` of embedded read models that are damaged or of another release: fills a new file from the log. */
import { setTimeout as wait } from 'node:timers/promises';
import { damageOf, fileNumber, isMarkedDamaged, markDamaged } from '../adapters/damagedFiles.js';
import { findOutdated, replaceByEmpty } from '../adapters/readmodels/sqlite/connections.js';
import { type Config, readConfig } from '../config.js';
import { projections } from '../projector/projections.js';
import { runProjections } from '../projector/runner.js';
import { prepareDataDirectory } from '../service/dataDirectory.js';
import { useDirectory, usersOf } from '../service/directoryUse.js';
import { openReadModelWriter, readModelFile } from '../service/engines.js';
import { openOwnLog } from '../service/ownLog.js';
import { CliError } from './errors.js';
import { refuseMissingLog } from './operator.js';

/** A running projector sets a marked file aside within a second. */
const SET_ASIDE_WITHIN_MS = 10_000;
const LOOK_MS = 100;

/** @returns a sentence if the file was replaced. @throws CliError if a service uses it but does not project */
export async function replaceUnreadable(config: Config = readConfig(process.env)): Promise<string | undefined> {
  if (config.MONGODB_URL !== undefined) return undefined;
  refuseMissingLog(config);
  await prepareDataDirectory(config);
  const file = readModelFile(config);
  const users = await usersOf(config.DATA_DIR);
  const outdated = findOutdated(file);
  if (outdated !== undefined && users.length === 0) {
    await refilled(config, () => replaceByEmpty(file));
    const { version } = outdated;
    return `${file} was of another release${version === undefined ? '' : ` (schema version ${version})`}: it is filled from the event log.`;
  }
  const damage = damageOf(file, { isWhole: true });
  if (damage === undefined && !isMarkedDamaged(file)) return undefined;
  const aside =
    users.length > 0
      ? await leftToService(file, users)
      : `it is ${await refilled(config, () => markDamaged(file))} now, and another one is filled from the event log`;
  return `${file} was damaged${damage === undefined ? '' : ` (${damage})`}: ${aside}.`;
}

async function leftToService(file: string, users: Awaited<ReturnType<typeof usersOf>>): Promise<string> {
  const number = fileNumber(file);
  markDamaged(file);
  for (let waited = 0; fileNumber(file) === number || isMarkedDamaged(file); waited += LOOK_MS) {
    if (waited > SET_ASIDE_WITHIN_MS) {
      const shown = users.map((user) => user.shown).join(' and ');
      throw new CliError(`${file} is damaged, and ${shown} cannot set it aside: start the role projector.`);
    }
    await wait(LOOK_MS);
  }
  return 'the service has set it aside, and fills another one from the event log';
}

/**
 * Fills the new file here, up to the end of the log, since no service does.
 * @param prepare empties the file, or marks it as damaged
 * @returns the name of the file that was set aside, '' if none was
 */
async function refilled(config: Config, prepare: () => void): Promise<string> {
  const use = await useDirectory(config.DATA_DIR, { what: 'dynamic-assets projections rebuild', alone: true });
  const eventStore = await openOwnLog(config, { acceptLog: false });
  let name = '';
  prepare();
  const writer = await openReadModelWriter(config, {
    onSetAside: (aside) => {
      name = aside;
    },
  });
  try {
    const head = await eventStore.head();
    const ending = new AbortController();
    const running = runProjections({ eventStore, writer, projections }, ending.signal);
    const isBehind = async (): Promise<boolean> => {
      const reached = await Promise.all(projections.map((each) => writer.checkpoint(each.name)));
      return Math.min(...reached) < head;
    };
    const filled = (async () => {
      while (await isBehind()) await wait(LOOK_MS);
    })();
    await Promise.race([filled, running]);
    ending.abort();
    await running;
    return name;
  } finally {
    await writer.close();
    await eventStore.close();
    use.release();
  }
}
