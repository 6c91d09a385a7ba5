/** Cheap checks of settings, keys and disk, each with a remedy: for `doctor`, and for the operator's console. */
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Config } from '../config.js';
import { freeBytes } from './disk.js';
import { knownInstallationKeys } from './secretBox.js';
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

export const settingsCheck = (config: Config): Promise<Checked> => checked('settings', LOOK, () => settings(config));

/** The others that this file has. */
export const machineChecks = async (config: Config): Promise<readonly Checked[]> => [
  await checked('keys', 'Put it back from a backup.', () => keys(config)),
  await checked('disk', LOOK, () => disk(config)),
  await checked('webhooks', LOOK, () => webhooks(config)),
];

export const LOOK = 'Run this as the user of the service, with its settings.';

/** A busy service fills this much within an hour. */
const LEAST_FREE_BYTES = 1024 ** 3;

async function keys(config: Config): Promise<Looked> {
  // Reads the key but does not create one.
  const found = await knownInstallationKeys(config);
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
  const free = await freeBytes(DATA_DIR);
  const remedy = 'Free some space, or move DATA_DIR to a larger disk while the service is stopped.';
  const findings: Finding[] = [];
  if (free < Math.max(LEAST_FREE_BYTES, DISK_RESERVE))
    findings.push({ problem: `${shown(free)} are free below ${DATA_DIR}.`, remedy });
  return { detail: `${shown(free)} are free`, findings };
}

export const shown = (bytes: number): string => `${(bytes / 1024 ** 3).toFixed(1)} GB`;

/** Files that settings name. Settings that are invalid end every command. */
const settings = async (config: Config): Promise<Looked> => ({
  detail: 'they are consistent',
  findings: await certificate(config),
});

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
