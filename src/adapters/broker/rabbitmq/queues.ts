/**
 * Queues on the server: their names and arguments.
 *
 * A delay is a queue whose messages expire into the work queue: in one queue all wait for the same time, so none waits behind
 * a longer one. Up to half a minute a delay is rounded up, to at most five fourths: behind its queue a message waits with all
 * others. A longer one is rounded down, and what the message names is put off once more. The queues stay: an `x-expires`
 * would end a quorum queue together with what waits in it.
 */

type Arguments = { readonly [name: string]: string | number | boolean };
/** With arguments beside those of every queue. */
export type Queue = readonly [name: string, own: Arguments];

/** Replicated. Version 4 drops a message after 20 returns unless told otherwise; inspecting takes and returns messages. */
export const QUORUM: Arguments = { 'x-queue-type': 'quorum', 'x-delivery-limit': 1_000_000_000 };

/** Keeps the last message only. */
export const LAST_ONLY: Arguments = { 'x-max-length': 1, 'x-overflow': 'drop-head' };
/** Hands its messages to one consumer until that one is gone. */
export const ONE_CONSUMER: Arguments = { ...LAST_ONLY, 'x-single-active-consumer': true };

const SHORTEST_MS = 256;
const ROUNDED_DOWN_FROM_MS = SHORTEST_MS * 2 ** 7;
/** Milliseconds that the delay queues hold a message, up to 4.7 hours. */
const DELAYS = Array.from({ length: 17 }, (_, exponent) => SHORTEST_MS * 2 ** exponent).flatMap((ms) =>
  ms < ROUNDED_DOWN_FROM_MS ? [1, 1.25, 1.5, 1.75].map((times) => times * ms) : [ms],
);

/** Holds one message: the checkpoint of this name. */
export const checkpointQueue = (name: string): string => `checkpoint.${name}`;

/** Elects who leads under this name. */
export const leaderQueue = (name: string): string => `leader.${name}`;

const delayQueue = (queue: string, ms: number): string => `${queue}.delay.${ms}ms`;

export const delayQueues = (queue: string): readonly string[] => DELAYS.map((ms) => delayQueue(queue, ms));

/** The queue, and what belongs to it. Expired messages are passed on with confirms. */
export const workQueues = (queue: string): readonly Queue[] => [
  [queue, {}],
  ...DELAYS.map(
    (ms): Queue => [
      delayQueue(queue, ms),
      {
        'x-message-ttl': ms,
        'x-dead-letter-exchange': '',
        'x-dead-letter-routing-key': queue,
        'x-dead-letter-strategy': 'at-least-once',
        'x-overflow': 'reject-publish',
      },
    ],
  ),
];

/** Where a message waits. */
export function delayQueueFor(queue: string, delayMs: number): string {
  const longer = delayMs < ROUNDED_DOWN_FROM_MS ? DELAYS.find((ms) => ms >= delayMs) : undefined;
  return delayQueue(queue, longer ?? DELAYS.findLast((ms) => ms <= delayMs) ?? SHORTEST_MS);
}
