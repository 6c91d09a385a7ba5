/**
 * One consumer of one queue: runs the handlers, acknowledges messages that have an outcome, and resumes after outages.
 *
 * A message that is put off for a moment waits here, unacknowledged. On the server each delay is a message more, which
 * waits in up to five queues one after another.
 */
import type { Channel, ConsumeMessage } from 'amqplib';
import { HELD_PER_MESSAGE_IN_FLIGHT } from '../../../domain/limits.js';
import type { ConsumeOptions, Outcome, ReceivedMessage } from '../../../ports/messageBroker.js';
import { keepRunning } from '../../../supervision/keepRunning.js';
import { sleep } from '../../../supervision/waiting.js';
import { type Handler, type OnHandlerError, runHandler } from '../consuming.js';
import { type Connection, unavailable } from './connection.js';
import { deadCopy, delayedCopy, deliveriesOf, dueAt, type Outgoing, readyAt, received } from './messages.js';

/** Between attempts to consume while the server refuses. */
const CONSUME_BACKOFF = { firstMs: 1_000, longestMs: 5_000 };
/** Between attempts to store a message's replacement. */
const STORE_RETRY_MS = 1_000;
/** Longer delays wait on the server. */
const LONGEST_HELD_MS = 2_000;
/** The server closes a channel with a message that is not acknowledged for half an hour. */
const LONGEST_UNACKNOWLEDGED_MS = 60_000;

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
type Delivery = {
  readonly message: ConsumeMessage;
  readonly link: Link;
  /** Milliseconds since the epoch, as the next. */
  readonly receivedAt: number;
  readonly readyAt: number;
  /** How often it was handled here before, and held. */
  readonly heldBefore: number;
};
type Link = { readonly channel: Channel; open: boolean };
type Held = { readonly delivery: Delivery; readonly timer: NodeJS.Timeout };

export class Consumer {
  readonly #options: ConsumerOptions;
  readonly #running = new Set<Promise<void>>();
  readonly #held = new Set<Held>();
  /** Received, or held until now, and not begun. */
  #waiting: Delivery[] = [];

  constructor(options: ConsumerOptions) {
    this.#options = options;
  }

  get inFlight(): number {
    return this.#running.size;
  }

  /** What the server counts neither as ready nor as delayed, and is not in flight either. */
  get unbegun(): { readonly ready: number; readonly delayed: number; readonly oldestReadyAt: number | undefined } {
    return { ready: this.#waiting.length, delayed: this.#held.size, oldestReadyAt: this.#waiting[0]?.readyAt };
  }

  get #mostHeld(): number {
    return this.#options.concurrency * HELD_PER_MESSAGE_IN_FLIGHT;
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
      for (const held of this.#held) if (!held.delivery.link.open) this.#release(held);
    });
    await channel.prefetch(concurrency + this.#mostHeld);
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
    await this.#giveBackHeld();
    await channel.close();
  }

  /** The rest of each delay passes on the server. What cannot be stored there is redelivered at once. */
  async #giveBackHeld(): Promise<void> {
    const all = [...this.#held].filter(({ delivery }) => delivery.link.open);
    for (const held of this.#held) this.#release(held);
    const copies = all.map(({ delivery }) => this.#delayed(delivery, delivery.readyAt - Date.now(), 0));
    await this.#options.send(copies).then(
      () => {
        for (const { delivery } of all) if (delivery.link.open) delivery.link.channel.ack(delivery.message);
      },
      () => undefined,
    );
  }

  #release(held: Held): void {
    clearTimeout(held.timer);
    this.#held.delete(held);
  }

  #accept(message: ConsumeMessage | null, link: Link): void {
    if (message === null) {
      // The queue was removed, or its server is shutting down: start over. The channel may be closed already.
      link.channel.close().catch(() => undefined);
    } else if (this.#options.signal.aborted) {
      link.channel.nack(message, false, true);
    } else {
      const now = Date.now();
      this.#waiting.push({ message, link, receivedAt: now, readyAt: readyAt(message) ?? now, heldBefore: 0 });
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

  async #work(delivery: Delivery): Promise<void> {
    const { message, link } = delivery;
    const earlyMs = (dueAt(message) ?? 0) - Date.now();
    const outcome: Outcome = earlyMs > 0 ? { kind: 'retry', delayMs: earlyMs } : await this.#outcome(delivery);
    const copy = this.#replacement(delivery, outcome, earlyMs > 0 ? 0 : 1);
    if (copy === 'held') return;
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

  /** The message to store in its place; undefined if it is done. */
  #replacement(delivery: Delivery, outcome: Outcome, handled: 0 | 1): Outgoing | 'held' | undefined {
    switch (outcome.kind) {
      case 'done':
        return undefined;
      case 'dead':
        return deadCopy(this.#options.queue, delivery.message, outcome.reason);
      case 'retry':
        return this.#hold(delivery, outcome.delayMs, handled)
          ? 'held'
          : this.#delayed(delivery, outcome.delayMs, handled);
    }
  }

  #delayed({ message, heldBefore }: Delivery, delayMs: number, handled: 0 | 1): Outgoing {
    return delayedCopy(this.#options.queue, message, delayMs, deliveriesOf(message) + heldBefore + handled);
  }

  /** Lets it wait here, if the delay is short and there is room. */
  #hold(delivery: Delivery, delayMs: number, handled: 0 | 1): boolean {
    const now = Date.now();
    if (delayMs > LONGEST_HELD_MS || now + delayMs - delivery.receivedAt > LONGEST_UNACKNOWLEDGED_MS) return false;
    if (this.#options.signal.aborted || this.#held.size >= this.#mostHeld || !delivery.link.open) return false;
    const again: Delivery = { ...delivery, readyAt: now + delayMs, heldBefore: delivery.heldBefore + handled };
    const timer = setTimeout(() => {
      this.#held.delete(held);
      this.#waiting.push(again);
      this.#startWaiting();
    }, delayMs);
    const held: Held = { delivery: again, timer };
    this.#held.add(held);
    return true;
  }

  async #outcome({ message: raw, heldBefore }: Delivery): Promise<Outcome> {
    let message: ReceivedMessage;
    try {
      message = received(raw);
    } catch (error) {
      return { kind: 'dead', reason: `The message is not JSON: ${error instanceof Error ? error.message : error}` };
    }
    const redeliveries = message.redeliveries + heldBefore;
    return runHandler(this.#options.handle, { ...message, redeliveries }, this.#options.onHandlerError);
  }
}
