/**
 * Whether the webhooks of a data directory are sent, and how. They can be held: a service that starts then sends nothing to
 * receivers, not even what a person asks for. A restored copy holds them, since its receivers are those of the original.
 */
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, version } from '../config.js';
import { createHttpsTransport, type WebhookTransport } from '../webhooks/httpsTransport.js';
import type { WebhookSettings } from '../webhooks/runWebhooks.js';
import type { AddressPolicy } from '../webhooks/targetAddress.js';
import { HELD_WEBHOOKS } from './dataDirectory.js';

type Directory = Pick<Config, 'DATA_DIR'>;

/** Since when (ISO 8601); undefined if they are sent. @throws what the file system throws */
export const heldWebhooks = ({ DATA_DIR }: Directory): string | undefined =>
  statSync(join(DATA_DIR, HELD_WEBHOOKS), { throwIfNoEntry: false })?.mtime.toISOString();

export const holdWebhooks = ({ DATA_DIR }: Directory): void =>
  writeFileSync(join(DATA_DIR, HELD_WEBHOOKS), '', { mode: 0o600 });

export const resumeWebhooks = ({ DATA_DIR }: Directory): void => rmSync(join(DATA_DIR, HELD_WEBHOOKS), { force: true });

export const heldSentence = (since: string): string => `Webhooks are held since ${since}: nothing is sent.`;

export const HOW_TO_RESUME =
  'If its receivers are to be called: dynamic-assets webhook resume, then start the service again.';

export function openTransport(config: Config, policy: AddressPolicy): WebhookTransport {
  const { WEBHOOK_TIMEOUT_MS: totalTimeoutMs, WEBHOOK_CA_FILE: file } = config;
  const own = file === undefined ? {} : { caPem: readFileSync(file, 'utf8') };
  return createHttpsTransport({ policy, totalTimeoutMs, ...own });
}

/** An attempt without an outcome this long after its time limit was interrupted by a crash. */
const CALL_MARGIN_MS = 5_000;

export const webhookSettings = (config: Config): WebhookSettings => ({
  concurrency: config.WEBHOOK_CONCURRENCY,
  backoffMs: config.WEBHOOK_BACKOFF_MS,
  version: version(),
  attemptLimitMs: config.WEBHOOK_TIMEOUT_MS + CALL_MARGIN_MS,
});
