/**
 * Durable work between processes: at least once, with delays and dead letters.
 *
 * Adapters: `adapters/broker/sqlite` (embedded), `adapters/broker/rabbitmq`.
 * What every adapter must do is written down as tests: `test/contract/messageBroker.ts`.
 */

export type Message = {
  /** Publishing an id that the queue still holds (waiting, taken or dead) changes nothing. */
  readonly id: string;
  /** Plain JSON. */
  readonly body: unknown;
};

export type ReceivedMessage = Message & {
  /** How often this message was handed out before; 0 at first. */
  readonly redeliveries: number;
};

/** What becomes of a message after its handler. */
export type Outcome =
  | { readonly kind: 'done' }
  /** Hand it out again after this many milliseconds. */
  | { readonly kind: 'again'; readonly delayMs: number }
  /** Keep it aside, with the reason, for an operator. */
  | { readonly kind: 'dead'; readonly reason: string };

export type ConsumeOptions = {
  /** At most this many messages in work at once. */
  readonly concurrency: number;
  /** Ends consumption; `consume` resolves when the handlers in work have ended. */
  readonly signal: AbortSignal;
};

export type DeadLetter = Message & { readonly reason: string; readonly at: string };

export type QueueDepth = {
  readonly ready: number;
  readonly delayed: number;
  readonly inWork: number;
  readonly dead: number;
  /** Milliseconds since the oldest ready message became ready; 0 when there is none. */
  readonly oldestReadyMs: number;
};

export interface MessageBroker {
  /** Resolves when the messages are stored durably, all or none. */
  publish(queue: string, messages: readonly Message[]): Promise<void>;

  /**
   * Stores messages and the publisher's checkpoint together, so that a relay that
   * crashes neither loses nor repeats what it published.
   */
  publishWithCheckpoint(
    queue: string,
    messages: readonly Message[],
    checkpoint: { readonly name: string; readonly position: number },
  ): Promise<void>;

  /** The position stored with `publishWithCheckpoint`; 0 when there is none. */
  checkpoint(name: string): Promise<number>;

  /**
   * Hands messages to `handle` until the signal ends it. A message whose handler throws,
   * or whose process dies, is handed out again (a lease runs out; a throw waits a second).
   * Several consumers, also of other processes, share a queue: each message is in work once.
   */
  consume(
    queue: string,
    options: ConsumeOptions,
    handle: (message: ReceivedMessage) => Promise<Outcome>,
  ): Promise<void>;

  depth(queue: string): Promise<QueueDepth>;
  deadLetters(queue: string, limit: number): Promise<readonly DeadLetter[]>;
  /** Makes a dead letter ready again. False when there is none with this id. */
  revive(queue: string, id: string): Promise<boolean>;
  close(): Promise<void>;
}
