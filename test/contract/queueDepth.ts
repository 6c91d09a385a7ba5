/** What comes about a moment later: a broker may count late. */
import { setTimeout as wait } from 'node:timers/promises';
import type { MessageBroker, QueueDepth } from '#app/ports/messageBroker.js';
import { scaled } from '../engines/timeScale.js';

const LATEST_MS = scaled(5_000);
const ASK_AGAIN_MS = 20;

/** Resolves as soon as the check passes. @throws what the check throws when it does not come to pass */
export async function soon<T>(check: () => T | Promise<T>): Promise<T> {
  const deadline = Date.now() + LATEST_MS;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
    await wait(ASK_AGAIN_MS);
  }
}

/** Resolves to the depth as soon as it is as expected. @throws the comparison's error when it does not become so */
export const untilDepth = (broker: MessageBroker, queue: string, expected: Partial<QueueDepth>): Promise<QueueDepth> =>
  soon(async () => {
    const depth = await broker.depth(queue);
    expect(depth).toMatchObject(expected);
    return depth;
  });
