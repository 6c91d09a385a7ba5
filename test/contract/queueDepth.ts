/** What a queue holds, which a broker may count a moment late. */
import type { MessageBroker, QueueDepth } from '#app/ports/messageBroker.js';
import { scaled } from '../engines/timeScale.js';

const LATEST_MS = scaled(3000);
const ASK_AGAIN_MS = 20;

/** Resolves to the depth as soon as it is as expected. @throws the comparison's error when it does not become so */
export async function untilDepth(
  broker: MessageBroker,
  queue: string,
  expected: Partial<QueueDepth>,
): Promise<QueueDepth> {
  const deadline = Date.now() + LATEST_MS;
  for (;;) {
    const depth = await broker.depth(queue);
    try {
      expect(depth).toMatchObject(expected);
      return depth;
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
  }
}
