/** One connection to the server, from its opening until it is lost. */
import { type Channel, type ChannelModel, type ConfirmChannel, connect } from 'amqplib';
import PQueue from 'p-queue';
import { errorCode } from '../../../supervision/files.js';
import { sleep } from '../../../supervision/waiting.js';
import type { Outgoing } from './messages.js';
import { QUORUM, type Queue, workQueues } from './queues.js';

const CONNECT_TIMEOUT_MS = 5_000;
/** A server that stays silent for twice this time is lost. */
const HEARTBEAT_SECONDS = 10;
const PRECONDITION_FAILED = 406;
/** How often a message is sent that the server refuses, this long apart. */
const SENDS = 5;
const SEND_RETRY_MS = 200;

/** One after the other in a process: the server closes a connection that uses a queue while another one makes it. */
const declaring = new PQueue({ concurrency: 1 });

export class Session {
  /** Resolves with the reason when the connection has ended. */
  readonly ended: Promise<Error>;
  /** By the name of the first queue. */
  readonly #declared = new Map<string, Promise<void>>();
  #confirming: Promise<ConfirmChannel> | undefined;
  /** Numbers of messages that the server returned because no queue took them. */
  readonly #returned = new Set<string>();
  #published = 0;
  /** Why the server accepts no messages for now; undefined if it does. */
  blocked: string | undefined;

  private constructor(private readonly model: ChannelModel) {
    let failure: Error | undefined;
    model.on('error', (error) => {
      failure = error;
    });
    model.on('blocked', (reason) => {
      this.blocked = reason;
    });
    model.on('unblocked', () => {
      this.blocked = undefined;
    });
    this.ended = new Promise((resolve) => {
      model.on('close', (error) => resolve(failure ?? error ?? new Error('The connection was closed.')));
    });
  }

  /**
   * @param name the connection's name in the server's lists
   * @throws Error if the server cannot be reached
   */
  static async open(url: string, name: string): Promise<Session> {
    const model = await connect(withHeartbeat(url), {
      timeout: CONNECT_TIMEOUT_MS,
      noDelay: true,
      clientProperties: { connection_name: name },
    });
    const session = new Session(model);
    // Detects a connection that ended before the listeners were attached.
    await session.withChannel(async () => undefined);
    return session;
  }

  /** Opens a channel, which the caller closes. A channel's users learn of its end by the calls that fail. */
  async openChannel(): Promise<Channel> {
    const channel = await this.model.createChannel();
    return channel.on('error', () => undefined);
  }

  /** Messages that were taken and have no acknowledgement go back. Does not reject if the channel is closed already. */
  async closeChannel(channel: Channel): Promise<void> {
    const close = async (): Promise<void> => channel.close();
    await Promise.race([close().catch(() => undefined), this.ended]);
  }

  /** Runs work on a channel of its own. */
  async withChannel<T>(work: (channel: Channel) => Promise<T>): Promise<T> {
    const channel = await this.openChannel();
    try {
      return await work(channel);
    } finally {
      await this.closeChannel(channel);
    }
  }

  /** Makes replicated queues. Those that are there stay as they are: an operator may have made them. */
  declare(...queues: readonly Queue[]): Promise<void> {
    const [[name = ''] = []] = queues;
    const known = this.#declared.get(name);
    if (known !== undefined) return known;
    const declared = declaring.add(async () => {
      for (const queue of queues) await this.#declare(queue);
    });
    this.#declared.set(name, declared);
    declared.catch(() => this.#declared.delete(name));
    return declared;
  }

  /** A queue that has other arguments ends the channel. */
  async #declare([name, own]: Queue): Promise<void> {
    const options = { durable: true, arguments: { ...QUORUM, ...own } };
    try {
      await this.withChannel((channel) => channel.assertQueue(name, options));
    } catch (error) {
      if (errorCode(error) !== PRECONDITION_FAILED) throw error;
    }
  }

  /** Declares the queue and what belongs to it. */
  declareWork = (queue: string): Promise<void> => this.declare(...workQueues(queue));

  /** The declared queues may have been removed: the next use declares them again. */
  forgetDeclared(): void {
    this.#declared.clear();
  }

  /** Resolves when the server has confirmed that all are stored durably. */
  async send(messages: readonly Outgoing[]): Promise<void> {
    await Promise.all(messages.map((message) => this.#send(message)));
  }

  /** A queue that is being made, or elects its leader, refuses messages for a moment. */
  async #send(message: Outgoing): Promise<void> {
    for (let tries = 1; ; tries++) {
      this.#confirming ??= this.#openConfirming();
      try {
        return await this.#confirmed(await this.#confirming, message);
      } catch (error) {
        if (!isRefusal(error) || tries === SENDS) throw error;
      }
      await sleep(SEND_RETRY_MS);
    }
  }

  async close(): Promise<void> {
    await this.model.close();
  }

  async #openConfirming(): Promise<ConfirmChannel> {
    const channel = await this.model.createConfirmChannel().catch((error: unknown) => {
      this.#confirming = undefined;
      throw error;
    });
    channel.on('error', () => undefined);
    channel.on('return', ({ properties }) => this.#returned.add(String(properties.correlationId)));
    channel.on('close', () => {
      this.#confirming = undefined;
    });
    return channel;
  }

  #confirmed(channel: ConfirmChannel, { queue, content, options }: Outgoing): Promise<void> {
    const correlationId = String(++this.#published);
    return new Promise((resolve, reject) => {
      channel.publish('', queue, content, { ...options, correlationId }, (error: unknown) => {
        // A message that no queue takes is returned first, and confirmed anyway.
        if (this.#returned.delete(correlationId)) reject(new Error(`There is no queue ${queue}.`));
        else if (error instanceof Error) reject(error);
        else resolve();
      });
    });
  }
}

const isRefusal = (error: unknown): boolean => error instanceof Error && error.message === 'message nacked';

function withHeartbeat(text: string): string {
  const url = new URL(text);
  if (!url.searchParams.has('heartbeat')) url.searchParams.set('heartbeat', String(HEARTBEAT_SECONDS));
  return url.href;
}
