/** Notes that a link opened a session of the operator's console: each link opens one, in whatever process it is used. */
import type { OperatorEvent } from '../../domain/identity/events.js';
import { operatorLinkStream } from '../../domain/streams.js';
import { type Caller, ConflictError } from '../context.js';
import { type LogAccess, loadStream, writeStream } from '../writeStream.js';

/** @param link id of the link's token @throws ConflictError if it was used before; what the log throws */
export async function useOperatorLink(
  log: LogAccess,
  caller: Caller,
  link: string,
  signedIn: OperatorEvent['data'],
): Promise<void> {
  const stream = operatorLinkStream(link);
  await writeStream<true | undefined, OperatorEvent>(log, caller, {
    stream,
    name: 'The link',
    load: () => loadStream<true>(log.eventStore, stream, () => true),
    decide: (wasUsed) => {
      if (wasUsed) throw new ConflictError('The link was used before.');
      return [{ type: 'OperatorSignedIn', data: signedIn }];
    },
  });
}
