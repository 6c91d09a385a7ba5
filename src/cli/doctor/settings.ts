/** Checks settings that are valid but contradict each other or this machine. Invalid ones end every command. */
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Config } from '../../config.js';
import type { Checked, Finding } from './finding.js';

export async function settings(config: Config): Promise<Omit<Checked, 'check'>> {
  const findings = [...unreached(config), ...(await certificate(config))];
  return { detail: 'they fit each other', findings };
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
    return [{ problem, remedy: 'Put its successor there, and restart the service: no webhook is trusted by it.' }];
  } catch {
    const problem = `WEBHOOK_CA_FILE, ${file}, cannot be read as a certificate in PEM.`;
    return [{ problem, remedy: 'Name a PEM file that the user of the service can read.' }];
  }
}
