/**
 * Fills projections from the start of the log: those that are new or written by another version, and all of them if the log
 * was replaced. Reads are refused by every process from before the first deletion until all stored events are applied, also
 * if this process is killed in between (`ReadGate`).
 */
import type PQueue from 'p-queue';
import type { EventStore, Position } from '../ports/eventStore.js';
import { acceptFound, findLog, NOWHERE, projectedAnchor } from '../ports/logAnchor.js';
import type { Projection } from '../ports/projection.js';
import type { ReadModelWriter } from '../ports/readModelWriter.js';
import { sleep } from '../supervision/waiting.js';
import { inTransaction } from './applying.js';
import { ALL_FILLED_AT, filledAt, MARKS_SEEN_MS, versionMark } from './checkpoints.js';

type FillDeps = {
  readonly eventStore: Pick<EventStore, 'identity' | 'holds' | 'head'>;
  readonly writer: ReadModelWriter;
  readonly projections: readonly Projection[];
  readonly writing: PQueue;
  readonly acceptLog?: boolean;
  readonly onReset?: (reason: string) => void;
};

/** Resets and withholds whatever is to be filled. The runner then applies the log to it. @throws OtherLogError */
export async function prepareFilling(deps: FillDeps, signal: AbortSignal): Promise<void> {
  await resetForLog(deps, signal);
  await resetOutdated(deps, signal);
}

/** @throws OtherLogError */
async function resetForLog(
  { eventStore, writer, projections, writing, acceptLog = false, onReset }: FillDeps,
  signal: AbortSignal,
): Promise<void> {
  const found = await findLog(eventStore, await projectedAnchor(writer, projections));
  acceptFound(found, 'The read models', acceptLog);
  if (found === 'same') return;
  onReset?.(
    found === 'other'
      ? 'another event log was accepted: the read models are rebuilt from it'
      : 'the event log was put back to an older copy: the read models are rebuilt from it',
  );
  const log = await eventStore.identity();
  const head = await eventStore.head();
  // Served data stays until every process has seen that it must not be read.
  const unread = new Map([[ALL_FILLED_AT, head], ...projections.map(({ name }) => [name, 0] as const)]);
  // From here on the read models belong to this log, also after a crash.
  await writing.add(() => inTransaction(writer, async () => unread, { log, ...NOWHERE }));
  await sleep(2 * MARKS_SEEN_MS, signal);
  if (signal.aborted) return;
  for (const { name } of projections) await writing.add(() => writer.reset(name));
  // Written last: a process killed before this starts the reset again.
  await writing.add(() => inTransaction(writer, async () => new Map(), { log, position: 0 }));
}

/** Projections that are new, or written by another version, are filled, and withheld until complete. */
async function resetOutdated(deps: FillDeps, signal: AbortSignal): Promise<void> {
  const { eventStore, writer, writing } = deps;
  const head = await eventStore.head();
  if ((await findUnfilled(deps, head)).unread.size === 0) return;
  const old = await writing.add(async () => {
    let found: readonly Projection[] = [];
    await inTransaction(writer, async () => {
      // Checked again under the lock: another process may have begun to fill them, and a second reset would fill them
      // twice.
      const unfilled = await findUnfilled(deps, head);
      found = unfilled.old;
      return unfilled.unread;
    });
    return found;
  });
  if (old.length === 0) return;
  // Old data is deleted only after every process has seen that it must not be read.
  await sleep(2 * MARKS_SEEN_MS, signal);
  if (signal.aborted) return;
  for (const { name } of old) await writing.add(() => writer.reset(name));
}

/** Projections written by another version (`old`), and the checkpoints and marks that withhold unfilled ones (`unread`). */
async function findUnfilled({ writer, projections }: Pick<FillDeps, 'writer' | 'projections'>, head: Position) {
  const old: Projection[] = [];
  const unread = new Map<string, Position>();
  for (const projection of projections) {
    const written = await writer.checkpoint(versionMark(projection));
    const isOld = written !== 0 && written !== projection.version;
    if (isOld) old.push(projection);
    if (isOld || (await writer.checkpoint(projection.name)) === 0) {
      unread.set(filledAt(projection.name), head).set(projection.name, 0);
    }
  }
  return { old, unread };
}
