/** Looking at messages. RabbitMQ shows a message only to who takes it, so they are taken and given back. */
import type { GetMessage } from 'amqplib';
import { readyAt } from './messages.js';
import type { Session } from './session.js';

/** What becomes of a message that was looked at; what was not removed goes back to where it was. */
export type Look = (message: GetMessage) => Promise<'next' | 'stop' | 'remove and stop'>;

/** Takes up to `limit` messages from the head of a queue. For that long other readers do not see them. */
export async function browse(session: Session, queue: string, limit: number, look: Look): Promise<void> {
  await session.withChannel(async (channel) => {
    for (let taken = 0; taken < limit; taken++) {
      const message = await channel.get(queue);
      if (message === false) break;
      const next = await look(message);
      if (next === 'remove and stop') channel.ack(message);
      if (next !== 'next') break;
    }
    channel.nackAll(true);
  });
}

/** When the first ready message became ready (ms since the epoch); undefined when there is none. */
export async function firstReadyAt(session: Session, queue: string): Promise<number | undefined> {
  let at: number | undefined;
  await browse(session, queue, 1, async (message) => {
    at = readyAt(message);
    return 'stop';
  });
  return at;
}
