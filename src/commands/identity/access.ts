/** Sign-ins, and what was refused to people; ended sessions; links to the operator's console. In the log, so in every process. */
import type { AccessEvent, OperatorEvent } from '../../domain/identity/events.js';
import { accessStream, operatorLinkStream, sessionStream } from '../../domain/streams.js';
import type { Position } from '../../ports/eventStore.js';
import { type Caller, ConflictError } from '../context.js';
import { appendEvents, beginStream, type LogAccess } from '../writeStream.js';
import { type DirectoryCommands, waitUntilKnown } from './directoryWriter.js';

export const recordAccess = async (log: LogAccess, caller: Caller, events: readonly AccessEvent[]): Promise<Position> =>
  (await appendEvents(log, caller, accessStream(caller.tenant), events)).position;

/** Ends a session. The directory knows it when this returns. @param expiresAt seconds since 1970 */
export async function endSession(
  commands: DirectoryCommands,
  caller: Caller,
  { sessionId, userId, expiresAt }: { readonly sessionId: string; readonly userId: number; readonly expiresAt: number },
): Promise<void> {
  const data = { userId, sessionId, expiresAt: new Date(expiresAt * 1000).toISOString().replace('Z', '000Z') };
  const event = { type: 'SessionEnded', data } as const;
  const { position } = await appendEvents(commands, caller, sessionStream(caller.tenant, sessionId), [event]);
  await waitUntilKnown(commands, caller, position);
}

/** Notes that a link opened a session of the operator's console. @throws ConflictError if it was used before */
export async function useOperatorLink(
  log: LogAccess,
  caller: Caller,
  link: string,
  signedIn: OperatorEvent['data'],
): Promise<void> {
  const event = { type: 'OperatorSignedIn', data: signedIn } as const satisfies OperatorEvent;
  const begun = await beginStream(log, caller, operatorLinkStream(link), [event]);
  if (begun === undefined) throw new ConflictError('The link was used before.');
}
