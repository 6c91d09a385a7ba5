/**
 * Undoes a batch, a clean-up or a deletion, from what it did to the rows; records that changed since are left alone and reported. A
 * request undoes at most MAX_RECORDS records. Repeating it is safe: what is as before is passed over (decision 0012).
 */
import { z } from 'zod';
import { uniqueKeyOf } from '../../domain/referenceTable/decide.js';
import { undo } from '../../domain/referenceTable/undo.js';
import type { Position } from '../../ports/eventStore.js';
import { cancellable, recordOf } from '../../queries/asking.js';
import { doneBy, tableOperationOf } from '../../queries/recordHistory.js';
import type { TableWrite } from '../application.js';
import { parseBody } from '../body.js';
import { NotFoundError } from '../context.js';
import { refuseMasterData } from '../tables.js';
import { loadTable, writeTable } from './tableWriter.js';

const NEXT = 'must be the `next` of an answer.';
const NUMBER = /^(?:0|[1-9]\d{0,14})$/;

export const undoBody = z.strictObject({
  after: z
    .string(NEXT)
    .regex(/^\d{1,15}\.\d{1,15}$/, NEXT)
    .optional(),
});

export type UndoResult = Omit<ReturnType<typeof undo>, 'events'> & {
  readonly position: Position;
  /** `after` of the next request; undefined at the end. */
  readonly next?: string | undefined;
};

/**
 * @param operationId of one of these: the revision of its first event in the table's stream
 * @param body `{ after? }`
 * @throws NotFoundError for anything else; ValidationError; NotSupportedError on Master Data
 */
export async function undoOperation(
  { commands, caller, assetType }: TableWrite,
  operationId: string,
  body: unknown,
): Promise<UndoResult> {
  refuseMasterData(assetType, 'cleaned up');
  const { after } = parseBody(undoBody, body);
  const [position = 0, n = 0] = after?.split('.').map(Number) ?? [];
  const rows = cancellable(commands.rows, caller.deadline);
  const space = { tenant: caller.tenant, space: assetType.name };
  const revision = NUMBER.test(operationId) ? Number(operationId) : -1;
  let result: Omit<UndoResult, 'position'> = { restored: 0, deleted: 0, left: [] };
  const read = async () => {
    const operation = await tableOperationOf(rows, space, revision);
    if (operation === undefined)
      throw new NotFoundError(`There is no batch, clean-up or deletion ${operationId} on ${assetType.name}.`);
    const { transitions, next } = await doneBy(rows, space, operation, after === undefined ? undefined : [position, n]);
    const done = transitions.map(({ before, after: then }) => ({
      before: before && recordOf(before, assetType),
      after: then && recordOf(then, assetType),
    }));
    const touched = done.flatMap(({ before, after: then }) => before ?? then ?? []);
    const wanted = {
      keys: touched.map(({ fields }) => uniqueKeyOf(assetType, fields)),
      ids: touched.map(({ id }) => id),
    };
    const { state: known, ...end } = await loadTable(commands.queries, caller.tenant, assetType, wanted);
    return { ...end, state: { known, done, next: next?.join('.') } };
  };
  const { position: written } = await writeTable(commands, caller, assetType, read, ({ known, done, next }) => {
    const { events, ...counts } = undo(assetType, revision, done, known);
    result = { ...counts, next };
    return events;
  });
  return { ...result, position: written };
}
