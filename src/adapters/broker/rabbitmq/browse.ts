/** Looking at messages. RabbitMQ shows a message only to a consumer that takes it, so they are taken and given back. */
import type { GetMessage } from 'amqplib';
import type { DeadLetter } from '../../../ports/messageBroker.js';
import { deadLetter, idOf, type Outgoing, readyAt, revivedCopy } from './messages.js';
import type { Session } from './session.js';
import { deadQueue } from './topology.js';

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

/** Messages that were given back come in any order, so at least so many are looked at to find the oldest. */
const LOOKED_AT = 200;

/** The oldest first, as far as this can be told from the first 200. */
export async function listDeadLetters(session: Session, queue: string, limit: number): Promise<DeadLetter[]> {
  const letters: DeadLetter[] = [];
  await browse(session, deadQueue(queue), Math.max(limit, LOOKED_AT), async (message) => {
    letters.push(deadLetter(message));
    return 'next';
  });
  return letters.sort((a, b) => (a.at < b.at ? -1 : Number(a.at > b.at))).slice(0, limit);
}

/** First stored in the work queue, then removed here: a crash in between leaves both, and loses nothing. */
export async function reviveDeadLetter(
  session: Session,
  queue: string,
  id: string,
  send: (messages: readonly Outgoing[]) => Promise<void>,
): Promise<boolean> {
  let found = false;
  await browse(session, deadQueue(queue), Number.POSITIVE_INFINITY, async (message) => {
    if (idOf(message) !== id) return 'next';
    await send([revivedCopy(queue, message)]);
    found = true;
    return 'remove and stop';
  });
  return found;
}
