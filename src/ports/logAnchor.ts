/** Whether a log is the one that stored state (rows, jobs, a directory) was made from: it has the same id, and the last event. */
import { type EventPosition, type EventStore, EventStoreUnavailableError } from './eventStore.js';

/** A position as stored beside state that was made from the log, with the log's id, unless an earlier release stored it. */
export type LogAnchor = EventPosition & { readonly log?: string | undefined };

/** @throws OtherLogError, whose message begins with `whose` ("The rows"), unless another log is accepted */
export async function isSameLog(
  eventStore: Pick<EventStore, 'identity' | 'holds'>,
  kept: LogAnchor,
  { whose = '', acceptLog = true } = {},
): Promise<boolean> {
  const isOther = kept.log !== undefined && kept.log !== (await eventStore.identity());
  if (isOther && !acceptLog) throw new OtherLogError(`${whose} were made of another event log than this one.`);
  return !isOther && eventStore.holds(kept);
}

/** The log is not the one used before. The message says what to do. */
export class OtherLogError extends Error {
  constructor(found: string) {
    super(
      `${found} Name the right log, or another DATA_DIR (and other engines with it); copy a log to where you want it ` +
        'with "dynamic-assets migrate"; or take this one as it is: dynamic-assets start --accept-log.',
    );
  }
}

/** The log lacks events that were read before. The store, and all that was made from the log in memory, are void. */
export class LogReplacedError extends EventStoreUnavailableError {
  /** @param places what was read where, and where the log ends now, as a sentence */
  constructor(readonly places: string) {
    super(`The event log is not the one from before: it was put back to an older copy, or is another one. ${places}`);
  }
}
