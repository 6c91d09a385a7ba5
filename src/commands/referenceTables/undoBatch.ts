/** Undoes a batch, whose events hold the values that it replaced. */

import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { MAX_BATCH_ITEMS } from '../../domain/limits.js';
import type { BatchUpserted } from '../../domain/referenceTable/events.js';
import {
  type BatchUndoDecision,
  undoBatch as decide,
  idsOf,
  saysWhatItReplaces,
} from '../../domain/referenceTable/undoBatch.js';
import type { Position, RecordedEvent, Revision } from '../../ports/eventStore.js';
import type { Application } from '../application.js';
import { type Caller, ConflictError, NotFoundError } from '../context.js';
import type { DecisionRecords } from './tableState.js';

type Batch = { readonly revision: Revision; readonly events: readonly BatchUpserted['data'][] };

/** Events of one read: each may have 400 KB. */
const SLICE_EVENTS = 20;

/**
 * All events of a batch: one append, of at most one event for each item.
 * @throws NotFoundError when `first` is not the first event; ConflictError when it is an undo, or too old to be undone
 */
export async function eventsOfBatch(
  { eventStore }: Application,
  stream: string,
  first: RecordedEvent & BatchUpserted,
): Promise<Batch> {
  const { revision, metadata, data } = first;
  const isPart = (event: RecordedEvent | undefined): boolean =>
    event?.type === 'BatchUpserted' && event.metadata.causationId === metadata.causationId;
  if (data.undoes !== undefined) throw new ConflictError(`${revision} is an undo, which cannot be undone.`);
  const [before] = revision === 0 ? [] : await eventStore.readStream(stream, revision - 1, revision - 1);
  if (isPart(before)) throw new NotFoundError(`${revision} is a part of another operation.`);
  const events: BatchUpserted['data'][] = [];
  for (let from = revision; from < revision + MAX_BATCH_ITEMS; from += SLICE_EVENTS) {
    const slice = await eventStore.readStream(stream, from, from + SLICE_EVENTS - 1);
    const end = slice.findIndex((event) => !isPart(event));
    events.push(...slice.slice(0, end < 0 ? undefined : end).map((event) => event.data as BatchUpserted['data']));
    if (end >= 0 || slice.length < SLICE_EVENTS) break;
  }
  if (!events.every(saysWhatItReplaces)) {
    throw new ConflictError(`The batch ${revision} was written by a release that did not keep what a batch replaces.`);
  }
  return { revision, events };
}

type Asked = {
  readonly commands: Application;
  readonly caller: Caller;
  readonly assetType: AssetType;
  readonly dryRun: boolean;
};

export async function undoBatch(
  { commands, caller, assetType, dryRun }: Asked,
  { revision, events }: Batch,
): Promise<BatchUndoDecision & { readonly position: Position }> {
  const ids = events.flatMap(idsOf);
  let undone: BatchUndoDecision = { events: [], restored: 0, deleted: 0, unchanged: 0, left: [] };
  const { position } = await commands.tables.alone<DecisionRecords>(
    caller,
    assetType,
    (table) => table.load(caller, assetType, { keys: [], ids }),
    (known) => {
      undone = decide(assetType, revision, events, known);
      return dryRun ? [] : undone.events;
    },
  );
  return { ...undone, position };
}
