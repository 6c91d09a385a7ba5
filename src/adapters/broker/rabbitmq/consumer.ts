/**
 * One consumer of one queue: runs the handlers, acknowledges messages that have an outcome, and resumes after outages.
 *
 * A message that is put off for a moment waits here, unacknowledged: on the server each delay is a message more.
 */
import { setMaxListeners } from 'node:events';
import type { Channel, ConsumeMessage } from 'amqplib';
import PQueue from 'p-queue';
import type { ConsumeOptions, Handler, Outcome, QueueDepth } from '../../../ports/messageBroker.js';
import { keepRunning } from '../../../supervision/keepRunning.js';
import { sleep } from '../../../supervision/waiting.js';
import { runHandler, warn } from '../consuming.js';
import { type Connection, unavailable } from './connection.js';
import { delayedCopy, deliveriesOf, idOf, type Outgoing } from './messages.js';

/**
 * With RabbitMQ: messages that wait in a process's memory for each that may be in flight, put off for a moment or taken
 * ahead.
 */
const POSTPONED_PER_MESSAGE_IN_FLIGHT = 4;

/** Between attempts to consume while the server refuses. */
const CONSUME_BACKOFF = { firstMs: 1_000, longestMs: 5_000 };
/** Between attempts to store a message's replacement. */
const STORE_RETRY_MS = 1_000;
/** Longer delays wait on the server. */
const LONGEST_POSTPONED_MS = 2_000;
/** The server closes a channel with a message that is not acknowledged for half an hour. */
const LONGEST_UNACKNOWLEDGED_MS = 60_000;

type ConsumerOptions = ConsumeOptions & {
  readonly queue: string;
  readonly connection: Connection;
  readonly handle: Handler;
  /** Stores messages durably; rejects if that cannot be confirmed. */
  readonly send: (messages: readonly Outgoing[]) => Promise<void>;
  readonly onTrouble: (error: Error) => void;
};

/** A channel: its messages can be acknowledged only there, and only while it is open. */
type Link = { readonly channel: Channel; readonly closed: AbortSignal; readonly ending: AbortSignal };

export class Consumer {
  readonly #running = new Set<Promise<void>>();
  readonly #handlers: PQueue;
  /** Messages that are put off for a moment. */
  #postponed = 0;

  constructor(private readonly options: ConsumerOptions) {
    this.#handlers = new PQueue({ concurrency: options.concurrency });
  }

  /** Of the messages that this process has taken. */
  get depth(): QueueDepth {
    return { ready: this.#handlers.size, delayed: this.#postponed, inFlight: this.#handlers.pending };
  }

  get #mostPostponed(): number {
    return this.options.concurrency * POSTPONED_PER_MESSAGE_IN_FLIGHT;
  }

  /** Resolves when the signal has ended it and no handler is running. Does not reject while the server is away. */
  async run(): Promise<void> {
    const { signal, onTrouble } = this.options;
    await keepRunning((succeeded) => this.#consume(succeeded), {
      signal,
      backoff: CONSUME_BACKOFF,
      onFailure: (error) => onTrouble(unavailable(error)),
    });
    await Promise.all(this.#running);
  }

  /** Runs until the signal ends it. @throws Error if the channel ends first; its messages are redelivered */
  async #consume(succeeded: () => void): Promise<void> {
    const { queue, concurrency, signal, connection } = this.options;
    const session = await connection.session(signal);
    await session.declareWork(queue);
    const channel = await session.openChannel();
    const closed = new AbortController();
    channel.once('close', () => closed.abort());
    const ending = AbortSignal.any([signal, closed.signal]);
    // All that are held sleep on it.
    setMaxListeners(0, ending);
    const ended = new Promise((resolve) => ending.addEventListener('abort', resolve, { once: true }));
    const link: Link = { channel, closed: closed.signal, ending };
    try {
      await channel.prefetch(concurrency + this.#mostPostponed);
      const { consumerTag } = await channel.consume(queue, (message) => {
        if (message !== null) {
          const work = this.#work(message, link).finally(() => this.#running.delete(work));
          this.#running.add(work);
        }
        // The queue was removed, or its server is shutting down: start over.
        else void session.closeChannel(channel);
      });
      succeeded();
      if (!ending.aborted) await ended;
      if (signal.aborted && !closed.signal.aborted) {
        await channel.cancel(consumerTag);
        await Promise.all(this.#running);
      }
    } finally {
      await session.closeChannel(channel);
      session.forgetDeclared();
    }
    if (!signal.aborted) throw new Error(`The consumer of ${queue} was interrupted.`);
  }

  /** Without an outcome when the link ends, it goes back. */
  async #work(message: ConsumeMessage, link: Link): Promise<void> {
    const receivedAt = performance.now();
    for (let redeliveries = deliveriesOf(message) + 1; ; redeliveries += 1) {
      const outcome = await this.#handle(message, redeliveries - 1, link);
      if (outcome === undefined) return;
      if (outcome.kind !== 'retry' || !this.#mayPostpone(outcome.delayMs, receivedAt, link))
        return this.#conclude(message, outcome, redeliveries, link);
      this.#postponed += 1;
      await sleep(outcome.delayMs, link.ending);
      this.#postponed -= 1;
    }
  }

  #mayPostpone(delayMs: number, receivedAt: number, { ending }: Link): boolean {
    if (ending.aborted || delayMs > LONGEST_POSTPONED_MS || this.#postponed >= this.#mostPostponed) return false;
    return performance.now() + delayMs - receivedAt < LONGEST_UNACKNOWLEDGED_MS;
  }

  /** @returns undefined if the link ended before its turn */
  async #handle(message: ConsumeMessage, redeliveries: number, { ending }: Link): Promise<Outcome | undefined> {
    const handle = async () => (ending.aborted ? undefined : this.#outcome(message, redeliveries));
    return (await this.#handlers.add(handle)) ?? undefined;
  }

  async #outcome(message: ConsumeMessage, redeliveries: number): Promise<Outcome> {
    let body: unknown;
    try {
      body = JSON.parse(message.content.toString('utf8'));
    } catch (error) {
      warn(error);
      return { kind: 'done' };
    }
    return runHandler(this.options.handle, { id: idOf(message), body, redeliveries });
  }

  /** Stores the message that comes in its place, then acknowledges it: a crash in between leaves both. */
  async #conclude(message: ConsumeMessage, outcome: Outcome, redeliveries: number, link: Link): Promise<void> {
    const { queue, send, signal } = this.options;
    const copies = outcome.kind === 'retry' ? [delayedCopy(queue, message, outcome.delayMs, redeliveries)] : [];
    while (!link.closed.aborted) {
      try {
        await send(copies);
        if (!link.closed.aborted) link.channel.ack(message);
        return;
      } catch {
        if (signal.aborted) return;
        await sleep(STORE_RETRY_MS, signal);
      }
    }
  }
}
