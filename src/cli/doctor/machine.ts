/** Checks the data directory, and the pages of its databases. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { lookAtPages } from '../../adapters/damagedFiles.js';
import type { Config } from '../../config.js';
import type { Finding, Looked } from '../../service/checks.js';
import { prepareDataDirectory, ROWS } from '../../service/dataDirectory.js';
import { usersOf } from '../../service/directoryUse.js';
import { rowsDirectory } from '../../service/engines.js';
import { withProgressBar } from '../output.js';

/** @param pageSeconds see `pages` */
export async function files(config: Config, pageSeconds: number): Promise<Looked> {
  const { mended, open } = await prepareDataDirectory(config);
  const users = await usersOf(config.DATA_DIR);
  const used = users.length === 0 ? 'nobody uses it' : `in use by ${users.map(({ shown }) => shown).join(' and ')}`;
  const damage = await pages(config, pageSeconds);
  return {
    detail: `${config.DATA_DIR} is for its owner alone; ${used}; ${damage.detail}`,
    findings: [
      ...damage.findings,
      ...mended.map((path) => ({
        problem: `${path} could be read or written by others.`,
        remedy: 'They can no longer. Find out who has had access.',
      })),
      ...open.map((path) => ({
        problem: `Others can read or write ${path}.`,
        remedy: 'Make the user of the service its owner, with mode 0700 for directories and 0600 for files.',
      })),
    ],
  };
}

/** Files derived from the log, with what to do if one is damaged. */
const DERIVED: readonly (readonly [name: string, remedy: string])[] = [
  [
    'broker.db',
    'Nothing is lost: stop all processes and start again, which sets it aside and fills a new one from the event log. Nothing that was delivered is sent again.',
  ],
  ['directory.db', 'Nothing is lost: the next start removes it and makes a new one from the event log.'],
];

/** The files of tenants' rows, as `DERIVED`. */
function rowFiles(config: Config): typeof DERIVED {
  const directory = rowsDirectory(config);
  const names = existsSync(directory) ? readdirSync(directory) : [];
  return names.flatMap((name) => {
    const [, tenant] = /^([^.]+)\.db$/.exec(name) ?? [];
    if (tenant === undefined) return [];
    const remedy = `Nothing is lost: "dynamic-assets projections rebuild --tenant ${tenant}" fills another one from the event log, with or without the service.`;
    return [[join(ROWS, name), remedy]];
  });
}

/** Files that are named at most. */
const MAX_NAMED = 10;

/**
 * Checks the pages of the derived databases.
 * @param seconds no further table is checked after this time
 */
async function pages(config: Config, seconds: number): Promise<Looked> {
  const { DATA_DIR } = config;
  const derived = [...DERIVED.filter(([name]) => existsSync(join(DATA_DIR, name))), ...rowFiles(config)];
  const until = performance.now() + seconds * 1_000;
  const findings: Finding[] = [];
  const unlooked: string[] = [];
  await withProgressBar('pages of {step} {bar} {percentage}%', async (onProgress) => {
    for (const [name, remedy] of derived) {
      const file = join(DATA_DIR, name);
      const { faults, looked, tables } = lookAtPages(file, (done, all) => {
        onProgress(done, all, { step: name });
        return performance.now() < until;
      });
      if (faults.length > 0) findings.push({ problem: `${file} is damaged: ${faults.join('; ')}.`, remedy });
      else if (looked < tables) unlooked.push(`${name} (${looked} of ${tables} tables)`);
    }
  });
  const more = unlooked.length > MAX_NAMED ? ` and ${unlooked.length - MAX_NAMED} more` : '';
  const named = `${unlooked.slice(0, MAX_NAMED).join(', ')}${more}`;
  const rest = unlooked.length === 0 ? '' : `; not all pages were checked within ${seconds} s: ${named}`;
  return { detail: `${derived.length} databases made from the log are not damaged${rest}`, findings };
}
