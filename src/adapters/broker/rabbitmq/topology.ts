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
  let channel = await declareQueue(open, await open(), queue, {});
  channel = await declareQueue(open, channel, deadQueue(queue), {});
  for (let level = 0; level < LEVELS; level++) channel = await declareDelay(open, channel, queue, level);
  await channel.close();
}

async function declareDelay(open: OpenChannel, given: Channel, queue: string, level: number): Promise<Channel> {
  const name = delayName(queue, level);
  const below = delayName(queue, level - 1);
  const next: Arguments =
    level === 0
      ? { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': queue }
      : { 'x-dead-letter-exchange': below };
  const classic = { ...next, 'x-message-ttl': UNIT_MS * 2 ** level };
  const channel = await declareQueue(open, given, name, classic, CONFIRMED_DEAD_LETTERS);
  await channel.assertExchange(name, 'topic', { durable: true });
  await channel.bindQueue(name, name, levelPattern(level, '1'));
  const passed = levelPattern(level, '0');
  if (level === 0) await channel.bindQueue(queue, name, passed);
  else await channel.bindExchange(below, name, passed);
  return channel;
}

export async function declareCheckpoint(open: OpenChannel, name: string): Promise<void> {
  const lastOnly = { 'x-max-length': 1, 'x-overflow': 'drop-head' };
  const channel = await declareQueue(open, await open(), checkpointQueue(name), lastOnly);
  await channel.close();
}

/**
 * A quorum queue; a classic durable one where the server has no such thing, or has the queue as a classic one.
 * @returns the channel to go on with
 */
async function declareQueue(
  open: OpenChannel,
  channel: Channel,
  name: string,
  classic: Arguments,
  quorumOnly: Arguments = {},
): Promise<Channel> {
  try {
    await channel.assertQueue(name, { durable: true, arguments: { ...QUORUM, ...quorumOnly, ...classic } });
    return channel;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    const another = await open();
    await another.assertQueue(name, { durable: true, arguments: classic });
    return another;
  }
}

const isRefusal = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === PRECONDITION_FAILED || error.code === NOT_IMPLEMENTED);
