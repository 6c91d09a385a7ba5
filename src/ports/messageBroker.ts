/**
 * Durable work between processes: at least once, with delays and dead letters.
 *
 * Adapters: `adapters/broker/sqlite` (embedded), `adapters/broker/rabbitmq`.
 * What every adapter must do is written down as tests: `test/contract/messageBroker.ts`.
 */
import type { LogAnchor } from './eventStore.js';

export type Message = {
  /**
   * Publishing an id that the queue still holds (waiting, taken or dead) changes nothing in the embedded adapter; with
   * RabbitMQ both are handed out. So a handler must be idempotent: of what is done already it does nothing.
   */
  readonly id: string;
  /** Plain JSON. */
  readonly body: unknown;
};

/** How far a publisher is in the log: everything up to its place was published. */
export type Checkpoint = LogAnchor & {
  readonly name: string;
  /** It replaces one that is further on, since the log is not that one's any more. */
  readonly anew?: boolean;
};

export type ReceivedMessage = Message & {
  /** How often this message was handed out before; 0 at first. With RabbitMQ looking at a message counts as well. */
  readonly redeliveries: number;
};

/** The broker cannot be reached, does not answer in time, or takes no messages now. Trying again later may succeed. */
export class BrokerUnavailableError extends Error {
  override readonly name = 'BrokerUnavailableError';
}

/** What becomes of a message after its handler. */
export type Outcome =
  | { readonly kind: 'done' }
  /** Redeliver it after this many milliseconds. */
  | { readonly kind: 'retry'; readonly delayMs: number }
  /** Keep it aside, with the reason, for an operator. */
  | { readonly kind: 'dead'; readonly reason: string };

export type ConsumeOptions = {
  /** At most this many messages in flight. */
  readonly concurrency: number;
  /** Ends consumption; `consume` resolves when no handler runs any more. */
  readonly signal: AbortSignal;
};

export type DeadLetter = Message & { readonly reason: string; readonly at: string };

/** As of a moment ago, while others work on the queue. */
export type QueueDepth = {
  readonly ready: number;
  readonly delayed: number;
  /** Given to a handler that has not ended. Of all processes in the embedded adapter; with RabbitMQ of this process only. */
  readonly inFlight: number;
  readonly dead: number;
  /** Milliseconds since the oldest ready message became ready; 0 when there is none. */
  readonly oldestReadyMs: number;
};

/** Every method but `consume` rejects with `BrokerUnavailableError` while the broker is away, within seconds. */
export interface MessageBroker {
  /**
   * Resolves when all messages are stored durably (embedded: a power cut may take back the last ones, and whatever was
   * stored after them, checkpoints included). Rejects when that cannot be known: some of them may be stored then,
   * and publishing all of them again is harmless. Messages that are not JSON are refused before any is stored.
   */
  publish(queue: string, messages: readonly Message[]): Promise<void>;

  /**
   * Stores the messages, and after or with them the publisher's checkpoint: a relay that crashes in between may
   * repeat what it published, and never loses any of it. The checkpoint never moves back behind what this process knows,
   * unless it is set anew.
   */
  publishWithCheckpoint(queue: string, messages: readonly Message[], checkpoint: Checkpoint): Promise<void>;

  /** The place stored with `publishWithCheckpoint`; position 0 when there is none. */
  checkpoint(name: string): Promise<LogAnchor>;

  /**
   * Hands messages to `handle` until the signal ends it. A message whose handler throws,
   * or whose process dies, is handed out again (a lease runs out or a connection ends; a throw waits a second).
   * Several consumers, also of other processes, share a queue: each message is in flight once, unless the broker was
   * away meanwhile. It goes on by itself when the broker is back.
   */
  consume(
    queue: string,
    options: ConsumeOptions,
    handle: (message: ReceivedMessage) => Promise<Outcome>,
  ): Promise<void>;

  depth(queue: string): Promise<QueueDepth>;
  /** The oldest first; roughly so with RabbitMQ, where there are very many. */
  deadLetters(queue: string, limit: number): Promise<readonly DeadLetter[]>;
  /** Makes a dead letter ready again. False when there is none with this id. */
  revive(queue: string, id: string): Promise<boolean>;
  /** Resolves when the broker can be reached and takes messages. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
