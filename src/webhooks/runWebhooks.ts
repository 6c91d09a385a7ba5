/** The webhook path of one process: relay, subscriber and replay worker, kept running. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from 'pino';
import { BrokerUnavailableError } from '../ports/messageBroker.js';
import { runRelay } from './relay.js';
import { runReplayWorker } from './replayWorker.js';
import { runSubscriber } from './subscriber.js';
import type { SubscriberDeps } from './subscriberRun.js';

const FIRST_RESTART_MS = 500;
const LONGEST_RESTART_MS = 5_000;
/** What has run this long had come up well: the next restart is a quick one again. */
const STEADY_MS = 60_000;

export type WebhookDeps = Omit<SubscriberDeps, 'random'> & {
  /** From 0 to 1, for the jitter of the backoff. Default Math.random. */
  readonly random?: () => number;
};

/** Starts all three; each is started again when it fails. `stop` waits for the calls in work. */
export function startWebhooks(deps: WebhookDeps): { stop(): Promise<void> } {
  const { logger } = deps;
  const abort = new AbortController();
  const subscriber: SubscriberDeps = { ...deps, random: deps.random ?? Math.random };
  const running = [
    keepRunning('webhook relay', () => runRelay(deps, abort.signal), logger, abort.signal),
    keepRunning('webhook replay worker', () => runReplayWorker(deps, abort.signal), logger, abort.signal),
    keepRunning('webhook subscriber', () => runSubscriber(subscriber, abort.signal), logger, abort.signal),
  ];
  return {
    async stop() {
      abort.abort();
      await Promise.all(running);
    },
  };
}

async function keepRunning(name: string, run: () => Promise<void>, logger: Logger, signal: AbortSignal): Promise<void> {
  let delayMs = FIRST_RESTART_MS;
  while (!signal.aborted) {
    const startedAt = Date.now();
    try {
      await run();
      if (!signal.aborted) logger.warn({ delayMs }, `${name} ended by itself and is started again`);
    } catch (error) {
      if (signal.aborted) {
        logger.debug({ err: error }, `${name} was stopped`);
        return;
      }
      // That the broker is away is an outage, which it tells by itself, and no fault.
      const level = error instanceof BrokerUnavailableError ? 'warn' : 'error';
      logger[level]({ err: error, delayMs }, `${name} failed and is started again`);
    }
    if (Date.now() - startedAt > STEADY_MS) delayMs = FIRST_RESTART_MS;
    // Ends early when stopped; the loop's condition then ends the loop.
    await wait(delayMs, undefined, { signal }).catch(() => undefined);
    delayMs = Math.min(LONGEST_RESTART_MS, delayMs * 2);
  }
}
