/** The webhook path of one process: relay, subscriber and replay worker, kept running. */
import type { Logger } from 'pino';
import { BrokerUnavailableError } from '../ports/messageBroker.js';
import { type Failure, keepRunning } from '../supervision/keepRunning.js';
import { runRelay } from './relay.js';
import { runReplayWorker } from './replayWorker.js';
import { runSubscriber } from './subscriber.js';
import type { SubscriberDeps } from './subscriberRun.js';

const RESTART_BACKOFF = { firstMs: 500, longestMs: 5_000 };

export type WebhookDeps = Omit<SubscriberDeps, 'random'> & {
  /** From 0 to 1, for the jitter of the backoff. Default Math.random. */
  readonly random?: () => number;
};

/** Starts all three; each is started again when it fails. `stop` waits for the calls in work. */
export function startWebhooks(deps: WebhookDeps): { stop(): Promise<void> } {
  const { logger } = deps;
  const abort = new AbortController();
  const subscriber: SubscriberDeps = { ...deps, random: deps.random ?? Math.random };
  const keep = (name: string, run: () => Promise<void>): Promise<void> =>
    keepRunning(run, {
      signal: abort.signal,
      backoff: RESTART_BACKOFF,
      onFailure: (failure) => logFailure(logger, name, failure),
    });
  const running = [
    keep('webhook relay', () => runRelay(deps, abort.signal)),
    keep('webhook replay worker', () => runReplayWorker(deps, abort.signal)),
    keep('webhook subscriber', () => runSubscriber(subscriber, abort.signal)),
  ];
  return {
    async stop() {
      abort.abort();
      await Promise.all(running);
    },
  };
}

function logFailure(logger: Logger, name: string, { error, delayMs }: Failure): void {
  // A broker that is away is an outage, which the broker's adapter logs, and no fault of this service.
  const level = error instanceof BrokerUnavailableError ? 'warn' : 'error';
  logger[level]({ err: error, delayMs }, `${name} failed and is started again`);
}
