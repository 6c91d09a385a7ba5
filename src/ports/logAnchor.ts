/** Checks that the log is still the one that stored state (read models, jobs) was made from. */
import { type EventStore, type LogAnchor, OtherLogError } from './eventStore.js';

type Log = Pick<EventStore, 'identity' | 'holds'>;

/** `put back`: the id is the same, but the anchored event is missing: the log was replaced by an older copy. */
type FoundLog = 'same' | 'put back' | 'other';

export async function findLog(eventStore: Log, kept: LogAnchor): Promise<FoundLog> {
  if (kept.log !== undefined && kept.log !== (await eventStore.identity())) return 'other';
  return (await eventStore.holds(kept)) ? 'same' : 'put back';
}

/** @throws OtherLogError, whose message begins with `whose` ("The rows"), unless another log is accepted */
export function acceptFound(found: FoundLog, whose: string, acceptLog: boolean): void {
  if (found === 'other' && !acceptLog)
    throw new OtherLogError(`${whose} were made of another event log than this one.`);
}
