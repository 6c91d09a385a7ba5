/** Cheap checks of files, keys and disk, each with a remedy: for `doctor`, and for the operator's console. */
import { existsSync } from 'node:fs';
import type { Config } from '../config.js';
import { diskOf, lastBackupAt, prepareDataDirectory } from './dataDirectory.js';
import { userOf } from './directoryUse.js';
import { installationKeys } from './keys.js';
import { HOW_TO_RESUME, heldSentence, heldWebhooks } from './webhooks.js';

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
export async function checked(check: string, remedy: string, find: () => Promise<Looked>): Promise<Checked> {
  try {
    return { check, ...(await find()) };
  } catch (error) {
    return {
      check,
      detail: '',
      findings: [{ problem: error instanceof Error ? error.message : String(error), remedy }],
    };
  }
}

/** What is missing is not made: it may be looked for at the wrong place. */
export async function machineChecks(config: Config): Promise<readonly Checked[]> {
  if (!existsSync(config.DATA_DIR)) return [];
  return [
    await checked('files', AS_ITS_USER, () => files(config)),
    await checked('keys', 'Put it back from a backup.', () => keys(config)),
    await checked('disk', AS_ITS_USER, () => disk(config)),
    await checked('webhooks', AS_ITS_USER, () => webhooks(config)),
  ];
}

const AS_ITS_USER = 'Run this as the user of the service, with its settings.';
const FOR_ITS_OWNER = 'Find out who has had access. Its owner is the user of the service, and its mode 0700.';

async function files(config: Config): Promise<Looked> {
  const problem = await prepareDataDirectory(config);
  const user = userOf(config.DATA_DIR);
  const used = user === undefined ? 'nobody uses it' : `in use by ${user.shown}`;
  return {
    detail: `${config.DATA_DIR} is for its owner alone; ${used}`,
    findings: problem === undefined ? [] : [{ problem, remedy: FOR_ITS_OWNER }],
  };
}

/** As in docs/alerts.yml. */
const BACKUP_OVERDUE_MS = 36 * 3_600_000;

/** For those who watch: `doctor` is run before the first backup too. */
export const backupCheck = (config: Config): Promise<Checked> =>
  checked('backup', AS_ITS_USER, async () => {
    const at = await lastBackupAt(config.DATA_DIR);
    const detail = at === undefined ? 'never with this DATA_DIR' : `the last at ${new Date(at).toISOString()}`;
    const problem = `The last backup is older than a day and a half, or there is none: ${detail}.`;
    const isLate = Date.now() - (at ?? 0) > BACKUP_OVERDUE_MS;
    return {
      detail,
      findings: isLate ? [{ problem, remedy: 'Run "dynamic-assets backup <directory>" each day.' }] : [],
    };
  });

/** A busy service fills this much within an hour. */
const LEAST_FREE_BYTES = 1024 ** 3;

async function keys(config: Config): Promise<Looked> {
  // Reads the key but does not create one.
  const found = await installationKeys(config);
  const sealing =
    config.SECRETS_KEY !== undefined ? 'SECRETS_KEY' : found === undefined ? 'none yet' : 'keys/secrets.key';
  return { detail: `the key that seals secrets can be read (${sealing})`, findings: [] };
}

async function webhooks(config: Config): Promise<Looked> {
  const held = heldWebhooks(config);
  if (held === undefined) return { detail: 'they are sent', findings: [] };
  return { detail: '', findings: [{ problem: heldSentence(held), remedy: HOW_TO_RESUME }] };
}

async function disk(config: Config): Promise<Looked> {
  const { DATA_DIR, DISK_RESERVE } = config;
  const { free } = await diskOf(DATA_DIR);
  const remedy = 'Free some space, or move DATA_DIR to a larger disk while the service is stopped.';
  const problem = `${shown(free)} are free below ${DATA_DIR}.`;
  const isLow = free < Math.max(LEAST_FREE_BYTES, DISK_RESERVE);
  return { detail: `${shown(free)} are free`, findings: isLow ? [{ problem, remedy }] : [] };
}

const shown = (bytes: number): string => `${(bytes / 1024 ** 3).toFixed(1)} GB`;
