/** The webhook path of one process: relay, ranges and deliveries, each kept running. */
import { BrokerUnavailableError } from '../ports/messageBroker.js';
import { keepRunning } from '../supervision/keepRunning.js';
import { type DeliveryParts, deliver } from './deliver.js';
import { Gate } from './gate.js';
import { DELIVERY_QUEUE } from './queue.js';
import { runRanges } from './ranges.js';
import { type RelayDeps, runRelay } from './relay.js';

type WebhookDeps = Omit<DeliveryParts, 'gate'> & RelayDeps & { readonly settings: WebhookSettings };

export type WebhookSettings = DeliveryParts['settings'] & {
  /** Concurrent attempts. */
  readonly concurrency: number;
};

/** Concurrent attempts to one webhook: a slow receiver leaves the other slots to those of others. */
const SLOTS_PER_ENDPOINT = 20;
/** Messages in flight per slot: those that wait for their turn must not hide others. */
const IN_FLIGHT_PER_SLOT = 16;
const RESTART_BACKOFF = { firstMs: 500, longestMs: 5_000 };

/** Starts all three and restarts each one that fails. `stop` waits for the attempts in flight. */
export function startWebhooks(deps: WebhookDeps): { stop(): Promise<void> } {
  const { broker, settings, logger } = deps;
  const { concurrency: slots } = settings;
  const inFlight = IN_FLIGHT_PER_SLOT * slots;
  const gate = new Gate({
    inFlight,
    slots,
    slotsPerEndpoint: SLOTS_PER_ENDPOINT,
    // Monotonic: the wall clock may be set back.
    now: () => performance.now(),
  });
  const delivery: DeliveryParts = { ...deps, gate };

  const abort = new AbortController();
  const { signal } = abort;
  const keep = (name: string, run: () => Promise<void>): Promise<void> =>
    keepRunning(run, {
      signal,
      backoff: RESTART_BACKOFF,
      onFailure: (error, delayMs) => {
        // A broker outage is no fault, and the broker reports it.
        const level = error instanceof BrokerUnavailableError ? 'warn' : 'error';
        logger[level]({ err: error, delayMs }, `${name} failed and is started again`);
      },
    });
  const running = [
    // Each process that relays would publish all messages again, and append all requests.
    keep('webhook relay', () => broker.lead('webhook-relay', signal, (leading) => runRelay(deps, leading))),
    keep('webhook ranges', () => runRanges(deps, signal)),
    keep('webhook deliveries', () =>
      broker.consume(DELIVERY_QUEUE, { concurrency: inFlight, signal }, (message) => deliver(delivery, message)),
    ),
  ];
  return {
    async stop() {
      abort.abort();
      gate.stop();
      await Promise.all(running);
    },
  };
}
