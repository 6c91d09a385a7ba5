/**
 * The message broker on RabbitMQ (AMQP 0-9-1), for several processes on several machines.
 *
 * A queue is a queue on the server, `<queue>.dead` holds its dead letters, and `<queue>.delay.256ms` … its delayed messages.
 * All are durable, and replicated in a cluster (quorum queues). A message that is delayed or dead-lettered is published
 * again and then acknowledged, so a crash in between repeats it and never loses it.
 */
import type { Channel, GetMessage } from 'amqplib';
import type { LogAnchor } from '../../../ports/eventStore.js';
import {
  BrokerUnavailableError,
  type ConsumeOptions,
  type DeadLetter,
  type Message,
  type MessageBroker,
  type QueueDepth,
} from '../../../ports/messageBroker.js';
import { sleep } from '../../../supervision/waiting.js';
import { type Handler, type OnHandlerError, RunningConsumers, warn } from '../consuming.js';
import { Connection, unavailable, urlsOfHosts } from './connection.js';
import { Consumer } from './consumer.js';
import {
  candidateMessage,
  checkpointMessage,
  checkpointOf,
  deadLetter,
  newMessage,
  type Outgoing,
  readyAt,
} from './messages.js';
import { checkpointQueue, deadQueue, delayQueues, LAST_ONLY, ONE_CONSUMER } from './queues.js';
import type { Session } from './session.js';

const DEFAULT_TIMEOUT_MS = 10_000;
const PING_TIMEOUT_MS = 3_000;
/** How often a process finds out whether it leads now. */
const LEAD_AGAIN_MS = 1_000;
/** A process that reads a checkpoint holds it for some milliseconds, so none is looked for this often, 40 ms apart. */
const CHECKPOINT_READS = 25;
const READ_AGAIN_MS = 40;

export type RabbitMqBrokerOptions = {
  /**
   * `amqp://user:password@host:5672/vhost`, or `amqps:`. A cluster has several hosts, with commas between. Its query may
   * set `heartbeat` (seconds; default 10), and `queue_prefix`, a prefix for all names where several installations share a
   * virtual host.
   */
  readonly url: string;
  /** Limit for the server's answers and confirms. Default 10,000. */
  readonly timeoutMs?: number;
  /**
   * Called when the server is lost, once per outage, and when a consumer is interrupted. Default: a process warning.
   */
  readonly onTrouble?: (error: Error) => void;
  /** Default: a process warning. */
  readonly onHandlerError?: OnHandlerError;
};

/** Does not wait for the server, which may be away at first. */
export async function openRabbitMqBroker(options: RabbitMqBrokerOptions): Promise<MessageBroker> {
  return new RabbitMqBroker(options);
}

class RabbitMqBroker implements MessageBroker {
  /**
   * Two connections: a server that is low on memory stops reading from publishers, so acknowledgements need another
   * one.
   */
  readonly #publishing: Connection;
  readonly #consuming: Connection;
  readonly #prefix: string;
  readonly #onTrouble: (error: Error) => void;
  readonly #onHandlerError: OnHandlerError;
  readonly #consumers = new RunningConsumers<Consumer>();

  constructor(options: RabbitMqBrokerOptions) {
    this.#onTrouble = options.onTrouble ?? warn;
    this.#onHandlerError = options.onHandlerError ?? warn;
    const { url, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
    const urls = urlsOfHosts(url);
    this.#prefix = new URL(urls[0] ?? url).searchParams.get('queue_prefix') ?? '';
    const connection = (purpose: string): Connection =>
      new Connection({ urls, timeoutMs, name: `dynamic-assets ${purpose}`, onLost: this.#onTrouble });
    this.#publishing = connection('publishing');
    this.#consuming = connection('consuming');
  }

  async publish(name: string, messages: readonly Message[]): Promise<void> {
    const queue = this.#prefix + name;
    await this.#send(
      messages.map((message) => newMessage(queue, message)),
      (session) => session.declareWork(queue),
    );
  }

  async storeCheckpoint(name: string, checkpoint: LogAnchor): Promise<void> {
    const message = checkpointMessage(this.#prefix + name, checkpoint);
    await this.#send([message], (session) => session.declare([message.queue, LAST_ONLY]));
  }

  async checkpoint(name: string): Promise<LogAnchor> {
    const queue = checkpointQueue(this.#prefix + name);
    return this.#publishing.use(async (session) => {
      const wasThere = await session.declare([queue, LAST_ONLY]);
      for (let reads = wasThere ? CHECKPOINT_READS : 1; reads > 0; reads -= 1) {
        const found = (await inspected(session, queue, 1)).map(checkpointOf);
        if (found[0] !== undefined) return found[0];
        await sleep(READ_AGAIN_MS);
      }
      return { position: 0 };
    });
  }

  consume(name: string, options: ConsumeOptions, handle: Handler): Promise<void> {
    const queue = this.#prefix + name;
    const settings = {
      queue,
      connection: this.#consuming,
      handle,
      send: (messages: readonly Outgoing[]) => this.#send(messages, (session) => session.declareWork(queue)),
      onHandlerError: this.#onHandlerError,
      onTrouble: this.#onTrouble,
    };
    return this.#consumers.run(queue, options, (running) => new Consumer({ ...settings, ...running }));
  }

  /**
   * All that would lead consume one queue, which hands its messages to one of them until that one is gone. Each publishes
   * a message now and then until it is handed one: then it leads.
   */
  async lead(name: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const stopping = this.#consumers.ending(signal);
    if (stopping.aborted) return;
    const session = await this.#consuming.session(stopping);
    const [lost, elected] = [new AbortController(), new AbortController()];
    const ending = AbortSignal.any([stopping, lost.signal]);
    const channel = await session.openChannel().catch(asUnavailable);
    channel.once('close', () => lost.abort());
    try {
      await this.#elect(name, channel, lost, elected, ending).catch(asUnavailable);
      if (!ending.aborted) await work(ending);
      if (lost.signal.aborted) throw new BrokerUnavailableError(`This process no longer leads ${name}.`);
    } finally {
      await session.closeChannel(channel);
    }
  }

  /** Resolves when one of the signals has aborted. @throws Error if the connection is lost, or the queue removed */
  async #elect(
    name: string,
    channel: Channel,
    lost: AbortController,
    elected: AbortController,
    ending: AbortSignal,
  ): Promise<void> {
    const message = candidateMessage(this.#prefix + name);
    const stand = () => this.#send([message], (session) => session.declare([message.queue, ONE_CONSUMER]));
    await stand();
    // Without a message the queue was removed, or its server is shutting down.
    await channel.consume(message.queue, (taken) => (taken === null ? lost : elected).abort(), { noAck: true });
    const decided = AbortSignal.any([ending, elected.signal]);
    for (;;) {
      await sleep(LEAD_AGAIN_MS, decided);
      if (decided.aborted) return;
      await stand();
    }
  }

  async depth(name: string): Promise<QueueDepth> {
    const queue = this.#prefix + name;
    return this.#consuming.use(async (session) => {
      await session.declareWork(queue);
      const queues = [queue, deadQueue(queue), ...delayQueues(queue)];
      const counts = await session.withChannel((channel) =>
        Promise.all(queues.map((each) => channel.checkQueue(each))),
      );
      const [onServer = 0, dead = 0, ...delayed] = counts.map(({ messageCount }) => messageCount);
      const now = Date.now();
      const [first] = onServer === 0 ? [] : await inspected(session, queue, 1);
      const depths = this.#consumers.of(queue).map(({ depth }) => depth);
      const oldest = Math.min(now, first === undefined ? now : readyAt(first), ...depths.map((each) => each.oldest));
      return {
        ready: onServer + sum(depths.map(({ ready }) => ready)),
        delayed: sum(delayed) + sum(depths.map((each) => each.delayed)),
        inFlight: sum(depths.map(({ inFlight }) => inFlight)),
        dead,
        oldestReadyMs: now - oldest,
      };
    });
  }

  async deadLetters(name: string, limit: number): Promise<readonly DeadLetter[]> {
    const queue = this.#prefix + name;
    return this.#consuming.use(async (session) => {
      await session.declareWork(queue);
      const letters = (await inspected(session, deadQueue(queue), limit)).map(deadLetter);
      return letters.sort((one, other) => (one.at < other.at ? -1 : Number(one.at > other.at)));
    });
  }

  async ping(): Promise<void> {
    await this.#publishing.use(
      (session) => acceptingMessages(session).withChannel(async () => undefined),
      PING_TIMEOUT_MS,
    );
  }

  async close(): Promise<void> {
    await this.#consumers.stop();
    await Promise.all([this.#publishing.close(), this.#consuming.close()]);
  }

  async #send(messages: readonly Outgoing[], declare: (session: Session) => Promise<unknown>): Promise<void> {
    if (messages.length === 0) return;
    await this.#publishing.use(async (session) => {
      acceptingMessages(session);
      await declare(session);
      await session.send(messages);
    });
  }
}

const asUnavailable = (error: unknown): never => {
  throw unavailable(error);
};

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

/** Up to `limit` messages from the head of a queue. They are taken, so others do not see them, and go back with the channel. */
async function inspected(session: Session, queue: string, limit: number): Promise<readonly GetMessage[]> {
  return session.withChannel(async (channel) => {
    const found: GetMessage[] = [];
    while (found.length < limit) {
      const message = await channel.get(queue);
      if (message === false) break;
      found.push(message);
    }
    return found;
  });
}

/** @throws BrokerUnavailableError if the server is low on memory or disk, and accepts no messages for now */
function acceptingMessages(session: Session): Session {
  if (session.blocked === undefined) return session;
  throw new BrokerUnavailableError(`RabbitMQ takes no messages for now: ${session.blocked}.`);
}
