/** Sign-ins, and what was refused to people; ended sessions; links to the operator's console. In the log, so in every process. */
import type { AccessEvent, OperatorEvent, SessionEvent, SessionOf } from '../../domain/identity/events.js';
import { accessStream, operatorLinkStream, sessionStream } from '../../domain/streams.js';
import { type Caller, ConflictError } from '../context.js';
import { appendEvents, beginStream, type LogAccess } from '../writeStream.js';
import { type DirectoryCommands, waitUntilKnown } from './directoryWriter.js';

/** @returns the position of the event */
export async function recordAccess(log: LogAccess, caller: Caller, event: AccessEvent | SessionEvent) {
  const { tenant } = caller;
  const isOfSession = event.type === 'SignedIn' || event.type === 'SessionEnded';
  const stream = isOfSession ? sessionStream(tenant, event.data.sessionId) : accessStream(tenant);
  return (await appendEvents(log, caller, stream, [event])).position;
}

/** Ends a session. The directory knows it when this returns. */
export async function endSession(
  commands: DirectoryCommands,
  caller: Caller,
  { userId, sessionId, expiresAt }: SessionOf,
): Promise<void> {
  const event = { type: 'SessionEnded', data: { userId, sessionId, expiresAt } } as const;
  await waitUntilKnown(commands, caller, await recordAccess(commands, caller, event));
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
