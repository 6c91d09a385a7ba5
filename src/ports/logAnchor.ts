/** Whether the log is still the one of which something was made up to a place. */
import { type EventPosition, type EventStore, type LogAnchor, OtherLogError } from './eventStore.js';
import type { ProjectionProgress } from './readModels.js';

type Log = Pick<EventStore, 'identity' | 'holds'>;

/** `put back`: the log has its id, and not what was in it: it is an older copy. */
export type FoundLog = 'same' | 'put back' | 'other';

export async function findLog(eventStore: Log, kept: LogAnchor): Promise<FoundLog> {
  if (kept.log !== undefined && kept.log !== (await eventStore.identity())) return 'other';
  return (await eventStore.holds(kept)) ? 'same' : 'put back';
}

/** @throws OtherLogError, whose message begins with `whose` ("The read models"), unless another log is accepted */
export function acceptFound(found: FoundLog, whose: string, acceptLog: boolean): void {
  if (found === 'other' && !acceptLog)
    throw new OtherLogError(`${whose} were made of another event log than this one.`);
}

/** A place that no log holds: what was made is of this log, and is to be made anew. */
export const NOWHERE = { position: Number.MAX_SAFE_INTEGER } as const;

/** How far the furthest projection is; of what an earlier release made only the position is known. */
export async function projectedAnchor(
  progress: Pick<ProjectionProgress, 'checkpoint' | 'anchor'>,
  projections: readonly { readonly name: string }[],
): Promise<LogAnchor> {
  const place = await progress.anchor();
  if (place !== undefined) return place;
  const positions = await Promise.all(projections.map(({ name }) => progress.checkpoint(name)));
  return { position: Math.max(...positions) };
}

/** What to keep of a slice. */
export const anchorAt = (log: string, { position, eventId }: EventPosition): LogAnchor => ({ log, position, eventId });
