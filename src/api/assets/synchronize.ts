/** Synchronizes Reference Data with its source: batch and clean-up (spec §4.7, §4.8). */
import { cleanUpBody, cleanUpTable, upsertBatch } from '../../commands/referenceTables/synchronize.js';
import { tenantOf } from '../../commands/tables.js';
import { MAX_BATCH_ITEMS, MAX_DIFFERENCES } from '../../domain/limits.js';
import { DRY_RUN, isDryRun, keyOfChange } from '../changeOptions.js';
import type { Api } from '../deps.js';
import { createExample, EXAMPLE_BATCH_ID } from '../openapi/records.js';
import * as json from '../openapi/schema.js';
import { CREATES, dataReply, isReferenceData, type Reply, type Resource, type TableCall } from '../routes/operation.js';

const difference: json.JsonSchema = json.closedObject({
  change: json.oneOf(['create', 'update', 'delete']),
  id: { ...json.orNull(json.uuid), description: 'null: the record would get a new one.' },
  key: json.text,
  fields: { type: 'object', additionalProperties: json.closedObject({ from: {}, to: {} }) },
});

/** Counts, and what a dry run adds to them. */
const withDryRun = (counts: json.Schemas, more: json.Schemas = {}): json.JsonSchema => ({
  type: 'object',
  properties: {
    ...counts,
    ...more,
    dry_run: { type: 'boolean', const: true },
    differences: { ...json.listOf(json.ref('Difference')), maxItems: MAX_DIFFERENCES },
  },
  required: Object.keys(counts),
});

const OPERATION_ID: json.JsonSchema = {
  ...json.text,
  description: 'The id of the operation, for its undo. Missing if nothing was written.',
};

const schemas: json.Schemas = {
  Difference: difference,
  BatchResult: {
    ...withDryRun(
      { message: json.text, created: json.count, updated: json.count, unchanged: json.count },
      { operation_id: OPERATION_ID },
    ),
    examples: [
      { message: 'Batch upsert of 3 items succeeded.', created: 1, updated: 1, unchanged: 1, operation_id: '1041' },
    ],
  },
  CleanUpResult: {
    ...withDryRun({ message: json.text, deleted: json.count }, { operation_id: OPERATION_ID }),
    examples: [{ message: 'Clean-up succeeded: 12 records were deleted.', deleted: 12, operation_id: '1042' }],
  },
};

/** The schema of a batch of such items. */
export const batchOf = (items: json.JsonSchema): json.JsonSchema => ({
  ...json.closedObject({ items: { type: 'array', items, minItems: 1, maxItems: MAX_BATCH_ITEMS } }),
  additionalProperties: false,
});

/** Documentation of a batch, for clients and users. */
export const writingBatch = {
  grows: CREATES,
  summary: 'Create and update many',
  query: [DRY_RUN],
  answer: json.one('BatchResult', 'Everything was written.'),
  honours: ['idempotency-key'],
  errors: [409],
} as const;

export async function batchReply({ commands, metrics }: Api, call: TableCall): Promise<Reply> {
  const { req, caller, assetType, query, body } = call;
  const dryRun = isDryRun(query);
  const key = keyOfChange(req, dryRun);
  const batch = await upsertBatch(commands, caller, assetType, body, { dryRun, key });
  const { position, counts, operationId, differences, isReplayed } = batch;
  if (!dryRun) metrics.tenants.synchronized(caller.tenant);
  const items = counts.created + counts.updated + counts.unchanged;
  const message = dryRun
    ? `Dry run: ${items} items are valid; nothing was written.`
    : `Batch upsert of ${items} items succeeded.`;
  return dataReply(
    { message, ...counts, ...(dryRun ? { dry_run: true, differences } : { operation_id: operationId }) },
    { written: position, isReplayed },
  );
}

/** Both need the scope for Reference Data on any table; the command refuses Master Data. */
export const synchronization: Resource = {
  tag: 'assets',
  schemas,
  operations: {
    'POST /:table/assets/batch': {
      id: 'upsertBatch',
      ...writingBatch,
      description: 'All items or none; matched on the unique field of the table (`unique_field` of its info).',
      allow: 'write:reference_data',
      isOffered: isReferenceData,
      body: {
        limit: 'batch',
        schema: batchOf(json.ref('BatchItem')),
        example: (assetType) => ({ items: [{ ...createExample(assetType), _batch_id: EXAMPLE_BATCH_ID }] }),
      },
      handle: batchReply,
    },
    'POST /:table/assets/clean-up': {
      work: 'largeWrite',
      id: 'cleanUp',
      summary: 'Delete the records that the last synchronisation did not carry',
      description: 'With `confirm`, only if it would delete exactly that many records.',
      allow: 'write:reference_data',
      isOffered: isReferenceData,
      query: [DRY_RUN],
      body: json.bodyOf(cleanUpBody, { batch_id: EXAMPLE_BATCH_ID }),
      answer: json.one('CleanUpResult', 'The records were deleted.'),
      honours: ['idempotency-key'],
      errors: [409],
      async handle({ commands, metrics }, { req, caller, assetType, query, body }) {
        const dryRun = isDryRun(query);
        const key = keyOfChange(req, dryRun);
        const { cleanUpGuard: guard } = tenantOf(commands, caller.tenant);
        const cleaned = await cleanUpTable(commands, caller, assetType, body, { dryRun, guard, key });
        const { position, deleted, operationId, differences, isReplayed } = cleaned;
        if (!dryRun) metrics.tenants.synchronized(caller.tenant);
        const message = dryRun
          ? `Dry run: ${deleted} records would be deleted; nothing was.`
          : `Clean-up succeeded: ${deleted} records were deleted.`;
        const more = dryRun ? { dry_run: true, differences } : { operation_id: operationId };
        return dataReply({ message, deleted, ...more }, { written: position, isReplayed });
      },
    },
  },
};
