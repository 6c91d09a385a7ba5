/** Checks: what each finds, where it is asked, and those of files, keys and disk, which need nothing that is open. */
import { existsSync } from 'node:fs';
import type { Checked } from '../api/deps.js';
import type { Config } from '../config.js';
import { messageOf } from '../supervision/files.js';
import { diskOf, lastBackupAt, prepareDataDirectory } from './dataDirectory.js';
import { userOf } from './directoryUse.js';
import { installationKeys } from './keys.js';
import { HOW_TO_RESUME, heldSentence, heldWebhooks } from './webhooks.js';

/** The outcome of a check. */
export type CheckResult = Omit<Checked, 'check'>;
export type Finding = Checked['findings'][number];

export type Check = {
  readonly name: string;
  /** Asked by `/health/ready`, `/metrics`, the command `doctor`, the operator's console. */
  readonly where: readonly ('ready' | 'metrics' | 'doctor' | 'console')[];
  /** What to do where it fails. */
  readonly remedy: string;
  readonly find: () => Promise<CheckResult>;
};
export type AskChecks = (place: Check['where'][number]) => Promise<readonly Checked[]>;

/** Asks all at once; never rejects. */
export const askerOf =
  (checks: readonly Check[]): AskChecks =>
  (place) =>
    Promise.all(checks.filter(({ where }) => where.includes(place)).map(checked));

/** A check that fails to run is a problem as well. */
export async function checked({ name: check, remedy, find }: Check): Promise<Checked> {
  try {
    return { check, ...(await find()) };
  } catch (error) {
    const problem = messageOf(error);
    return { check, detail: '', findings: [{ problem, remedy }] };
  }
}

const AS_ITS_USER = 'Run this as the user of the service, with its settings.';
const FOR_ITS_OWNER = 'Find out who has had access. Its owner is the user of the service, and its mode 0700.';
/** A busy service fills this much within an hour. */
const LEAST_FREE_BYTES = 1024 ** 3;
/** As in docs/alerts.yml. */
const BACKUP_OVERDUE_MS = 36 * 3_600_000;

/** Without a problem, the detail is all that is said. */
export const checkResult = (detail: string, problem?: string, remedy = ''): CheckResult => ({
  detail,
  findings: problem === undefined ? [] : [{ problem, remedy }],
});

/** What is missing is not made: DATA_DIR may name the wrong place. */
export function machineChecks(config: Config): readonly Check[] {
  const { DATA_DIR, DISK_RESERVE, SECRETS_KEY } = config;
  if (!existsSync(DATA_DIR)) return [];
  const check = (name: string, find: Check['find'], remedy = AS_ITS_USER): Check => {
    return { name, where: ['doctor', 'console'], remedy, find };
  };
  return [
    check('files', async () => {
      const problem = await prepareDataDirectory(config);
      const user = userOf(DATA_DIR);
      const used = user === undefined ? 'nobody uses it' : `in use by ${user.shown}`;
      return checkResult(`${DATA_DIR} is for its owner alone; ${used}`, problem, FOR_ITS_OWNER);
    }),
    check(
      'keys',
      async () => {
        // Reads the key but does not create one.
        const stored = (await installationKeys(config)) === undefined ? 'none yet' : 'keys/secrets.key';
        const sealing = SECRETS_KEY === undefined ? stored : 'SECRETS_KEY';
        return checkResult(`the key that seals secrets can be read (${sealing})`);
      },
      'Put it back from a backup.',
    ),
    check('disk', async () => {
      const { free } = await diskOf(DATA_DIR);
      const isLow = free < Math.max(LEAST_FREE_BYTES, DISK_RESERVE);
      const remedy = 'Free some space, or move DATA_DIR to a larger disk while the service is stopped.';
      const detail = `${shown(free)} are free`;
      return checkResult(detail, isLow ? `${detail} below ${DATA_DIR}.` : undefined, remedy);
    }),
    check('webhooks', async () => {
      const held = heldWebhooks(config);
      return checkResult('they are sent', held && heldSentence(held), HOW_TO_RESUME);
    }),
    // For those who watch: `doctor` is run before the first backup too.
    { ...check('backup', () => backup(DATA_DIR)), where: ['console'] },
  ];
}

async function backup(directory: string): Promise<CheckResult> {
  const at = await lastBackupAt(directory);
  const detail = at === undefined ? 'never with this DATA_DIR' : `the last at ${new Date(at).toISOString()}`;
  const late = `The last backup is older than a day and a half: ${detail}.`;
  const problem = at === undefined ? 'There is no backup of this DATA_DIR yet.' : late;
  const isLate = Date.now() - (at ?? 0) > BACKUP_OVERDUE_MS;
  return checkResult(detail, isLate ? problem : undefined, 'Run "dynamic-assets backup <directory>" each day.');
}

const shown = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`;
