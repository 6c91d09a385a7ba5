/** Cheap checks of files, keys and disk, each with a remedy: for `doctor`, and for the operator's console. */
import { existsSync } from 'node:fs';
import type { Checked } from '../api/deps.js';
import type { Config } from '../config.js';
import { diskOf, lastBackupAt, prepareDataDirectory } from './dataDirectory.js';
import { userOf } from './directoryUse.js';
import { installationKeys } from './keys.js';
import { HOW_TO_RESUME, heldSentence, heldWebhooks } from './webhooks.js';

/** The outcome of a check. */
export type Looked = Omit<Checked, 'check'>;
export type Finding = Checked['findings'][number];

/** A check that fails to run is a problem as well. */
export async function checked(check: string, remedy: string, find: () => Promise<Looked>): Promise<Checked> {
  try {
    return { check, ...(await find()) };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return { check, detail: '', findings: [{ problem, remedy }] };
  }
}

const AS_ITS_USER = 'Run this as the user of the service, with its settings.';
const FOR_ITS_OWNER = 'Find out who has had access. Its owner is the user of the service, and its mode 0700.';
/** A busy service fills this much within an hour. */
const LEAST_FREE_BYTES = 1024 ** 3;
/** As in docs/alerts.yml. */
const BACKUP_OVERDUE_MS = 36 * 3_600_000;

const looked = (detail: string, problem: string | undefined, remedy = ''): Looked => ({
  detail,
  findings: problem === undefined ? [] : [{ problem, remedy }],
});

/** What is missing is not made: it may be looked for at the wrong place. */
export async function machineChecks(config: Config): Promise<readonly Checked[]> {
  const { DATA_DIR, DISK_RESERVE, SECRETS_KEY } = config;
  if (!existsSync(DATA_DIR)) return [];
  return [
    await checked('files', AS_ITS_USER, async () => {
      const problem = await prepareDataDirectory(config);
      const user = userOf(DATA_DIR);
      const used = user === undefined ? 'nobody uses it' : `in use by ${user.shown}`;
      return looked(`${DATA_DIR} is for its owner alone; ${used}`, problem, FOR_ITS_OWNER);
    }),
    await checked('keys', 'Put it back from a backup.', async () => {
      // Reads the key but does not create one.
      const stored = (await installationKeys(config)) === undefined ? 'none yet' : 'keys/secrets.key';
      const sealing = SECRETS_KEY === undefined ? stored : 'SECRETS_KEY';
      return looked(`the key that seals secrets can be read (${sealing})`, undefined);
    }),
    await checked('disk', AS_ITS_USER, async () => {
      const { free } = await diskOf(DATA_DIR);
      const isLow = free < Math.max(LEAST_FREE_BYTES, DISK_RESERVE);
      const remedy = 'Free some space, or move DATA_DIR to a larger disk while the service is stopped.';
      const detail = `${shown(free)} are free`;
      return looked(detail, isLow ? `${detail} below ${DATA_DIR}.` : undefined, remedy);
    }),
    await checked('webhooks', AS_ITS_USER, async () => {
      const held = heldWebhooks(config);
      return looked('they are sent', held && heldSentence(held), HOW_TO_RESUME);
    }),
  ];
}

/** For those who watch: `doctor` is run before the first backup too. */
export const backupCheck = ({ DATA_DIR }: Config): Promise<Checked> =>
  checked('backup', AS_ITS_USER, async () => {
    const at = await lastBackupAt(DATA_DIR);
    const detail = at === undefined ? 'never with this DATA_DIR' : `the last at ${new Date(at).toISOString()}`;
    const problem = `The last backup is older than a day and a half, or there is none: ${detail}.`;
    const isLate = Date.now() - (at ?? 0) > BACKUP_OVERDUE_MS;
    return looked(detail, isLate ? problem : undefined, 'Run "dynamic-assets backup <directory>" each day.');
  });

const shown = (bytes: number): string => `${(bytes / 1024 ** 3).toFixed(1)} GB`;
