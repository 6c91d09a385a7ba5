/** Durable work between processes: at least once, with delays. Its contract: `test/contract/messageBroker.ts`. */
import type { LogAnchor } from './logAnchor.js';

/** Plain JSON. Publishing an id that the queue still holds changes nothing in the embedded adapter; RabbitMQ delivers both. */
export type Message = { readonly id: string; readonly body: unknown };

/** `redeliveries`: how often it was delivered before. */
export type ReceivedMessage = Message & { readonly redeliveries: number };

/** The broker cannot be reached, or accepts no messages now. A retry may succeed. */
export class BrokerUnavailableError extends Error {}

/** `retry`: redeliver it after the delay; with RabbitMQ sooner if that is over half a minute, or its consumer ends. */
export type Outcome = { readonly kind: 'done' } | { readonly kind: 'retry'; readonly delayMs: number };

/** `concurrency`: messages in flight at most. `consume` resolves after the signal, when no handler runs any more. */
export type ConsumeOptions = { readonly concurrency: number; readonly signal: AbortSignal };

export type Handler = (message: ReceivedMessage) => Promise<Outcome>;

/** `inFlight`: handlers still running; with RabbitMQ of this process only. */
export type QueueDepth = { readonly ready: number; readonly delayed: number; readonly inFlight: number };

/** Each method but `consume` and `lead` rejects with `BrokerUnavailableError` within seconds while the broker is away. */
export interface MessageBroker {
  /**
   * Resolves when all messages are stored durably. (Embedded: a power cut may lose the latest messages and checkpoints,
   * always from the end.) Rejects when some may be stored: handlers must be idempotent.
   */
  publish(queue: string, messages: readonly Message[]): Promise<void>;
  /** Stores a publisher's place in the log in place of the one before, once all up to it is published. */
  storeCheckpoint(name: string, checkpoint: LogAnchor): Promise<void>;
  /** The place stored last; position 0 if there is none. */
  checkpoint(name: string): Promise<LogAnchor>;
  /**
   * Passes messages to `handle` until the signal aborts, also after outages. Consumers in any process share a queue: each
   * message is in flight once, unless the broker was unreachable in between. It is delivered again if its handler throws, or
   * its process dies.
   */
  consume(queue: string, options: ConsumeOptions, handle: Handler): Promise<void>;
  /**
   * Does the work while this process leads: of those that would under this name, one does, until the signal aborts, its work
   * ends, or it is gone. Resolves or rejects as the work does. (RabbitMQ: when the connection is lost, aborts the work's
   * signal and rejects; a process that has not noticed yet may still be at work, which must be harmless.)
   */
  lead(name: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>): Promise<void>;
  depth(queue: string): Promise<QueueDepth>;
  /** Resolves when the broker is reachable and accepts messages. */
  ping(): Promise<void>;
  /** Ends the consumers of this broker first. */
  close(): Promise<void>;
}
