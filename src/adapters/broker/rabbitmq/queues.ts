/**
 * Queues on the server: their names and arguments.
 *
 * A delay is a queue whose messages expire into the work queue, one for each power of two of seconds: within a queue all
 * wait for the same time, so none waits behind a longer one. A message waits in the longest that fits its delay, and comes
 * back with the rest of it. The queues stay: an `x-expires` would end a quorum queue together with what waits in it.
 */

export type Arguments = { readonly [name: string]: string | number | boolean };

/** Replicated. Version 4 drops a message after 20 returns unless told otherwise; inspecting takes and returns messages. */
export const QUORUM: Arguments = { 'x-queue-type': 'quorum', 'x-delivery-limit': 1_000_000_000 };

/** Keeps the last message only. */
export const LAST_ONLY: Arguments = { 'x-max-length': 1, 'x-overflow': 'drop-head' };
/** Hands its messages to one consumer until that one is gone. */
export const ONE_CONSUMER: Arguments = { ...LAST_ONLY, 'x-single-active-consumer': true };

/** Seconds that the delay queues hold a message: 2 to 16,384 (4.5 hours). */
const DELAYS = Array.from({ length: 14 }, (_, exponent) => 2 ** (exponent + 1));

export const deadQueue = (queue: string): string => `${queue}.dead`;

/** Holds one message: the checkpoint of this name. */
export const checkpointQueue = (name: string): string => `checkpoint.${name}`;

/** Elects who leads under this name. */
export const leaderQueue = (name: string): string => `leader.${name}`;

const delayQueue = (queue: string, seconds: number): string => `${queue}.delay.${seconds}s`;

export const delayQueues = (queue: string): readonly string[] => DELAYS.map((seconds) => delayQueue(queue, seconds));

/** The queue, and what belongs to it. Expired messages are passed on with confirms. */
export const workQueues = (queue: string): readonly (readonly [name: string, own: Arguments])[] => [
  [queue, {}],
  [deadQueue(queue), {}],
  ...DELAYS.map((seconds): readonly [string, Arguments] => [
    delayQueue(queue, seconds),
    {
      'x-message-ttl': seconds * 1_000,
      'x-dead-letter-exchange': '',
      'x-dead-letter-routing-key': queue,
      'x-dead-letter-strategy': 'at-least-once',
      'x-overflow': 'reject-publish',
    },
  ]),
];

/** Where a message waits, and how long it has to wait after that (ms). */
export function delayRoute(queue: string, delayMs: number): { readonly queue: string; readonly restMs: number } {
  const [shortest = 2] = DELAYS;
  const seconds = DELAYS.findLast((each) => each * 1_000 <= delayMs) ?? shortest;
  return { queue: delayQueue(queue, seconds), restMs: Math.max(0, delayMs - seconds * 1_000) };
}
