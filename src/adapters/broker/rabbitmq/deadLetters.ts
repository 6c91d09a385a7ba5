/** The dead letters of a queue: a queue of their own. */
import type { DeadLetter } from '../../../ports/messageBroker.js';
import { browse } from './browse.js';
import { deadLetter, idOf, type Outgoing, revivedCopy } from './messages.js';
import { deadQueue } from './names.js';
import type { Session } from './session.js';

/** What was given back before comes in any order, so at least so many are looked at to find the oldest. */
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
