/**
 * Browsing messages. RabbitMQ shows a message only to a consumer that takes it, so messages are taken and given back.
 */
import type { GetMessage } from 'amqplib';
import type { LogAnchor } from '../../../ports/eventStore.js';
import type { Checkpoint, DeadLetter } from '../../../ports/messageBroker.js';
import { sleep } from '../../../supervision/waiting.js';
import { checkpointMessage, deadLetter, idOf, type Outgoing, placeOf, readyAt, revivedCopy } from './messages.js';
import type { Session } from './session.js';
import { checkpointQueue, deadQueue } from './topology.js';

/** What to do after a message. Messages that are not removed go back to their place. */
type Visit = (message: GetMessage) => Promise<'next' | 'stop' | 'remove and stop'>;

/** Takes up to `limit` messages from the head of a queue. Meanwhile other readers do not see them. */
async function browse(session: Session, queue: string, limit: number, look: Visit): Promise<void> {
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

/** When the first ready message became ready (ms since the epoch); undefined if there is none. */
export async function firstReadyAt(session: Session, queue: string): Promise<number | undefined> {
  let at: number | undefined;
  await browse(session, queue, 1, async (message) => {
    at = readyAt(message);
    return 'stop';
  });
  return at;
}

/** Messages that were given back come in any order, so at least this many are read to find the oldest. */
const MIN_BROWSED = 200;

/** The oldest first, as far as the first 200 show it. */
export async function listDeadLetters(session: Session, queue: string, limit: number): Promise<DeadLetter[]> {
  const letters: DeadLetter[] = [];
  await browse(session, deadQueue(queue), Math.max(limit, MIN_BROWSED), async (message) => {
    letters.push(deadLetter(message));
    return 'next';
  });
  return letters.sort((a, b) => (a.at < b.at ? -1 : Number(a.at > b.at))).slice(0, limit);
}

/** Stored in the work queue first, then removed here: a crash in between leaves both, and loses nothing. */
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

/** A process that reads at the same moment holds the message for some milliseconds, and longer where it is halted. */
const HELD_FOR_MS = 3_000;
const READ_AGAIN_MS = 40;

/**
 * Publishers' checkpoints: each is the one message of a queue that keeps only its last. It is stored after the messages
 * that it covers, so a crash in between repeats some and loses none.
 */
export class Checkpoints {
  /** The furthest checkpoint that this process has read or stored. Checkpoints only move back by a reset. */
  readonly #known = new Map<string, LogAnchor>();

  /** Position 0 if there is none. */
  async read(session: Session, name: string): Promise<LogAnchor> {
    // A queue that is made here has none; in one that was there the message may be held.
    const patienceMs = (await isThere(session, checkpointQueue(name))) ? HELD_FOR_MS : 0;
    await session.declareCheckpoint(name);
    const place = await whileHeld(patienceMs, () => stored(session, name));
    const furthest = further(this.#known.get(name), place ?? { position: 0 });
    this.#known.set(name, furthest);
    return furthest;
  }

  /** Call it after the messages were stored. */
  async store(session: Session, { name, replaces, ...place }: Checkpoint): Promise<void> {
    const known = this.#known.get(name) ?? (await this.read(session, name));
    if (replaces !== true && place.position <= known.position) return;
    await session.declareCheckpoint(name);
    const send = () => session.send([checkpointMessage(name, place)]);
    const isDue = (last: LogAnchor) => replaces === true || last.position < place.position;
    // Where there was none, nobody holds one.
    const patienceMs = known.position === 0 ? 0 : HELD_FOR_MS;
    const last = await whileHeld(patienceMs, () => replaceStored(session, name, isDue, send));
    if (last === undefined) await send();
    this.#known.set(name, last === undefined || isDue(last) ? place : last);
  }
}

const NOT_FOUND = 404;

async function isThere(session: Session, queue: string): Promise<boolean> {
  try {
    await session.withChannel((channel) => channel.checkQueue(queue));
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === NOT_FOUND) return false;
    throw error;
  }
}

const further = (one: LogAnchor | undefined, other: LogAnchor): LogAnchor =>
  one !== undefined && one.position > other.position ? one : other;

/** Asks again while there is none, as another process may hold it. */
async function whileHeld(
  patienceMs: number,
  ask: () => Promise<LogAnchor | undefined>,
): Promise<LogAnchor | undefined> {
  const until = performance.now() + patienceMs;
  for (;;) {
    const place = await ask();
    if (place !== undefined || performance.now() >= until) return place;
    await sleep(READ_AGAIN_MS);
  }
}

/** The furthest stored checkpoint; undefined if there is none, or another process holds it. */
const stored = (session: Session, name: string): Promise<LogAnchor | undefined> =>
  replaceStored(
    session,
    name,
    () => false,
    async () => undefined,
  );

/**
 * Holds the stored checkpoint while the next one is stored: another process that has an earlier one waits, and sees it then.
 * @param isDue whether the next one replaces it
 * @returns the one that was stored; undefined if there is none, or another process holds it
 */
async function replaceStored(
  session: Session,
  name: string,
  isDue: (last: LogAnchor) => boolean,
  send: () => Promise<void>,
): Promise<LogAnchor | undefined> {
  return session.withChannel(async (channel) => {
    // There are two after a crash between storing the next and dropping the last.
    const found = await Promise.all([1, 2].map(() => channel.get(checkpointQueue(name))));
    const places = found.flatMap((message) => (message === false ? [] : [placeOf(message)]));
    const [first, ...others] = places;
    if (first === undefined) return undefined;
    const last = others.reduce(further, first);
    if (isDue(last)) {
      await send();
      channel.ackAll();
    } else channel.nackAll(true);
    return last;
  });
}
