/** The queues and exchanges on the server: what they are called, and how they are made where they are missing. */
import type { Channel } from 'amqplib';
import { LEVELS, levelPattern, UNIT_MS } from './delays.js';

export const deadQueue = (queue: string): string => `${queue}.dead`;

/** Queue and exchange of one level of the chain of delays. */
export const delayName = (queue: string, level: number): string => `${queue}.delay.${level}`;

/** Holds one message: the checkpoint of this name. */
export const checkpointQueue = (name: string): string => `checkpoint.${name}`;

type Arguments = { readonly [name: string]: string | number };

/**
 * Replicated queues where the server has them. Version 4 drops a message after 20 returns unless told otherwise, and
 * to look at a message is to take and return it. Messages that leave a delay are passed on with confirms.
 */
const QUORUM: Arguments = { 'x-queue-type': 'quorum', 'x-delivery-limit': 1_000_000_000 };
const CONFIRMED_DEAD_LETTERS: Arguments = {
  'x-dead-letter-strategy': 'at-least-once',
  'x-overflow': 'reject-publish',
};

/** The server closes the channel of a refused declaration; the next one needs another. */
export type OpenChannel = () => Promise<Channel>;

const PRECONDITION_FAILED = 406;
const NOT_IMPLEMENTED = 540;

export async function declareWork(open: OpenChannel, queue: string): Promise<void> {
  const declaration = await Declaration.begin(open);
  await declaration.queue(queue, {});
  await declaration.queue(deadQueue(queue), {});
  for (let level = 0; level < LEVELS; level++) await declareDelay(declaration, queue, level);
  await declaration.end();
}

async function declareDelay(declaration: Declaration, queue: string, level: number): Promise<void> {
  const name = delayName(queue, level);
  const below = delayName(queue, level - 1);
  const next: Arguments =
    level === 0
      ? { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': queue }
      : { 'x-dead-letter-exchange': below };
  await declaration.queue(name, { ...next, 'x-message-ttl': UNIT_MS * 2 ** level }, CONFIRMED_DEAD_LETTERS);
  await declaration.channel.assertExchange(name, 'topic', { durable: true });
  await declaration.channel.bindQueue(name, name, levelPattern(level, '1'));
  const passed = levelPattern(level, '0');
  if (level === 0) await declaration.channel.bindQueue(queue, name, passed);
  else await declaration.channel.bindExchange(below, name, passed);
}

export async function declareCheckpoint(open: OpenChannel, name: string): Promise<void> {
  const declaration = await Declaration.begin(open);
  await declaration.queue(checkpointQueue(name), { 'x-max-length': 1, 'x-overflow': 'drop-head' });
  await declaration.end();
}

class Declaration {
  readonly #open: OpenChannel;
  channel: Channel;

  private constructor(open: OpenChannel, channel: Channel) {
    this.#open = open;
    this.channel = channel;
  }

  static async begin(open: OpenChannel): Promise<Declaration> {
    return new Declaration(open, await open());
  }

  end(): Promise<void> {
    return this.channel.close();
  }

  /** A quorum queue; a classic durable one where the server has no such thing, or has the queue as a classic one. */
  async queue(name: string, classic: Arguments, quorumOnly: Arguments = {}): Promise<void> {
    try {
      await this.channel.assertQueue(name, { durable: true, arguments: { ...QUORUM, ...quorumOnly, ...classic } });
    } catch (error) {
      if (!isRefusal(error)) throw error;
      this.channel = await this.#open();
      await this.channel.assertQueue(name, { durable: true, arguments: classic });
    }
  }
}

const isRefusal = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === PRECONDITION_FAILED || error.code === NOT_IMPLEMENTED);
