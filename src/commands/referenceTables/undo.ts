/** Undoes a clean-up, some records at a time, or a batch: what changed since is told and left alone. */
import { z } from 'zod';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { MAX_UNDONE_RECORDS } from '../../domain/limits.js';
import { keyOf } from '../../domain/referenceTable/decide.js';
import type { BatchUpserted, TableCleanedUp } from '../../domain/referenceTable/events.js';
import { undoCleanUp as decide, type UndoDecision } from '../../domain/referenceTable/undo.js';
import { tableStream } from '../../domain/streams.js';
import type { Position, RecordedEvent } from '../../ports/eventStore.js';
import { parseBody } from '../body.js';
import { untilShown } from '../catchUp.js';
import { type Caller, ConflictError, NotFoundError, ValidationError } from '../context.js';
import { refuseMasterData } from '../tables.js';
import { inTime } from '../writeStream.js';
import { beingCleanedUp, type TableCommands } from './tableState.js';
import { tableWriterOf } from './tableWriter.js';
import { eventsOfBatch, undoBatch } from './undoBatch.js';

export const undoBody = z.strictObject({
  /** Where the answer before said that it goes on. */
  after: z.uuid('must be the `next` of an answer.').optional(),
});

export type UndoResult = Omit<UndoDecision, 'events'> & {
  readonly position: Position;
  /** Records that a batch had created. */
  readonly deleted: number;
  /** Deleted records that cannot be brought back: a later clean-up has deleted the same id or key. Told by the first page. */
  readonly unavailable?: number | undefined;
  /** Where the next request goes on; undefined at the end. */
  readonly next?: string | undefined;
};

type Options = { readonly dryRun?: boolean };

const OPERATION_ID = /^(?:0|[1-9]\d{0,14})$/;

/**
 * @param operationId of the clean-up or the batch: the revision of its first event in the table's stream
 * @param body `{ after? }`
 * @throws NotFoundError for an unknown operation; ConflictError for one that cannot be undone; ValidationError
 * @throws NotSupportedError on Master Data
 */
export async function undoOperation(
  commands: TableCommands,
  caller: Caller,
  assetType: AssetType,
  operationId: string,
  body: unknown,
  options: Options = {},
): Promise<UndoResult> {
  refuseMasterData(assetType, 'cleaned up');
  const { after } = parseBody(undoBody, body);
  const stream = tableStream(caller.tenant, assetType.name);
  const revision = OPERATION_ID.test(operationId) ? Number(operationId) : -1;
  const [event] = revision < 0 ? [] : await inTime(caller, commands.eventStore.readStream(stream, revision, revision));
  if (event?.type === 'TableCleanedUp') {
    return undoCleanUp(commands, caller, assetType, event as RecordedEvent & TableCleanedUp, { ...options, after });
  }
  if (event?.type === 'BatchUpserted') {
    if (after !== undefined)
      throw new ValidationError({ after: ['The undo of a batch is one request: leave it out.'] });
    const batch = await inTime(caller, eventsOfBatch(commands, stream, event as RecordedEvent & BatchUpserted));
    return undoBatch(commands, caller, assetType, batch, options);
  }
  if (event === undefined) throw new NotFoundError(`There is no operation ${operationId} on ${assetType.name}.`);
  throw new ConflictError(`Only batches and clean-ups can be undone: ${operationId} on ${assetType.name} is neither.`);
}

async function undoCleanUp(
  commands: TableCommands,
  caller: Caller,
  assetType: AssetType,
  { revision, position: shown, data }: RecordedEvent & TableCleanedUp,
  { dryRun = false, after }: Options & z.infer<typeof undoBody>,
): Promise<UndoResult> {
  const { readModels } = commands;
  await untilShown(commands, caller, shown, beingCleanedUp(assetType.name));
  const table = { tenant: caller.tenant, table: assetType.name };
  const page = await inTime(caller, readModels.deletedRecords(table, revision, { after, limit: MAX_UNDONE_RECORDS }));
  const wanted = {
    keys: page.records.map(({ fields }) => keyOf(assetType, fields)),
    ids: page.records.map(({ id }) => id),
  };
  let undone: UndoDecision = { events: [], restored: 0, unchanged: 0, left: [] };
  const { position } = await tableWriterOf(commands).write(caller, assetType, wanted, (known) => {
    undone = decide(assetType, revision, page.records, known);
    return dryRun || undone.restored === 0 ? [] : undone.events;
  });
  const { events: _, ...counts } = undone;
  const unavailable = page.total === undefined ? undefined : data.deleted - page.total;
  return { position, ...counts, deleted: 0, unavailable, next: page.next };
}
