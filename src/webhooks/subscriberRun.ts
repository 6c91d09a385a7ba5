/** What the subscriber is given, and what one run of it keeps in memory: all of it may be lost, for the log decides. */
import type { Logger } from 'pino';
import type { Commands } from '../commands/context.js';
import type { DeliveryLog } from '../ports/deliveryLog.js';
import type { MessageBroker } from '../ports/messageBroker.js';
import { CircuitBreakers, type CircuitThresholds, DEFAULT_THRESHOLDS } from './circuitBreaker.js';
import type { DeliveryMetrics } from './deliveryMetrics.js';
import { EndpointHealth } from './endpointHealth.js';
import { EndpointLanes } from './endpointLanes.js';
import type { WebhookTransport } from './httpsTransport.js';
import { OrderTurns } from './orderTurns.js';

export type SubscriberDeps = {
  readonly commands: Commands & { readonly readModels: DeliveryLog };
  readonly broker: MessageBroker;
  readonly transport: WebhookTransport;
  readonly settings: SubscriberSettings;
  readonly logger: Logger;
  readonly metrics?: DeliveryMetrics;
  /** From 0 to 1, for the jitter. */
  readonly random: () => number;
};

export type SubscriberSettings = {
  /** Calls at once (default of the service: 50). */
  readonly concurrency: number;
  /** Calls at once to one webhook (default of the service: 20); less while others need the calls. */
  readonly endpointConcurrency: number;
  /** Waits in milliseconds, see domain/webhook/backoff.ts. */
  readonly backoffMs: readonly number[];
  /** After this long a call has surely ended, or its process has. More than the transport's limit; default 20,000. */
  readonly callLimitMs?: number;
  /** A webhook that has failed for so long without a success is disabled; 0 for never. */
  readonly disableAfterHours: number;
  readonly circuit?: CircuitThresholds;
  /** Shown to receivers as `User-Agent: dynamic-assets/<version>`. */
  readonly version: string;
};

/** What one run of the subscriber works with. */
export type SubscriberRun = SubscriberDeps & {
  /** Messages in hand at once. */
  readonly inHand: number;
  readonly lanes: EndpointLanes;
  readonly circuits: CircuitBreakers;
  readonly health: EndpointHealth;
  readonly turns: OrderTurns;
};

/** Messages in hand for each call at once: what waits for its turn must not keep others from being seen. */
const IN_HAND_PER_CALL = 16;

export function newRun(deps: SubscriberDeps): SubscriberRun {
  const { commands, settings, random, metrics } = deps;
  const inHand = IN_HAND_PER_CALL * settings.concurrency;
  const { concurrency: calls, endpointConcurrency: callsPerEndpoint, disableAfterHours, circuit } = settings;
  // Not the clock of the wall, which may be set back.
  const now = (): number => performance.now();
  return {
    ...deps,
    inHand,
    lanes: new EndpointLanes({ inHand, calls, callsPerEndpoint }, now, random),
    circuits: new CircuitBreakers(circuit ?? DEFAULT_THRESHOLDS, now, (endpoint, isOpen) =>
      metrics?.circuitChanged(endpoint, isOpen),
    ),
    health: new EndpointHealth(deps, disableAfterHours),
    turns: new OrderTurns(commands),
  };
}
