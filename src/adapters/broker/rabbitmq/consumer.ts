/**
 * One consumer of one queue: runs the handlers, acknowledges messages that have an outcome, and resumes after outages.
 */
import type { Channel, ConsumeMessage } from 'amqplib';
import type { ConsumeOptions, Outcome, ReceivedMessage } from '../../../ports/messageBroker.js';
import { keepRunning } from '../../../supervision/keepRunning.js';
import { sleep } from '../../../supervision/waiting.js';
import { type Handler, type OnHandlerError, runHandler } from '../consuming.js';
import { type Connection, unavailable } from './connection.js';
import { deadCopy, delayedCopy, deliveriesOf, dueAt, type Outgoing, received } from './messages.js';

/** Between attempts to consume while the server refuses. */
const CONSUME_BACKOFF = { firstMs: 1_000, longestMs: 5_000 };
/** Between attempts to store a message's replacement. */
const STORE_RETRY_MS = 1_000;

export type ConsumerOptions = ConsumeOptions & {
  readonly queue: string;
  readonly connection: Connection;
  readonly handle: Handler;
  /** Stores messages durably; rejects if that cannot be confirmed. */
  readonly send: (messages: readonly Outgoing[]) => Promise<void>;
  readonly onHandlerError: OnHandlerError;
  readonly onTrouble: (error: Error) => void;
};

/** A message and its channel: it can be acknowledged only there, and only while that is open. */
type Delivery = { readonly message: ConsumeMessage; readonly link: Link };
type Link = { readonly channel: Channel; open: boolean };

export class Consumer {
  readonly #options: ConsumerOptions;
  readonly #running = new Set<Promise<void>>();
  /** Received while handlers of a lost channel are still running. */
  #waiting: Delivery[] = [];

  constructor(options: ConsumerOptions) {
    this.#options = options;
  }

  get inFlight(): number {
    return this.#running.size;
  }

  /** Resolves when the signal has ended it and no handler is running. Does not reject while the server is away. */
  async run(): Promise<void> {
    const { signal, onTrouble } = this.#options;
    const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    await keepRunning((succeeded) => this.#consume(aborted, succeeded), {
      signal,
      backoff: CONSUME_BACKOFF,
      onFailure: ({ error }) => onTrouble(unavailable(error)),
    });
    await Promise.all(this.#running);
  }

  /** Runs until the signal ends it. @throws Error if the channel ends first; its messages are redelivered */
  async #consume(aborted: Promise<unknown>, succeeded: () => void): Promise<void> {
    const { queue, concurrency, signal, connection } = this.#options;
    const session = await connection.session(signal);
    await session.declareWork(queue);
    const channel = await session.openChannel();
    const link: Link = { channel, open: true };
    const ended = new Promise<void>((resolve) => channel.once('close', resolve)).then(() => {
      link.open = false;
      this.#waiting = this.#waiting.filter((delivery) => delivery.link.open);
    });
    await channel.prefetch(concurrency);
    const { consumerTag } = await channel.consume(queue, (message) => this.#accept(message, link));
    succeeded();
    if (!signal.aborted) await Promise.race([ended, aborted]);
    if (!link.open) {
      session.forgetDeclared();
      throw new Error(`The consumer of ${queue} was interrupted.`);
    }
    await channel.cancel(consumerTag);
    for (const { message } of this.#waiting.splice(0)) channel.nack(message, false, true);
    await Promise.all(this.#running);
    await channel.close();
  }

  #accept(message: ConsumeMessage | null, link: Link): void {
    if (message === null) {
      // The queue was removed, or its server is shutting down: start over. The channel may be closed already.
      link.channel.close().catch(() => undefined);
    } else if (this.#options.signal.aborted) {
      link.channel.nack(message, false, true);
    } else {
      this.#waiting.push({ message, link });
      this.#startWaiting();
    }
  }

  #startWaiting(): void {
    const { concurrency, signal } = this.#options;
    while (!signal.aborted && this.#running.size < concurrency) {
      const delivery = this.#waiting.shift();
      if (delivery === undefined) return;
      const work = this.#work(delivery).finally(() => {
        this.#running.delete(work);
        this.#startWaiting();
      });
      this.#running.add(work);
    }
  }

  async #work({ message, link }: Delivery): Promise<void> {
    const copy = await this.#replacement(message);
    while (link.open) {
      try {
        if (copy !== undefined) await this.#options.send([copy]);
        // A crash here leaves both: at least once.
        if (link.open) link.channel.ack(message);
        return;
      } catch {
        // Not acknowledged until its copy is stored, so it is not lost.
        if (this.#options.signal.aborted) return;
        await sleep(STORE_RETRY_MS, this.#options.signal);
      }
    }
  }

  /** Runs the handler. Returns the message to store in its place; undefined if it is done. */
  async #replacement(raw: ConsumeMessage): Promise<Outgoing | undefined> {
    const { queue } = this.#options;
    const earlyMs = (dueAt(raw) ?? 0) - Date.now();
    if (earlyMs > 0) return delayedCopy(queue, raw, earlyMs, deliveriesOf(raw));
    const outcome = await this.#outcome(raw);
    if (outcome.kind === 'done') return undefined;
    if (outcome.kind === 'dead') return deadCopy(queue, raw, outcome.reason);
    return delayedCopy(queue, raw, outcome.delayMs, deliveriesOf(raw) + 1);
  }

  async #outcome(raw: ConsumeMessage): Promise<Outcome> {
    let message: ReceivedMessage;
    try {
      message = received(raw);
    } catch (error) {
      return { kind: 'dead', reason: `The message is not JSON: ${error instanceof Error ? error.message : error}` };
    }
    return runHandler(this.#options.handle, message, this.#options.onHandlerError);
  }
}
