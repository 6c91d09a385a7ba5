/** Synchronizes Reference Data with its source: batch and clean-up (spec §4.7, §4.8). */
import { upsertBatch } from '../../commands/referenceTables/batches.js';
import { cleanUpBody, cleanUpTable } from '../../commands/referenceTables/cleanUps.js';
import { tenantOf } from '../../commands/tables.js';
import { MAX_BATCH_ITEMS, MAX_ENTRIES } from '../../domain/limits.js';
import { DRY_RUN, idempotencyKeyOf, isDryRun } from '../changeOptions.js';
import { createExample, EXAMPLE_BATCH_ID } from '../openapi/records.js';
import * as json from '../openapi/schema.js';
import { type Call, CREATES, dataReply, type Reply, type Resource } from '../routes/operation.js';

const difference: json.JsonSchema = json.closedObject({
  change: json.oneOf(['create', 'update', 'delete']),
  id: { ...json.orNull(json.uuid), description: 'null: the record would get a new one.' },
  key: json.text,
  fields: { type: 'object', additionalProperties: json.closedObject({ from: {}, to: {} }) },
});

/** Counts, and what a dry run adds to them. */
export const withDryRun = (counts: json.Schemas, more: json.Schemas = {}): json.JsonSchema => ({
  type: 'object',
  properties: {
    ...counts,
    ...more,
    operation_id: {
      ...json.text,
      description: 'The id of the operation, for its undo. Missing if nothing was written.',
    },
    dry_run: { type: 'boolean', const: true },
    differences: { ...json.listOf(json.ref('Difference')), maxItems: MAX_ENTRIES },
  },
  required: Object.keys(counts),
});

const schemas: json.Schemas = {
  Difference: difference,
  BatchResult: withDryRun({ message: json.text, created: json.count, updated: json.count, unchanged: json.count }),
  CleanUpResult: withDryRun({ message: json.text, deleted: json.count }),
};

/** The schema of a batch of such items. */
export const batchOf = (items: json.JsonSchema): json.JsonSchema => ({
  ...json.closedObject({ items: { type: 'array', items, minItems: 1, maxItems: MAX_BATCH_ITEMS } }),
  additionalProperties: false,
});

export const deletedMessage = (done: string, { query }: Call, deleted: number): string =>
  isDryRun(query)
    ? `Dry run: ${deleted} records would be deleted; nothing was.`
    : `${done}: ${deleted} records were deleted.`;

type Synchronized = Pick<Awaited<ReturnType<typeof upsertBatch>>, 'position' | 'operationId' | 'differences'> & {
  readonly isReplayed?: boolean | undefined;
};

/** The answer to a change of many records, or to a dry run of it. */
export function synchronizedReply(
  { query }: Call,
  { position, operationId, differences, isReplayed }: Synchronized,
  counts: { readonly [name: string]: unknown },
): Reply {
  const dryRun = isDryRun(query);
  const more = dryRun ? { dry_run: true, differences } : { operation_id: operationId };
  return dataReply({ ...counts, ...more }, { written: position, isReplayed });
}

/** Both need the scope for Reference Data on any table; the command refuses Master Data. */
export const synchronization: Resource = {
  tag: 'assets',
  schemas,
  operations: {
    'POST /:table/assets/batch': {
      id: 'upsertBatch',
      grows: CREATES,
      summary: 'Create and update many',
      query: [DRY_RUN],
      answer: json.one('BatchResult', 'Everything was written.'),
      honours: ['idempotency-key'],
      description: 'All items or none; matched on the unique field of the table (`unique_field` of its info).',
      allow: 'write:reference_data',
      tables: 'ReferenceTable',
      body: {
        limit: 'batch',
        schema: batchOf(json.ref('BatchItem')),
        example: (assetType) => ({ items: [{ ...createExample(assetType), _batch_id: EXAMPLE_BATCH_ID }] }),
      },
      async handle(api, call) {
        const { req, caller, assetType, query, body } = call;
        const dryRun = isDryRun(query);
        const key = dryRun ? undefined : idempotencyKeyOf(req);
        const batch = await upsertBatch(api.commands, caller, assetType, body, { dryRun, key });
        const { created, updated, unchanged } = batch.counts;
        const items = created + updated + unchanged;
        const message = dryRun
          ? `Dry run: ${items} items are valid; nothing was written.`
          : `Batch upsert of ${items} items succeeded.`;
        return synchronizedReply(call, batch, { message, ...batch.counts });
      },
    },
    'POST /:table/assets/clean-up': {
      work: 'largeWrite',
      id: 'cleanUp',
      summary: 'Delete the records that the last synchronisation did not carry',
      description: 'With `confirm`, only if it would delete exactly that many records.',
      allow: 'write:reference_data',
      tables: 'ReferenceTable',
      query: [DRY_RUN],
      body: json.bodyOf(cleanUpBody, { batch_id: EXAMPLE_BATCH_ID }),
      answer: json.one('CleanUpResult', 'The records were deleted.'),
      honours: ['idempotency-key'],
      async handle(api, call) {
        const { req, caller, assetType, query, body } = call;
        const dryRun = isDryRun(query);
        const key = dryRun ? undefined : idempotencyKeyOf(req);
        const { cleanUpGuard: guard } = tenantOf(api.commands, caller.tenant);
        const cleaned = await cleanUpTable(api.commands, caller, assetType, body, { dryRun, guard, key });
        const { deleted } = cleaned;
        return synchronizedReply(call, cleaned, {
          message: deletedMessage('Clean-up succeeded', call, deleted),
          deleted,
        });
      },
    },
  },
};
