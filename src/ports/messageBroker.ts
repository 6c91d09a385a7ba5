/** Durable work between processes: at least once, with delays and dead letters. Its contract: `test/contract/messageBroker.ts`. */
import type { LogAnchor } from './logAnchor.js';

export type Message = {
  /**
   * Publishing an id that the queue still holds (waiting or in flight) changes nothing in the embedded adapter, and a dead
   * letter of that id is delivered again; RabbitMQ delivers both. So handlers must be idempotent.
   */
  readonly id: string;
  /** Plain JSON. */
  readonly body: unknown;
};

export type ReceivedMessage = Message & {
  /** How often this message was delivered before; 0 at first. With RabbitMQ, inspecting a message counts too. */
  readonly redeliveries: number;
};

/** The broker cannot be reached, does not answer in time, or accepts no messages now. A retry may succeed. */
export class BrokerUnavailableError extends Error {
  override readonly name = 'BrokerUnavailableError';
}

/** What a handler decides about a message. */
export type Outcome =
  | { readonly kind: 'done' }
  /** Redeliver it after this many milliseconds; with RabbitMQ sooner if they are over half a minute, or its consumer ends. */
  | { readonly kind: 'retry'; readonly delayMs: number }
  /** Move it to the dead letters, with the reason. */
  | { readonly kind: 'dead'; readonly reason: string };

/** `concurrency`: at most this many messages in flight. `consume` resolves after the signal, when no handler runs any more. */
export type ConsumeOptions = { readonly concurrency: number; readonly signal: AbortSignal };

export type DeadLetter = Message & { readonly reason: string; readonly at: string };

/** A recent snapshot: the queue changes meanwhile. */
export type QueueDepth = {
  readonly ready: number;
  readonly delayed: number;
  /** Handlers still running: of all processes in the embedded adapter, of this process only with RabbitMQ. */
  readonly inFlight: number;
  readonly dead: number;
  /** Milliseconds since the oldest ready message became ready; 0 when there is none. */
  readonly oldestReadyMs: number;
};

/** Each method but `consume` and `lead` rejects with `BrokerUnavailableError` within seconds while the broker is away. */
export interface MessageBroker {
  /**
   * Resolves when all messages are stored durably. (Embedded: a power cut may lose the latest messages and checkpoints,
   * always from the end.) Rejects when some may be stored: publishing all again is harmless. Messages that are not JSON
   * are refused before any is stored.
   */
  publish(queue: string, messages: readonly Message[]): Promise<void>;
  /** Stores a publisher's place in the log in place of the one before, once all up to it is published. */
  storeCheckpoint(name: string, checkpoint: LogAnchor): Promise<void>;
  /** The place stored last; position 0 if there is none. */
  checkpoint(name: string): Promise<LogAnchor>;
  /**
   * Passes messages to `handle` until the signal aborts, also after outages. Consumers in any process share a queue: each
   * message is in flight once, unless the broker was unreachable in between. It is delivered again if its handler throws
   * (after a second) or its process dies (when the lease expires or the connection closes).
   */
  consume(
    queue: string,
    options: ConsumeOptions,
    handle: (message: ReceivedMessage) => Promise<Outcome>,
  ): Promise<void>;
  /**
   * Does the work while this process leads: of those that would under this name, one does. It leads until the signal aborts,
   * its work ends, or it is gone; another one begins a second later. Resolves or rejects as the work does. (RabbitMQ: aborts
   * the work's signal and rejects with `BrokerUnavailableError` when the connection is lost. A process that has not noticed
   * yet may still be at work, so the work must be harmless when it is done twice.)
   */
  lead(name: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>): Promise<void>;
  depth(queue: string): Promise<QueueDepth>;
  /** Up to `limit`, the oldest first. */
  deadLetters(queue: string, limit: number): Promise<readonly DeadLetter[]>;
  /** Resolves when the broker is reachable and accepts messages. */
  ping(): Promise<void>;
  /** Ends the consumers of this broker first. */
  close(): Promise<void>;
}
