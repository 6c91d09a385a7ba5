/** Sessions of users. A sign-out is in the log, so that it holds in every process and after a restart. */
import { sessionStream } from '../../domain/streams.js';
import type { Caller } from '../context.js';
import { loadStream, writeStream } from '../writeStream.js';
import { type DirectoryCommands, waitUntilKnown } from './directoryWriter.js';

export type Session = {
  readonly sessionId: string;
  readonly userId: number;
  /** When it would have expired; seconds since 1970. */
  readonly expiresAt: number;
};

/** Ends a session, once: its stream has at most one event. The directory knows it when this returns. */
export async function endSession(
  commands: DirectoryCommands,
  caller: Caller,
  { sessionId, userId, expiresAt }: Session,
): Promise<void> {
  const stream = sessionStream(caller.tenant, sessionId);
  const data = { userId, sessionId, expiresAt: new Date(expiresAt * 1000).toISOString().replace('Z', '000Z') };
  const { position } = await writeStream(commands, caller, {
    stream,
    name: 'The session',
    load: () => loadStream(commands.eventStore, stream, () => true),
    decide: (isEnded) => (isEnded === true ? [] : [{ type: 'SessionEnded', data } as const]),
  });
  if (position > 0) await waitUntilKnown(commands, caller, position);
}
