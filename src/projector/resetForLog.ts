/**
 * Resets read models that were made from another log (the log was replaced by an older copy, or another log was
 * accepted). Reads are refused by every process from before the first deletion until everything is filled again, also
 * if this process is killed in between.
 */
import type PQueue from 'p-queue';
import type { EventStore } from '../ports/eventStore.js';
import { acceptFound, findLog, NOWHERE, projectedAnchor } from '../ports/logAnchor.js';
import type { Projection } from '../ports/projection.js';
import type { ReadModelWriter } from '../ports/readModelWriter.js';
import { sleep } from '../supervision/waiting.js';
import { ALL_FILLED_AT, MARKS_SEEN_MS } from './checkpoints.js';
import { inTransaction } from './transaction.js';

type ResetDeps = {
  readonly eventStore: Pick<EventStore, 'identity' | 'holds' | 'head'>;
  readonly writer: ReadModelWriter;
  readonly projections: readonly Projection[];
  readonly acceptLog?: boolean;
  readonly onReset?: (reason: string) => void;
};

/** @throws OtherLogError */
export async function resetForLog(
  { eventStore, writer, projections, acceptLog = false, onReset }: ResetDeps,
  writing: PQueue,
  signal: AbortSignal,
): Promise<void> {
  const found = await findLog(eventStore, await projectedAnchor(writer, projections));
  acceptFound(found, 'The read models', acceptLog);
  if (found === 'same') return;
  onReset?.(
    found === 'other'
      ? 'another event log was accepted: the read models are built anew from it'
      : 'the event log was put back to an older copy: the read models are built anew from it',
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
