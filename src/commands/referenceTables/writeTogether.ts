/** Decides changes of one table one after the other, and appends them in one call. A refused one does not affect the others. */
import type { ReferenceTableEvent } from '../../domain/referenceTable/events.js';
import { tableStream } from '../../domain/streams.js';
import { type AppendResult, EventTooLargeError, WrongExpectedRevisionError } from '../../ports/eventStore.js';
import { AnswerTooLargeError } from '../../ports/readModels.js';
import type { Caller } from '../context.js';
import {
  type Identified,
  MAX_ATTEMPTS,
  manyWriters,
  NO_STREAM,
  notBefore,
  type StreamEnd,
  toAppend,
  withDeadline,
} from '../writeStream.js';
import { PendingRecords } from './pendingRecords.js';
import { type DecisionRecords, knownAfter, type TableCommands, type TableState } from './tableState.js';
import type { WaitingChange } from './waitingChange.js';

/** The decision on a change. */
type Decided = { readonly change: WaitingChange } & (
  | {
      readonly kind: 'accepted';
      readonly known: DecisionRecords;
      readonly events: readonly Identified<ReferenceTableEvent>[];
    }
  | { readonly kind: 'refused'; readonly reason: unknown }
);

const leftMs = ({ deadline }: Caller): number => deadline?.leftMs ?? Number.POSITIVE_INFINITY;

/** Never throws: each change is written, or refused with the error. */
export async function writeTogether(
  commands: TableCommands,
  table: TableState,
  changes: readonly WaitingChange[],
): Promise<void> {
  try {
    await tryToWrite(commands, table, changes);
  } catch (error) {
    if ((error instanceof EventTooLargeError || error instanceof AnswerTooLargeError) && changes.length > 1) {
      // Nothing was stored. One by one, only those that are too large themselves fail.
      for (const change of changes) await writeTogether(commands, table, [change]);
    } else {
      for (const change of changes) change.refuse(error);
    }
  }
}

/** @throws TryAgainError when others were first each time; DeadlineError; what reading and the log throw */
async function tryToWrite(
  commands: TableCommands,
  table: TableState,
  changes: readonly WaitingChange[],
): Promise<void> {
  for (let conflicts = 0; conflicts < MAX_ATTEMPTS; ) {
    const open = changes.filter(({ isOver }) => !isOver);
    const [first] = open;
    if (first === undefined) return;
    const { caller } = open.reduce((one, other) => (leftMs(other.caller) > leftMs(one.caller) ? other : one), first);
    if (conflicts > 0) await withDeadline(caller, table.catchUp(caller));
    const keys = open.flatMap((change) => change.wanted.keys);
    const ids = open.flatMap((change) => change.wanted.ids);
    const loaded = await withDeadline(caller, table.load(caller, first.assetType, { keys, ids }));
    const at = notBefore(commands.now(), loaded.lastEventAt);
    const decided = await decide(commands, open, loaded.state, at);
    // A caller's time ended meanwhile, and it was told that nothing was written: decide again without its change.
    if (open.some(({ isOver }) => isOver)) continue;
    const appended = await withDeadline(caller, append(commands, table, loaded, decided, leftMs(caller)));
    if (appended !== undefined) {
      conclude(table, decided, appended, at);
      return;
    }
    conflicts += 1;
  }
  throw manyWriters(table.name);
}

/** Decides each change on the state after the ones before it. */
async function decide(
  commands: TableCommands,
  changes: readonly WaitingChange[],
  loaded: DecisionRecords,
  at: string,
): Promise<readonly Decided[]> {
  const before = new PendingRecords();
  const decided: Decided[] = [];
  for (const change of changes) {
    const known = changes.length === 1 ? loaded : knownAfter(loaded, change, before);
    try {
      const events = toAppend(commands, change.caller, at, await change.decide(known));
      if (changes.length > 1) before.add(change.assetType, { events, revision: 0, at }, known.byId);
      decided.push({ kind: 'accepted', change, known, events });
    } catch (reason) {
      decided.push({ kind: 'refused', change, reason });
    }
  }
  return decided;
}

/** @returns undefined when another writer was first */
async function append(
  { eventStore }: TableCommands,
  { table: { tenant, table } }: TableState,
  { revision }: StreamEnd,
  decided: readonly Decided[],
  timeMs: number,
): Promise<AppendResult | undefined> {
  const accepted = decided.flatMap((each) => (each.kind === 'accepted' && each.events.length > 0 ? [each] : []));
  if (accepted.length === 0) return { revision, position: 0 };
  const events = accepted.flatMap((each) => each.events);
  const expected = revision === NO_STREAM.revision ? 'no-stream' : revision;
  const stored = eventStore.append(tableStream(tenant, table), events, expected, { until: Date.now() + timeMs });
  // Each request's deadline must know whether anything of it may be stored.
  for (const { change } of accepted) change.caller.deadline?.append(() => stored).catch(() => undefined);
  try {
    return await stored;
  } catch (error) {
    if (error instanceof WrongExpectedRevisionError) return undefined;
    throw error;
  }
}

/** After the append: a refusal, too, may depend on changes that were decided before it. */
function conclude(table: TableState, decided: readonly Decided[], appended: AppendResult, at: string): void {
  const total = decided.reduce((sum, each) => sum + (each.kind === 'accepted' ? each.events.length : 0), 0);
  let revision = appended.revision - total;
  for (const each of decided) {
    if (each.kind === 'refused') {
      each.change.refuse(each.reason);
      continue;
    }
    const { change, known, events } = each;
    if (events.length > 0) table.pending.add(change.assetType, { ...appended, at, events }, known.byId);
    revision += events.length;
    const position = events.length > 0 ? appended.position : 0;
    change.succeed({ revision, position, at, events, state: known });
  }
}
