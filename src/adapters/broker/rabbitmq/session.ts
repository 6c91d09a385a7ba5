/** One connection to the server, from its opening until it is lost. */
import { type Channel, type ChannelModel, type ConfirmChannel, connect } from 'amqplib';
import type { Outgoing } from './messages.js';
import { declareCheckpoint, declareLeader, declareWork } from './topology.js';

const CONNECT_TIMEOUT_MS = 5_000;
/** A server that stays silent for twice this time is lost. */
const HEARTBEAT_SECONDS = 10;

export class Session {
  /** Resolves with the reason when the connection has ended. */
  readonly ended: Promise<Error>;
  readonly #model: ChannelModel;
  readonly #declared = new Map<string, Promise<void>>();
  #confirming: Promise<ConfirmChannel> | undefined;
  /** Numbers of messages that the server returned because no queue took them. */
  readonly #returned = new Set<string>();
  #published = 0;
  /** Why the server accepts no messages for now; undefined if it does. */
  blocked: string | undefined;

  private constructor(model: ChannelModel) {
    this.#model = model;
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
    try {
      // Detects a connection that ended before the listeners were attached.
      await (await session.openChannel()).close();
      return session;
    } catch (error) {
      // Already ended or ending; the caller gets the reason why it was unusable.
      await model.close().catch(() => undefined);
      throw error;
    }
  }

  get serverVersion(): string {
    return String(this.#model.connection.serverProperties.version);
  }

  /** Opens a channel, which the caller closes. */
  async openChannel(): Promise<Channel> {
    return withSafeClose(ignoreErrors(await this.#model.createChannel()));
  }

  /** Runs work on a channel of its own; messages it took and did not acknowledge go back. */
  async withChannel<T>(work: (channel: Channel) => Promise<T>): Promise<T> {
    const channel = await this.openChannel();
    let result: T;
    try {
      result = await work(channel);
    } catch (error) {
      // There is nothing to close if the server has closed the channel, or the connection is lost.
      await channel.close().catch(() => undefined);
      throw error;
    }
    await channel.close();
    return result;
  }

  /** Declares the queue and what belongs to it, once. */
  declareWork(queue: string): Promise<void> {
    return this.#once(`queue ${queue}`, () => declareWork(() => this.openChannel(), queue));
  }

  declareCheckpoint(name: string): Promise<void> {
    return this.#once(`checkpoint ${name}`, () => declareCheckpoint(() => this.openChannel(), name));
  }

  declareLeader(name: string): Promise<void> {
    return this.#once(`leader ${name}`, () => declareLeader(() => this.openChannel(), name));
  }

  /** The declared queues may have been removed: the next use declares them again. */
  forgetDeclared(): void {
    this.#declared.clear();
  }

  /** Resolves when the server has confirmed that all are stored durably. */
  async send(messages: readonly Outgoing[]): Promise<void> {
    this.#confirming ??= this.#openConfirming();
    const channel = await this.#confirming;
    await Promise.all(messages.map((message) => this.#confirmed(channel, message)));
  }

  async close(): Promise<void> {
    await this.#model.close();
  }

  async #openConfirming(): Promise<ConfirmChannel> {
    const channel = ignoreErrors(await this.#model.createConfirmChannel());
    channel.on('return', ({ properties }) => this.#returned.add(String(properties.correlationId)));
    channel.on('close', () => {
      this.#confirming = undefined;
    });
    return channel;
  }

  #confirmed(channel: ConfirmChannel, { exchange, routingKey, content, options }: Outgoing): Promise<void> {
    const correlationId = String(++this.#published);
    return new Promise((resolve, reject) => {
      channel.publish(exchange, routingKey, content, { ...options, correlationId }, (error: unknown) => {
        // A message that no queue takes is returned first, and confirmed anyway.
        if (this.#returned.delete(correlationId)) reject(new Error(`There is no queue for ${routingKey}.`));
        else if (error instanceof Error) reject(error);
        else resolve();
      });
    });
  }

  #once(what: string, declare: () => Promise<void>): Promise<void> {
    const known = this.#declared.get(what);
    if (known !== undefined) return known;
    const declared = declare();
    this.#declared.set(what, declared);
    declared.catch(() => this.#declared.delete(what));
    return declared;
  }
}

/** A channel's users learn of its end by the calls that fail; an unhandled event would end the process. */
function ignoreErrors<C extends Channel>(channel: C): C {
  channel.on('error', () => undefined);
  return channel;
}

/**
 * The same channel, whose `close` also ends when the connection is lost meanwhile: amqplib's waits for the server's
 * answer, which then never comes.
 */
function withSafeClose(channel: Channel): Channel {
  const close = channel.close.bind(channel);
  const closed = new Promise<void>((resolve) => channel.once('close', resolve));
  channel.close = () => Promise.race([close(), closed]);
  return channel;
}

function withHeartbeat(text: string): string {
  const url = new URL(text);
  if (!url.searchParams.has('heartbeat')) url.searchParams.set('heartbeat', String(HEARTBEAT_SECONDS));
  return url.href;
}
