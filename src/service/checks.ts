/** Cheap checks of settings, keys, disk and checkpoints, each with a remedy: for `doctor`, and for the operator's console. */
import { X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config.js';
import { freeBytes } from './disk.js';
import { knownInstallationKeys } from './secretBox.js';
import { treeDirectory } from './treeFiles.js';
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

export const settingsCheck = (config: Config): Promise<Checked> => checked('settings', LOOK, () => settings(config));

/** The others that this file has. */
export const machineChecks = async (config: Config): Promise<readonly Checked[]> => [
  await checked('keys', 'Put it back from a backup.', () => keys(config)),
  await checked('disk', LOOK, () => disk(config)),
  await checked('webhooks', LOOK, () => webhooks(config)),
  await checked('checkpoints', LOOK, () => checkpoint(config)),
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

/** How old the last signed checkpoint of the log is. */
async function checkpoint(config: Config): Promise<Looked> {
  const file = join(treeDirectory(config), 'checkpoint');
  if (!existsSync(file)) return { detail: 'none is signed yet: the service does, soon after its start', findings: [] };
  const minutes = Math.max(0, Math.round((Date.now() - (await stat(file)).mtimeMs) / 60_000));
  const kept = config.CHECKPOINT_DIR ?? 'the log of the service alone, as CHECKPOINT_DIR is not set';
  const ago = minutes === 1 ? '1 minute' : `${minutes} minutes`;
  return { detail: `the last one was signed ${ago} ago; they are published to ${kept}`, findings: [] };
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

/** Settings that are valid but contradict each other or this machine. Invalid ones end every command. */
async function settings(config: Config): Promise<Looked> {
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
