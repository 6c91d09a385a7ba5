/**
 * Synchronizes Reference Data with its source: batch and clean-up (spec §4.7, §4.8), and sync sessions, the same in three
 * steps, of which no lost batch deletes anything.
 */
import type { Once } from '../../commands/idempotency.js';
import { upsertBatch } from '../../commands/referenceTables/batches.js';
import {
  type CleanUpResult,
  cleanUpBody,
  cleanUpTable,
  commitBody,
  commitSync,
  startSync,
} from '../../commands/referenceTables/cleanUps.js';
import { MAX_ENTRIES, MAX_RECORDS } from '../../domain/limits.js';
import { DRY_RUN, isDryRun, writeOptionsOf } from '../changeOptions.js';
import * as json from '../openapi/schema.js';
import {
  type Call,
  CREATES,
  dataReply,
  OF_REFERENCE_DATA,
  pathText,
  type Reply,
  type Resource,
} from '../routes/operation.js';

/** @param more what only some answers have */
const counted = (counts: json.Schemas, more: json.Schemas = {}): json.JsonSchema => ({
  type: 'object',
  properties: {
    message: json.text,
    ...counts,
    ...more,
    operation_id: { ...json.text, description: 'For its undo. Missing if nothing was written.' },
    dry_run: { type: 'boolean', const: true },
  },
  required: ['message', ...Object.keys(counts)],
});

/** The schema of a batch of such items. */
export const batchOf = (items: json.JsonSchema): json.JsonSchema => ({
  ...json.closedObject({ items: { type: 'array', items, minItems: 1, maxItems: MAX_RECORDS } }),
  additionalProperties: false,
});

/** The answer to a clean-up or the commit of a sync session, or to a dry run of it. */
function deletedReply(
  done: string,
  { query }: Call,
  { deleted, carried, keys, ...written }: Once<CleanUpResult>,
): Reply {
  const message = isDryRun(query)
    ? `Dry run: ${deleted} records would be deleted; nothing was.`
    : `${done}: ${deleted} records were deleted.`;
  return synchronizedReply(query, { message, deleted, carried, keys }, written);
}

const synchronizedReply = (
  query: URLSearchParams,
  counts: object,
  { position, operationId, isRepeated }: Pick<Once<CleanUpResult>, 'position' | 'operationId' | 'isRepeated'>,
): Reply =>
  dataReply(
    { ...counts, ...(isDryRun(query) ? { dry_run: true } : { operation_id: operationId }) },
    { written: position, isRepeated },
  );

export const BATCH_EXAMPLE = {
  items: [{ external_id: 'C-1001', name: 'Bakkerij De Molen', _batch_id: 'sync-2026-11-21' }],
};

/** All need the scope for Reference Data on any table; the command refuses Master Data. */
export const synchronization: Resource = {
  tag: 'assets',
  pathParameters: {
    id: { ...pathText('sync_id'), example: 'sync-session-0198c1f2-0000-7000-8000-000000000001' },
  },
  schemas: {
    Difference: json.closedObject({
      change: json.oneOf(['create', 'update']),
      id: { ...json.orNull(json.uuid), description: 'null: the record would get a new one.' },
      key: json.text,
      fields: { type: 'object', additionalProperties: json.ref('FieldDifference') },
    }),
    BatchResult: counted(
      { created: json.count, updated: json.count, unchanged: json.count },
      { differences: { ...json.listOf(json.ref('Difference')), maxItems: MAX_ENTRIES, description: 'Of a dry run.' } },
    ),
    CleanUpResult: counted(
      { deleted: json.count },
      {
        carried: { ...json.count, description: 'Of a dry run: records with the batch id.' },
        keys: {
          ...json.listOf(json.text),
          maxItems: MAX_ENTRIES,
          description: 'Of a dry run: the first records that would be deleted, by their unique field.',
        },
      },
    ),
    Sync: json.closedObject({
      id: { ...json.text, description: 'The `_batch_id` of its batches.' },
      started_at: json.timestamp,
    }),
  },
  operations: {
    'POST /:table/assets/batch': {
      id: 'upsertBatch',
      grows: CREATES,
      summary: 'Create and update many',
      query: [DRY_RUN],
      answer: json.one('BatchResult', 'Everything was written.'),
      headers: ['idempotency-key'],
      description: 'All items or none; matched on the unique field of the table (`unique_field` of its info).',
      ...OF_REFERENCE_DATA,
      body: {
        limit: 'batch',
        schema: batchOf(json.ref('BatchItem')),
        example: BATCH_EXAMPLE,
      },
      async handle(_api, call) {
        const options = writeOptionsOf(call);
        const batch = await upsertBatch(call.tableWrite, call.body, options);
        const items = Object.values(batch.counts).reduce((sum, count) => sum + count, 0);
        const message = options.dryRun
          ? `Dry run: ${items} items are valid; nothing was written.`
          : `Batch upsert of ${items} items succeeded.`;
        const { differences } = batch;
        return synchronizedReply(call.query, { message, ...batch.counts, differences }, batch);
      },
    },
    'POST /:table/assets/clean-up': {
      work: 'largeWrite',
      id: 'cleanUp',
      summary: 'Delete every record that the last synchronisation did not send',
      description: 'With `confirm`, only if it would delete exactly that many records.',
      ...OF_REFERENCE_DATA,
      query: [DRY_RUN],
      body: json.bodyOf(cleanUpBody, { batch_id: 'sync-2026-11-21' }),
      answer: json.one('CleanUpResult', 'The records were deleted.'),
      headers: ['idempotency-key'],
      async handle(_api, call) {
        const done = await cleanUpTable(call.tableWrite, call.body, writeOptionsOf(call));
        return deletedReply('Clean-up succeeded', call, done);
      },
    },
    'POST /:table/syncs': {
      id: 'startSync',
      grows: ['logBytes'],
      summary: 'Begin a synchronisation',
      description:
        'Its id is the `_batch_id` of the batches that follow. The newest session of a table is the only one that takes batches; one that is not committed deletes nothing.',
      status: 201,
      answer: json.one('Sync', 'It takes batches.'),
      ...OF_REFERENCE_DATA,
      async handle(_api, { tableWrite }) {
        const { id, startedAt } = await startSync(tableWrite);
        return dataReply({ id, started_at: startedAt });
      },
    },
    'POST /:table/syncs/:id/commit': {
      id: 'commitSync',
      work: 'largeWrite',
      summary: 'Delete every record that the synchronisation did not send',
      description:
        '`records` is the number of records sent: another number is refused, as a batch was lost or refused. `confirm` is as in a clean-up. Only the newest session of a table is committed. A repetition gets the same answer. A dry run needs no numbers.',
      query: [DRY_RUN],
      body: { ...json.bodyOf(commitBody, { records: 1 }), optional: true },
      answer: json.one('CleanUpResult', 'The records were deleted.'),
      ...OF_REFERENCE_DATA,
      async handle(_api, call) {
        const { tableWrite, path, query, body } = call;
        const done = await commitSync(tableWrite, path.id, body, isDryRun(query));
        return deletedReply('Sync committed', call, done);
      },
    },
  },
};
