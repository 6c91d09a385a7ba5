/**
 * The message broker on RabbitMQ (AMQP 0-9-1), for several processes on several machines.
 *
 * A queue is a queue on the server, and `<queue>.delay.256ms` … hold its delayed messages. All are durable, and replicated
 * in a cluster (quorum queues). A message that is delayed is published again and then acknowledged, so a crash in between
 * repeats it and never loses it.
 */
import type { Channel } from 'amqplib';
import { BrokerUnavailableError, type MessageBroker } from '../../../ports/messageBroker.js';
import { sleep } from '../../../supervision/waiting.js';
import { RunningConsumers, warn } from '../consuming.js';
import { Connection, unavailable, urlsOfHosts } from './connection.js';
import { Consumer } from './consumer.js';
import { candidateMessage, checkpointMessage, newMessage, type Outgoing } from './messages.js';
import { checkpointQueue, delayQueues, LAST_ONLY, ONE_CONSUMER } from './queues.js';
import type { Session } from './session.js';

const PING_TIMEOUT_MS = 3_000;
/** How often a process finds out whether it leads now. */
const LEADER_CHECK_MS = 1_000;
/** A process that reads a checkpoint holds it for some milliseconds, so none is looked for this often, 40 ms apart. */
const CHECKPOINT_READS = 25;
const READ_RETRY_MS = 40;

export type RabbitMqBrokerOptions = {
  /**
   * `amqp://user:password@host:5672/vhost`, or `amqps:`; a cluster has several hosts, with commas between. Its query may set
   * `heartbeat` (seconds; default 10), and `queue_prefix`, a prefix for all names where installations share a virtual host.
   */
  readonly url: string;
  /** Called when the server is lost, once per outage, and when a consumer is interrupted. Default: a process warning. */
  readonly onTrouble?: (error: Error) => void;
};

/** Does not wait for the server, which may be away at first. */
export async function openRabbitMqBroker({ url, onTrouble = warn }: RabbitMqBrokerOptions): Promise<MessageBroker> {
  const urls = urlsOfHosts(url);
  const prefix = new URL(urls[0] ?? '').searchParams.get('queue_prefix') ?? '';
  const connection = (purpose: string): Connection =>
    new Connection({ urls, name: `dynamic-assets ${purpose}`, onLost: onTrouble });
  // Two: a server that is low on memory stops reading from publishers, and acknowledgements must go on.
  const [publishing, consuming] = [connection('publishing'), connection('consuming')];
  const consumers = new RunningConsumers<Consumer>();

  const send = async (messages: readonly Outgoing[], declare: (session: Session) => Promise<unknown>) => {
    if (messages.length === 0) return;
    await publishing.use(async (session) => {
      acceptingMessages(session);
      await declare(session);
      await session.send(messages);
    });
  };

  return {
    async publish(name, messages) {
      const queue = prefix + name;
      await send(
        messages.map((message) => newMessage(queue, message)),
        (session) => session.declareWork(queue),
      );
    },

    async storeCheckpoint(name, checkpoint) {
      const message = checkpointMessage(prefix + name, checkpoint);
      await send([message], (session) => session.declare([message.queue, LAST_ONLY]));
    },

    checkpoint(name) {
      const queue = checkpointQueue(prefix + name);
      return publishing.use(async (session) => {
        await session.declare([queue, LAST_ONLY]);
        for (let reads = CHECKPOINT_READS; reads > 0; reads -= 1) {
          // Taken, so others do not see it; it goes back with the channel.
          const found = await session.withChannel((channel) => channel.get(queue));
          if (found !== false) return JSON.parse(found.content.toString());
          await sleep(READ_RETRY_MS);
        }
        return { position: 0 };
      });
    },

    consume(name, options, handle) {
      const queue = prefix + name;
      const store = (messages: readonly Outgoing[]) => send(messages, (session) => session.declareWork(queue));
      const settings = { queue, connection: consuming, handle, send: store, onTrouble };
      return consumers.run(queue, options, (running) => new Consumer({ ...settings, ...running }));
    },

    async lead(name, signal, work) {
      const stopping = consumers.ending(signal);
      if (stopping.aborted) return;
      const session = await consuming.session(stopping);
      const lost = new AbortController();
      const ending = AbortSignal.any([stopping, lost.signal]);
      const channel = await session.openChannel().catch(asUnavailable);
      channel.once('close', () => lost.abort());
      const message = candidateMessage(prefix + name);
      const stand = () => send([message], (each) => each.declare([message.queue, ONE_CONSUMER]));
      try {
        await elected(channel, message.queue, stand, lost, ending).catch(asUnavailable);
        if (!ending.aborted) await work(ending);
        if (lost.signal.aborted) throw new BrokerUnavailableError(`This process no longer leads ${name}.`);
      } finally {
        await session.closeChannel(channel);
      }
    },

    depth(name) {
      const queue = prefix + name;
      return consuming.use(async (session) => {
        await session.declareWork(queue);
        const queues = [queue, ...delayQueues(queue)];
        const counts = await session.withChannel((channel) =>
          Promise.all(queues.map((each) => channel.checkQueue(each))),
        );
        const [onServer = 0, ...delayed] = counts.map(({ messageCount }) => messageCount);
        const depths = consumers.of(queue).map(({ depth }) => depth);
        return {
          ready: onServer + sum(depths.map(({ ready }) => ready)),
          delayed: sum(delayed) + sum(depths.map((each) => each.delayed)),
          inFlight: sum(depths.map(({ inFlight }) => inFlight)),
        };
      });
    },

    async ping() {
      await publishing.use((session) => acceptingMessages(session).withChannel(async () => undefined), PING_TIMEOUT_MS);
    },

    async close() {
      await consumers.stop();
      await Promise.all([publishing.close(), consuming.close()]);
    },
  };
}

/**
 * All that would lead consume one queue, which hands its messages to one of them until that one is gone. Each publishes a
 * message now and then until it is handed one: then it leads.
 * @param stand publishes a message
 * @param lost aborted when the queue is removed, or its server shuts down
 * @returns when this process leads, or `ending` has aborted @throws Error if the connection is lost
 */
async function elected(
  channel: Channel,
  queue: string,
  stand: () => Promise<void>,
  lost: AbortController,
  ending: AbortSignal,
): Promise<void> {
  const leads = new AbortController();
  await stand();
  await channel.consume(queue, (taken) => (taken === null ? lost : leads).abort(), { noAck: true });
  const decided = AbortSignal.any([ending, leads.signal]);
  for (;;) {
    await sleep(LEADER_CHECK_MS, decided);
    if (decided.aborted) return;
    await stand();
  }
}

const asUnavailable = (error: unknown): never => {
  throw unavailable(error);
};

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

/** @throws BrokerUnavailableError if the server is low on memory or disk, and accepts no messages for now */
function acceptingMessages(session: Session): Session {
  if (session.blocked === undefined) return session;
  throw new BrokerUnavailableError(`RabbitMQ takes no messages for now: ${session.blocked}.`);
}
