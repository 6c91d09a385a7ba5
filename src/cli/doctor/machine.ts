/** Checks this machine: settings, data directory, keys, and disk. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { lookAtPages } from '../../adapters/damagedFiles.js';
import type { Config } from '../../config.js';
import { prepareDataDirectory } from '../../service/dataDirectory.js';
import { usersOf } from '../../service/directoryUse.js';
import { freeBytes } from '../../service/diskReserve.js';
import { readModelFile } from '../../service/engines.js';
import { installationKeys } from '../../service/secretBox.js';
import { withProgressBar } from '../output.js';

/** A problem that a check has found. */
export type Finding = {
  /** A sentence that says what is wrong. */
  readonly problem: string;
  /** A sentence that says what to do. */
  readonly remedy: string;
};

/** The outcome of a check. */
export type Looked = {
  /** What was checked, if nothing is wrong. */
  readonly detail: string;
  readonly findings: readonly Finding[];
};

export type Checked = Looked & { readonly check: string };

/** A check that fails to run is a problem as well. */
export async function checked(check: string, remedy: string, look: () => Promise<Looked>): Promise<Checked> {
  try {
    return { check, ...(await look()) };
  } catch (error) {
    return {
      check,
      detail: '',
      findings: [{ problem: error instanceof Error ? error.message : String(error), remedy }],
    };
  }
}

/** A busy service fills this much within an hour. */
const LEAST_FREE_BYTES = 1024 ** 3;

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

export async function keys(config: Config): Promise<Looked> {
  const directory = join(config.DATA_DIR, 'keys');
  const names = existsSync(directory) ? await readdir(directory) : [];
  const signing = names.filter((name) => /^signing-\d{4}\.pem$/.test(name));
  const findings: Finding[] = [];
  for (const name of signing) {
    try {
      createPrivateKey(await readFile(join(directory, name)));
    } catch {
      const remedy = 'Put it back from a backup, or remove it: tokens that it signed end then.';
      findings.push({ problem: `${join(directory, name)} holds no private key.`, remedy });
    }
  }
  // Reads the key but does not create one.
  if (names.includes('secrets.key')) await installationKeys(config);
  const sealing = config.SECRETS_KEY === undefined ? 'keys/secrets.key' : 'SECRETS_KEY';
  return { detail: `${signing.length} sign tokens; webhook secrets are sealed under ${sealing}`, findings };
}

export async function disk(config: Config): Promise<Looked> {
  const { DATA_DIR, DISK_RESERVE } = config;
  const free = await freeBytes(DATA_DIR);
  const readModels = readModelFile(config);
  const rebuild = existsSync(readModels) ? (await stat(readModels)).size : 0;
  const remedy = 'Free some space, or move DATA_DIR to a larger disk while the service is stopped.';
  const findings: Finding[] = [];
  if (free < Math.max(LEAST_FREE_BYTES, DISK_RESERVE))
    findings.push({ problem: `${shown(free)} are free below ${DATA_DIR}.`, remedy });
  else if (free < rebuild) {
    const problem = `${shown(free)} are free below ${DATA_DIR}; a rebuild of all read models may need ${shown(rebuild)}.`;
    findings.push({ problem, remedy });
  }
  return { detail: `${shown(free)} are free`, findings };
}

export const shown = (bytes: number): string => `${(bytes / 1024 ** 3).toFixed(1)} GB`;

/** Files derived from the log, with what to do if one is damaged. */
const DERIVED: readonly (readonly [name: string, remedy: string])[] = [
  [
    'readmodels.db',
    'Nothing is lost: "dynamic-assets projections rebuild" sets it aside and fills a new one from the event log, with or without the service.',
  ],
  [
    'broker.db',
    'Nothing is lost: stop all processes and start again, which sets it aside and fills a new one from the event log. Nothing that was delivered is sent again.',
  ],
  ['directory.db', 'Nothing is lost: the next start removes it and makes a new one from the event log.'],
];

/**
 * Checks the pages of the derived databases.
 * @param seconds no further table is checked after this time
 */
async function pages({ DATA_DIR }: Config, seconds: number): Promise<Looked> {
  const derived = DERIVED.filter(([name]) => existsSync(join(DATA_DIR, name)));
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
  const rest = unlooked.length === 0 ? '' : `; not all pages were checked within ${seconds} s: ${unlooked.join(', ')}`;
  return { detail: `${derived.length} databases made from the log are not damaged${rest}`, findings };
}

/** Settings that are valid but contradict each other or this machine. Invalid ones end every command. */
export async function settings(config: Config): Promise<Looked> {
  const findings = [...unreached(config), ...(await certificate(config))];
  return { detail: 'they are consistent', findings };
}

/** A limit that another one always preempts. */
function unreached(config: Config): readonly Finding[] {
  const pairs = [
    ['WRITE_WAIT_MS', 'REQUEST_TIMEOUT_MS'],
    ['LIST_TIMEOUT_MS', 'REQUEST_TIMEOUT_MS'],
    ['WEBHOOK_ENDPOINT_CONCURRENCY', 'WEBHOOK_CONCURRENCY'],
  ] as const;
  return pairs
    .filter(([inner, outer]) => config[inner] > config[outer])
    .map(([inner, outer]) => ({
      problem: `${inner} (${config[inner]}) is above ${outer} (${config[outer]}), so it is never reached.`,
      remedy: `Set ${inner} to at most ${config[outer]}, or raise ${outer}.`,
    }));
}

async function certificate({ WEBHOOK_CA_FILE: file }: Config): Promise<readonly Finding[]> {
  if (file === undefined) return [];
  try {
    const { validTo } = new X509Certificate(await readFile(file));
    if (Date.parse(validTo) > Date.now()) return [];
    const problem = `The certificate in WEBHOOK_CA_FILE, ${file}, was valid until ${validTo}.`;
    return [
      {
        problem,
        remedy: 'Replace it, and restart the service: an expired certificate makes every webhook that needs it fail.',
      },
    ];
  } catch {
    const problem = `WEBHOOK_CA_FILE, ${file}, cannot be read as a certificate in PEM.`;
    return [{ problem, remedy: 'Name a PEM file that the user of the service can read.' }];
  }
}
