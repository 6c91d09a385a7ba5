/**
 * Whether the webhooks of a data directory are sent, and how. They can be held: nothing goes to receivers, not even what a
 * person asks for, until they are resumed. A restored copy holds them, since its receivers are those of the original. A file
 * says so: it outlives restarts.
 */
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Config } from '../config.js';
import { cutText } from '../domain/shownName.js';
import { sleep } from '../supervision/waiting.js';
import { createHttpsTransport, type WebhookTransport } from '../webhooks/httpsTransport.js';
import type { AddressPolicy } from '../webhooks/targetAddress.js';
import { HELD_WEBHOOKS } from './dataDirectory.js';

const LOOK_AGAIN_MS = 500;
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
  'If this installation is the one whose receivers are to be called: dynamic-assets webhook resume.';

type Running = { stop(): Promise<void> };

/** Runs the webhooks of a process while they are not held. */
export function unlessHeld(config: Directory, log: Logger, start: () => Running): Running {
  const stopping = new AbortController();
  const { signal } = stopping;
  const run = async (): Promise<void> => {
    let running: Running | undefined;
    let wasHeld = false;
    for (; !signal.aborted; await sleep(LOOK_AGAIN_MS, signal)) {
      const held = readHold(config, log);
      if (held === 'unknown') continue;
      if (held !== undefined && !wasHeld) log.warn(held, `${heldSentence(held)} ${HOW_TO_RESUME}`);
      if (held === undefined && wasHeld) log.info('webhooks are resumed');
      wasHeld = held !== undefined;
      if (wasHeld) {
        await running?.stop();
        running = undefined;
      } else running ??= start();
    }
    await running?.stop();
  };
  const ended = run();
  // Thrown at the stop.
  ended.catch(() => undefined);
  return {
    async stop() {
      stopping.abort();
      await ended;
    },
  };
}

/** Nothing changes while it is unknown: webhooks that run go on, and others do not start. */
function readHold(config: Directory, log: Logger): Held | undefined | 'unknown' {
  try {
    return heldWebhooks(config);
  } catch (error) {
    log.error({ err: error }, 'whether webhooks are held cannot be read');
    return 'unknown';
  }
}

export const openTransport = (
  { WEBHOOK_TIMEOUT_MS, WEBHOOK_CA_FILE }: Pick<Config, 'WEBHOOK_TIMEOUT_MS' | 'WEBHOOK_CA_FILE'>,
  policy: AddressPolicy,
): WebhookTransport =>
  createHttpsTransport({
    policy,
    totalTimeoutMs: WEBHOOK_TIMEOUT_MS,
    ...(WEBHOOK_CA_FILE === undefined ? {} : { caPem: readFileSync(WEBHOOK_CA_FILE, 'utf8') }),
  });
