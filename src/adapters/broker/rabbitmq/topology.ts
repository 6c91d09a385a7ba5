/** Queues and exchanges on the server: their names, how they are declared, and the route of a delay. */
import type { Channel } from 'amqplib';

/**
 * Delays on a server without delayed messages: a chain of queues. Each holds every message for the same time (so none
 * waits behind a longer one) and passes it on. Level n holds for 2^n units. The routing key says, bit by bit from the
 * highest level, in which levels a message waits.
 */

const UNIT_MS = 50;
export const LEVELS = 20;

/** Bits of a delay that are kept, the highest ones. A message hops once for each, and is at most 1/16 too late. */
const SIGNIFICANT_BITS = 5;
const MAX_UNITS = (2 ** SIGNIFICANT_BITS - 1) * 2 ** (LEVELS - SIGNIFICANT_BITS);

/** About 14 hours. Longer delays take several rounds. */
export const MAX_DELAY_MS = MAX_UNITS * UNIT_MS;

export const deadQueue = (queue: string): string => `${queue}.dead`;

/** Queue and exchange of one level of the chain. */
export const delayName = (queue: string, level: number): string => `${queue}.delay.${level}`;

/** A queue that holds one message: the checkpoint of this name. */
export const checkpointQueue = (name: string): string => `checkpoint.${name}`;

/** Elects who leads under this name. */
export const leaderQueue = (name: string): string => `leader.${name}`;

type Arguments = { readonly [name: string]: string | number | boolean };

/**
 * Replicated queues if the server has them. Version 4 drops a message after 20 returns unless told otherwise, and
 * browsing takes and returns messages. Expired messages are passed on with confirms.
 */
const QUORUM: Arguments = { 'x-queue-type': 'quorum', 'x-delivery-limit': 1_000_000_000 };
const CONFIRMED_DEAD_LETTERS: Arguments = {
  'x-dead-letter-strategy': 'at-least-once',
  'x-overflow': 'reject-publish',
};

/** A refused declaration closes the channel, so the next one needs another. */
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

const LAST_ONLY: Arguments = { 'x-max-length': 1, 'x-overflow': 'drop-head' };

export async function declareCheckpoint(open: OpenChannel, name: string): Promise<void> {
  const channel = await declareQueue(open, await open(), checkpointQueue(name), LAST_ONLY);
  await channel.close();
}

export async function declareLeader(open: OpenChannel, name: string): Promise<void> {
  const toOne = { ...LAST_ONLY, 'x-single-active-consumer': true };
  const channel = await declareQueue(open, await open(), leaderQueue(name), toOne);
  await channel.close();
}

/** What an operator may have chosen for a queue without any effect on its messages. */
const OPERATORS_CHOICE = ['x-quorum-initial-group-size', 'x-quorum-target-group-size', 'x-queue-leader-locator'];
const QUEUE_TYPE = 'x-queue-type';
/** As refusals name them beside arguments. */
const PROPERTIES: Arguments = { durable: true, auto_delete: false };

/**
 * Declares a quorum queue; a classic durable one if the server has none, or has this queue as a classic one. A passive
 * declaration would not tell the arguments of the queue that is there: the refusal of another one does.
 * @returns the channel to continue with
 * @throws Error if the queue is there with an argument that messages would suffer from
 */
async function declareQueue(
  open: OpenChannel,
  given: Channel,
  name: string,
  classic: Arguments,
  quorumOnly: Arguments = {},
): Promise<Channel> {
  const quorum = { ...QUORUM, ...quorumOnly, ...classic };
  // The last one is for a classic queue that was declared with its type.
  const kinds: Arguments[] = [quorum, classic, { ...classic, [QUEUE_TYPE]: 'classic' }];
  let chosen: Arguments = {};
  for (let [channel, kind] = [given, 0]; ; channel = await open()) {
    try {
      await channel.assertQueue(name, { durable: true, arguments: { ...kinds[kind], ...chosen } });
      return channel;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const { argument, value } = otherArgument(error) ?? { argument: QUEUE_TYPE };
      if (argument === QUEUE_TYPE && kind < kinds.length - 1) kind += 1;
      else if (value !== undefined && !(argument in chosen) && OPERATORS_CHOICE.includes(argument))
        chosen = { ...chosen, [argument]: value };
      else {
        const needed: Arguments = { ...PROPERTIES, ...kinds[kind], [QUEUE_TYPE]: 'quorum' };
        const [has, wants] = [value ?? 'unset', needed[argument] ?? 'unset'];
        throw new Error(
          `The queue ${name} has the argument ${argument} ${has} where ${wants} is needed. Delete the queue while no process runs: it is filled again from the log.`,
          { cause: error },
        );
      }
    }
  }
}

const isRefusal = (error: unknown): error is Error =>
  error instanceof Error && 'code' in error && (error.code === PRECONDITION_FAILED || error.code === NOT_IMPLEMENTED);

/** The argument in which the queue on the server differs, with its value there, as the server's refusal says. */
function otherArgument({
  message,
}: Error): { readonly argument: string; readonly value?: string | number } | undefined {
  const [argument, ...rest] = message.split("inequivalent arg '")[1]?.split("'") ?? [];
  const current = rest.join("'").split(' current is ')[1] ?? '';
  const [, text, type] = /^(?:the value )?'([^']*)'(?: of type '(\w+)')?/.exec(current) ?? [];
  if (argument === undefined || text === undefined) return argument === undefined ? undefined : { argument };
  const isNumber = type === undefined ? /^\d+$/.test(text) : type !== 'longstr';
  return { argument, value: isNumber ? Number(text) : text };
}

type DelayRoute = {
  /** The highest level to wait in; undefined if there is no delay. */
  readonly level: number | undefined;
  readonly routingKey: string;
  /** The actual delay: never less than requested, up to `MAX_DELAY_MS`. */
  readonly delayMs: number;
};

/** @param delayMs milliseconds; less than 1 is no delay */
export function delayRoute(delayMs: number): DelayRoute {
  const units = roundUp(Math.min(MAX_UNITS, Math.ceil(Math.max(0, delayMs) / UNIT_MS)));
  const bits = units.toString(2);
  return {
    level: units === 0 ? undefined : bits.length - 1,
    routingKey: [...bits.padStart(LEVELS, '0')].join('.'),
    delayMs: units * UNIT_MS,
  };
}

function roundUp(units: number): number {
  const step = 2 ** Math.max(0, units.toString(2).length - SIGNIFICANT_BITS);
  return Math.ceil(units / step) * step;
}

/** Matches routing keys that wait (`1`) or do not wait (`0`) in this level. */
const levelPattern = (level: number, bit: '0' | '1'): string => {
  const position = LEVELS - 1 - level;
  return `${'*.'.repeat(position)}${bit}${level === 0 ? '' : '.#'}`;
};
