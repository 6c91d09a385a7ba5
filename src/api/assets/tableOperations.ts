/** Operations on Reference Data: batches, clean-ups, deletions by people, and undos; and undoing them. */
import { z } from 'zod';
import { type UndoResult, undoBody, undoOperation } from '../../commands/referenceTables/undo.js';
import { refuseMasterData } from '../../commands/tables.js';
import { MAX_ACTIVITY_ROWS, MAX_RECORDS, MAX_SHORT_PAGE } from '../../domain/limits.js';
import { type ActivityEntry, activityPage, batchIdsOf, countsOf, TABLE_OPERATIONS } from '../../queries/activity.js';
import { cancellable, where } from '../../queries/asking.js';
import { type Acted, acted } from '../actors.js';
import * as json from '../openapi/schema.js';
import { dataReply, OF_REFERENCE_DATA, pathText, READ, type Resource } from '../routes/operation.js';
import { parametersIn, parseQuery } from '../routes/query.js';
import { exactText, revisionCursor } from './listQuery.js';
import { linkedReply } from './pages.js';

const countOf = (name: keyof ReturnType<typeof countsOf>) => (entry: Acted<ActivityEntry>) => countsOf(entry)[name];

const operationView = json.view<Acted<ActivityEntry>>({
  operation_id: [json.text, ({ revision }) => String(revision)],
  kind: [json.oneOf(['batch', 'clean_up', 'deleted', 'undo']), ({ kind }) => kind.replace(/^\w+\./, '')],
  at: json.timestamp,
  actor: json.ref('Actor'),
  batch_ids: [json.listOf(json.text), batchIdsOf],
  created: [json.count, countOf('created')],
  updated: [json.count, countOf('updated')],
  seen: [{ ...json.count, description: 'Unchanged records, sent again with another batch_id.' }, countOf('seen')],
  deleted: [json.count, countOf('deleted')],
  undoes: [
    { ...json.nullableText, description: 'Of an undo: what it undoes.' },
    ({ details }) => (typeof details?.undoes === 'string' ? details.undoes : null),
  ],
});

const operationsQuery = z.strictObject({
  cursor: revisionCursor,
  batch_id: exactText('With this batch id, such as that of a sync.'),
});

const undoView = json.view<UndoResult>({
  message: [json.text, ({ restored, deleted }) => `Undo: ${restored} records restored, ${deleted} deleted.`],
  restored: json.count,
  deleted: { ...json.count, description: 'Of a batch: the records that it created.' },
  left: {
    ...json.listOf(
      json.closedObject({ id: json.uuid, key: json.text, reason: json.oneOf(['changed', 'deleted', 'key_taken']) }),
    ),
    maxItems: MAX_RECORDS,
    description: 'Left alone: changed or deleted since, or another record has the key.',
  },
  next: { ...json.nullableText, description: 'The `after` of the next request; null: all is done.' },
});

export const tableOperations: Resource = {
  tag: 'assets',
  pathParameters: { id: { ...pathText('operation_id'), example: '1042' } },
  schemas: { TableOperation: operationView.schema, UndoResult: undoView.schema },
  operations: {
    'GET /:table/operations': {
      id: 'listOperations',
      summary: 'Batches, clean-ups, deletions by people and undos, the newest first',
      description: `A page comes from ${MAX_ACTIVITY_ROWS} changes of the table at most: it may have none, and still a link to the next.`,
      query: parametersIn(operationsQuery),
      answer: json.linkedPage('TableOperation', MAX_SHORT_PAGE),
      work: 'list',
      allow: READ,
      tables: 'ReferenceTable',
      async handle(api, call, cancellation) {
        const { assetType, query, tenant } = call;
        refuseMasterData(assetType, 'written by batch');
        const { cursor, batch_id: batchId } = parseQuery(operationsQuery, query);
        const { entries, next } = await activityPage(cancellable(api.rows, cancellation), tenant.name, {
          conditions: where({ table: assetType.name, kind: TABLE_OPERATIONS }),
          before: cursor === undefined ? undefined : { position: Number(cursor), revision: 0 },
          limit: MAX_SHORT_PAGE,
          isWanted: (entry) => batchId === undefined || batchIdsOf(entry).includes(batchId),
        });
        const data = entries.map((entry) => operationView.show(acted(api.commands, tenant, entry)));
        return linkedReply(api, call, data, next?.position);
      },
    },
    'POST /:table/operations/:id/undo': {
      id: 'undoOperation',
      summary: 'Undo a batch, a clean-up or a deletion',
      description: `Deleted records are back with their ids and values, changed ones have their earlier values, created ones are deleted. Records that changed since are reported and left as they are. A request undoes at most ${MAX_RECORDS} records: where there are more, \`next\` is the \`after\` of another.`,
      work: 'costly',
      body: { ...json.bodyOf(undoBody, {}), optional: true },
      answer: json.one('UndoResult', 'Undone, except for the reported records.'),
      ...OF_REFERENCE_DATA,
      async handle(_api, { tableWrite, path, body }) {
        const undone = await undoOperation(tableWrite, path.id, body);
        return dataReply(undoView.show(undone), { written: undone.position });
      },
    },
  },
};
