/** Undoes a clean-up, some records at a time: what changed since is told and left alone. */
import { z } from 'zod';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { MAX_UNDONE_RECORDS } from '../../domain/limits.js';
import { keyOf } from '../../domain/referenceTable/decide.js';
import type { TableCleanedUp } from '../../domain/referenceTable/events.js';
import { undoCleanUp as decide, type UndoDecision } from '../../domain/referenceTable/undo.js';
import { tableStream } from '../../domain/streams.js';
import type { Position, RecordedEvent } from '../../ports/eventStore.js';
import { parseBody } from '../body.js';
import { untilShown } from '../catchUp.js';
import { type Caller, ConflictError, NotFoundError } from '../context.js';
import { refuseMasterData } from '../tables.js';
import { inTime } from '../writeStream.js';
import { beingCleanedUp, type TableCommands } from './tableState.js';
import { tableWriterOf } from './tableWriter.js';

export const undoBody = z.strictObject({
  /** Where the answer before said that it goes on. */
  after: z.uuid('must be the `next` of an answer.').optional(),
});

export type UndoResult = Omit<UndoDecision, 'events'> & {
  readonly position: Position;
  /** Deleted records that cannot be brought back: a later clean-up has deleted the same id or key. */
  readonly unavailable: number;
  /** Where the next request goes on; undefined at the end. */
  readonly next?: string | undefined;
};

const OPERATION_ID = /^(?:0|[1-9]\d{0,14})$/;

/**
 * @param operationId of the clean-up: its revision in the table's stream
 * @param body `{ after? }`
 * @throws NotFoundError for an unknown operation; ConflictError for one that is no clean-up; ValidationError
 * @throws NotSupportedError on Master Data
 */
export async function undoCleanUp(
  commands: TableCommands,
  caller: Caller,
  assetType: AssetType,
  operationId: string,
  body: unknown,
  options: { readonly dryRun?: boolean } = {},
): Promise<UndoResult> {
  refuseMasterData(assetType, 'cleaned up');
  const { after } = parseBody(undoBody, body);
  const cleanUp = await inTime(caller, findCleanUp(commands, caller, assetType, operationId));
  const { revision, position: shown } = cleanUp;
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
    return options.dryRun === true || undone.restored === 0 ? [] : undone.events;
  });
  const { events: _, ...counts } = undone;
  return { position, ...counts, unavailable: cleanUp.data.deleted - page.total, next: page.next };
}

async function findCleanUp(
  { eventStore }: TableCommands,
  { tenant }: Caller,
  { name }: AssetType,
  operationId: string,
): Promise<RecordedEvent & TableCleanedUp> {
  const revision = OPERATION_ID.test(operationId) ? Number(operationId) : -1;
  const [event] = revision < 0 ? [] : await eventStore.readStream(tableStream(tenant, name), revision, revision);
  if (event === undefined) throw new NotFoundError(`There is no operation ${operationId} on ${name}.`);
  if (event.type !== 'TableCleanedUp') {
    throw new ConflictError(`The operation ${operationId} on ${name} is no clean-up, and only these can be undone.`);
  }
  return event as RecordedEvent & TableCleanedUp;
}
