/**
 * Whether the webhooks of a data directory are sent, and how. They can be held: a service that starts then sends nothing to
 * receivers, not even what a person asks for. A restored copy holds them, since its receivers are those of the original.
 */
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config.js';
import { cutText } from '../domain/shownName.js';
import { createHttpsTransport, type WebhookTransport } from '../webhooks/httpsTransport.js';
import type { AddressPolicy } from '../webhooks/targetAddress.js';
import { HELD_WEBHOOKS } from './dataDirectory.js';

const MAX_WHY_CHARACTERS = 200;

type Directory = Pick<Config, 'DATA_DIR'>;

export type Held = {
  /** ISO 8601. */
  readonly since: string;
  /** Empty if the file was made by hand. */
  readonly why: string;
};

/** Undefined if they are sent. @throws what the file system throws */
export function heldWebhooks({ DATA_DIR }: Directory): Held | undefined {
  const file = join(DATA_DIR, HELD_WEBHOOKS);
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  return { since: found.mtime.toISOString(), why: cutText(readFileSync(file, 'utf8').trim(), MAX_WHY_CHARACTERS) };
}

export const holdWebhooks = ({ DATA_DIR }: Directory, why: string): void =>
  writeFileSync(join(DATA_DIR, HELD_WEBHOOKS), `${why}\n`, { mode: 0o600 });

export const resumeWebhooks = ({ DATA_DIR }: Directory): void => rmSync(join(DATA_DIR, HELD_WEBHOOKS), { force: true });

export const heldSentence = ({ since, why }: Held): string =>
  `Webhooks are held since ${since}${why === '' ? '' : ` (${why})`}: nothing is sent.`;

export const HOW_TO_RESUME =
  'If this installation is the one whose receivers are to be called: dynamic-assets webhook resume, then start the service again.';

export const openTransport = (
  { WEBHOOK_TIMEOUT_MS, WEBHOOK_CA_FILE }: Pick<Config, 'WEBHOOK_TIMEOUT_MS' | 'WEBHOOK_CA_FILE'>,
  policy: AddressPolicy,
): WebhookTransport =>
  createHttpsTransport({
    policy,
    totalTimeoutMs: WEBHOOK_TIMEOUT_MS,
    ...(WEBHOOK_CA_FILE === undefined ? {} : { caPem: readFileSync(WEBHOOK_CA_FILE, 'utf8') }),
  });
