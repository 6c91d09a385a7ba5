/**
 * Elects one of several processes. All consume one queue, which hands its messages to one of them until that one is gone
 * (single active consumer). Each publishes a message now and then until it is handed one: then it leads.
 */
import { BrokerUnavailableError } from '../../../ports/messageBroker.js';
import { sleep } from '../../../supervision/waiting.js';
import { type Connection, unavailable } from './connection.js';
import { candidateMessage, type Outgoing } from './messages.js';
import type { Session } from './session.js';
import { leaderQueue } from './topology.js';

/** How often a process finds out whether it leads now. */
const ASK_EVERY_MS = 1_000;

export type Election = {
  readonly name: string;
  /** A process leads at most as long as this connection lives. */
  readonly connection: Connection;
  /** Stores messages; rejects if that cannot be confirmed. */
  readonly send: (messages: readonly Outgoing[]) => Promise<void>;
};

/**
 * Does the work once this process leads.
 * @throws BrokerUnavailableError if it cannot be elected, or leads no longer
 */
export async function leadOnServer(
  { name, connection, send }: Election,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const session = await connection.session(signal);
  const { elected, lost, leave } = await standForElection(session, name).catch((error: unknown) => {
    session.forgetDeclared();
    throw unavailable(error);
  });
  const ending = AbortSignal.any([signal, lost]);
  const decided = AbortSignal.any([ending, elected]);
  try {
    while (!decided.aborted) {
      await send([candidateMessage(name)]);
      await sleep(ASK_EVERY_MS, decided);
    }
    if (!ending.aborted) await work(ending);
    if (lost.aborted) throw new BrokerUnavailableError(`This process no longer leads ${name}.`);
  } finally {
    await leave();
  }
}

/** @throws Error if the connection is lost, or the queue removed, meanwhile */
async function standForElection(session: Session, name: string) {
  await session.declareLeader(name);
  const channel = await session.openChannel();
  const lost = new AbortController();
  const elected = new AbortController();
  channel.once('close', () => lost.abort());
  // It may be closed already.
  const leave = (): Promise<void> => channel.close().catch(() => undefined);
  const take = (message: unknown): void => {
    if (message === null) {
      // The queue was removed, or its server is shutting down.
      session.forgetDeclared();
      void leave();
    } else elected.abort();
  };
  await channel.consume(leaderQueue(name), take, { noAck: true });
  return { elected: elected.signal, lost: lost.signal, leave };
}
