/**
 * The message broker on RabbitMQ (AMQP 0-9-1), for several processes on several machines.
 *
 * A queue is a queue on the server, `<queue>.dead` holds its dead letters, and `<queue>.delay.0` … is the chain for its
 * delayed messages. All are durable, and replicated in a cluster (quorum queues). A message that is delayed or
 * dead-lettered is published again and then acknowledged, so a crash in between repeats it and never loses it.
 */
import PQueue from 'p-queue';
import type { LogAnchor } from '../../../ports/eventStore.js';
import {
  BrokerUnavailableError,
  type Checkpoint,
  type ConsumeOptions,
  type DeadLetter,
  type Message,
  type MessageBroker,
  type QueueDepth,
} from '../../../ports/messageBroker.js';
import { type Handler, type OnHandlerError, RunningConsumers, warn } from '../consuming.js';
import { Checkpoints, firstReadyAt, listDeadLetters, reviveDeadLetter } from './browse.js';
import { Connection } from './connection.js';
import { Consumer } from './consumer.js';
import { urlsOfHosts } from './hosts.js';
import { leadOnServer } from './leader.js';
import { newMessage, type Outgoing } from './messages.js';
import type { Session } from './session.js';
import { deadQueue, delayName, LEVELS } from './topology.js';

const DEFAULT_TIMEOUT_MS = 10_000;
const PING_TIMEOUT_MS = 3_000;

export type RabbitMqBrokerOptions = {
  /**
   * `amqp://user:password@host:5672/vhost`, or `amqps:`. A cluster has several hosts, with commas between. Its query may set `heartbeat` (seconds; default 10), and
   * `queue_prefix`, a prefix for all names where several installations share a virtual host.
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
  readonly #checkpoints = new Checkpoints();
  readonly #prefix: string;
  readonly #onTrouble: (error: Error) => void;
  readonly #onHandlerError: OnHandlerError;
  readonly #consumers = new RunningConsumers<Consumer>();
  readonly #closing = new AbortController();
  /** Two browsers of one queue hide its messages from each other, so they run one by one. */
  readonly #browsing = new PQueue({ concurrency: 1 });

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
    const outgoing = messages.map((message) => newMessage(queue, message));
    await this.#send(queue, outgoing);
  }

  async publishWithCheckpoint(queue: string, messages: readonly Message[], checkpoint: Checkpoint): Promise<void> {
    await this.publish(queue, messages);
    const prefixed = { ...checkpoint, name: this.#prefix + checkpoint.name };
    await this.#publishing.use((session) => this.#checkpoints.store(acceptingMessages(session), prefixed));
  }

  async checkpoint(name: string): Promise<LogAnchor> {
    return this.#publishing.use((session) => this.#checkpoints.read(session, this.#prefix + name));
  }

  consume(name: string, options: ConsumeOptions, handle: Handler): Promise<void> {
    const queue = this.#prefix + name;
    const settings = {
      queue,
      connection: this.#consuming,
      handle,
      send: (messages: readonly Outgoing[]) => this.#send(queue, messages),
      onHandlerError: this.#onHandlerError,
      onTrouble: this.#onTrouble,
    };
    return this.#consumers.run(queue, options, (running) => new Consumer({ ...settings, ...running }));
  }

  async lead(name: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const send = (messages: readonly Outgoing[]): Promise<void> =>
      this.#publishing.use((session) => acceptingMessages(session).send(messages));
    const election = { name: this.#prefix + name, connection: this.#consuming, send };
    const ending = AbortSignal.any([signal, this.#closing.signal]);
    if (!ending.aborted) await leadOnServer(election, ending, work);
  }

  async depth(name: string): Promise<QueueDepth> {
    const queue = this.#prefix + name;
    return this.#consuming.use(async (session) => {
      await session.declareWork(queue);
      const counts = await session.withChannel(async (channel) => {
        const count = async (each: string): Promise<number> => (await channel.checkQueue(each)).messageCount;
        let delayed = 0;
        for (let level = 0; level < LEVELS; level++) delayed += await count(delayName(queue, level));
        return { ready: await count(queue), delayed, dead: await count(deadQueue(queue)) };
      });
      const onServer = counts.ready === 0 ? undefined : await firstReadyAt(session, queue);
      const consumers = this.#consumers.of(queue);
      const unbegun = consumers.map((consumer) => consumer.unbegun);
      const now = Date.now();
      const oldest = Math.min(now, onServer ?? now, ...unbegun.map(({ oldestReadyAt }) => oldestReadyAt ?? now));
      return {
        ready: counts.ready + sum(unbegun.map(({ ready }) => ready)),
        delayed: counts.delayed + sum(unbegun.map(({ delayed }) => delayed)),
        inFlight: sum(consumers.map(({ inFlight }) => inFlight)),
        dead: counts.dead,
        oldestReadyMs: now - oldest,
      };
    });
  }

  async deadLetters(name: string, limit: number): Promise<readonly DeadLetter[]> {
    const queue = this.#prefix + name;
    return this.#browse(queue, (session) => listDeadLetters(session, queue, limit));
  }

  async revive(name: string, id: string): Promise<boolean> {
    const queue = this.#prefix + name;
    const send = (messages: readonly Outgoing[]) => this.#send(queue, messages);
    return this.#browse(queue, (session) => reviveDeadLetter(session, queue, id, send));
  }

  async ping(): Promise<void> {
    await this.#publishing.use(async (session) => {
      acceptingMessages(session);
      await session.withChannel(async () => undefined);
    }, PING_TIMEOUT_MS);
  }

  /** Ends the consumers of this broker first. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#consumers.stop();
    await Promise.all([this.#publishing.close(), this.#consuming.close()]);
  }

  async #send(queue: string, messages: readonly Outgoing[]): Promise<void> {
    if (messages.length === 0) return;
    await this.#publishing.use(async (session) => {
      acceptingMessages(session);
      await session.declareWork(queue);
      await session.send(messages);
    });
  }

  #browse<T>(queue: string, work: (session: Session) => Promise<T>): Promise<T> {
    return this.#browsing.add(() =>
      this.#consuming.use(async (session) => {
        await session.declareWork(queue);
        return work(session);
      }),
    );
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

/** @throws BrokerUnavailableError if the server is low on memory or disk, and accepts no messages for now */
function acceptingMessages(session: Session): Session {
  if (session.blocked === undefined) return session;
  throw new BrokerUnavailableError(`RabbitMQ takes no messages for now: ${session.blocked}.`);
}
