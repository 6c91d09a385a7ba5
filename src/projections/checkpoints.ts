/** Where a follower goes on, if the rows are of its log, and what it keeps for that. */
import type { EventPosition, EventStore, Position } from '../ports/eventStore.js';
import { findLog } from '../ports/logAnchor.js';
import type { RowWriter } from '../ports/rowStore.js';
import type { FollowedTenant } from './followedTenant.js';
import type { FollowerNews } from './progress.js';

/** Younger events are no news. */
const NOTABLE_MS = 1_000;

type Deps = {
  readonly eventStore: Pick<EventStore, 'identity' | 'holds'>;
  readonly writer: Pick<RowWriter, 'checkpoint' | 'keep' | 'tenants' | 'remove'>;
  readonly acceptLog?: boolean;
  readonly onNews: (news: FollowerNews) => void;
};

/**
 * The checkpoint. Removes rows that are not of this log.
 * @param head where the log is
 * @throws OtherLogError if another log is not accepted
 */
export async function beginningIn(log: string, head: Position, deps: Deps): Promise<EventPosition> {
  const { eventStore, writer, acceptLog = false, onNews } = deps;
  const kept = await writer.checkpoint();
  const tenants = await writer.tenants();
  const isAhead = [...tenants.values()].some(({ position }) => position > head);
  const found = kept && (await findLog(eventStore, kept, { whose: 'The rows', acceptLog }));
  if (kept !== undefined && found === 'same' && !isAhead) return kept;
  if (tenants.size > 0) onNews({ kind: 'reset' });
  for (const name of tenants.keys()) await writer.remove(name);
  await writer.keep({ log, position: 0 });
  return { position: 0 };
}

/**
 * All events up to here are applied, but those of parked tenants and those that are filled: their marks say that they have to be
 * read.
 * @param place up to where the log was read for all
 */
export function appliedTo(place: Position, tenants: Iterable<FollowedTenant>): Position {
  let applied = place;
  for (const { next, isApart, parked, mark, readTo } of tenants) {
    if (parked !== undefined || (isApart && mark !== undefined)) continue;
    if (next !== undefined) applied = Math.min(applied, next.position - 1);
    else if (isApart) applied = Math.min(applied, readTo);
  }
  return applied;
}

/** Tenants with an event that was written a second ago, or longer, and is not applied: when it was (ISO 8601). */
export function behind(tenants: Iterable<FollowedTenant>): ReadonlyMap<string, string> {
  const before = new Date(Date.now() - NOTABLE_MS).toISOString();
  const since = new Map<string, string>();
  for (const tenant of tenants) {
    const oldest = tenant.mark === undefined ? tenant.since : undefined;
    if (oldest !== undefined && oldest < before) since.set(tenant.name, oldest);
  }
  return since;
}
