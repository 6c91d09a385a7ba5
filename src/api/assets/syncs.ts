/** Sync sessions: the synchronisation of spec §4.8 in three steps that refuse what would delete too much. */
import { commitBody, commitSync, startSync } from '../../commands/referenceTables/syncs.js';
import { tenantOf } from '../../commands/tables.js';
import { MAX_DIFFERENCES, SYNC_HOURS } from '../../domain/limits.js';
import * as json from '../openapi/schema.js';
import { dataReply, manyWritten, pathText, type Resource } from '../routes/operation.js';
import { DRY_RUN, isDryRun } from './dryRun.js';

export const syncs: Resource = {
  tag: '',
  pathParameters: { id: { ...pathText('sync_id'), example: 'sync-session-0198c1f2-0000-7000-8000-000000000001' } },
  schemas: {
    Sync: json.closedObject({
      id: { ...json.text, description: 'The `_batch_id` of its batches.' },
      started_at: json.timestamp,
      expires_at: { ...json.timestamp, description: 'From then on it takes no batch and cannot be committed.' },
    }),
    CommitResult: {
      type: 'object',
      properties: {
        message: json.text,
        deleted: json.count,
        operation_id: { ...json.text, description: 'By which it can be undone.' },
        carried: { ...json.count, description: 'Of a dry run: records that the session has carried.' },
        dry_run: { type: 'boolean', const: true },
        differences: { ...json.listOf(json.ref('Difference')), maxItems: MAX_DIFFERENCES },
      },
      required: ['message', 'deleted'],
      examples: [{ message: 'Sync committed: 12 records were deleted.', deleted: 12, operation_id: '1042' }],
    },
  },
  operations: {
    'POST /:table/syncs': {
      id: 'startSyncOf',
      summary: 'Begin a synchronisation',
      description: `Its id is the \`_batch_id\` of the batches that follow. The newest session of a table is the only one that takes batches; one that is not committed within ${SYNC_HOURS} hours deletes nothing.`,
      allow: 'write:reference_data',
      isOffered: ({ supportingData }) => supportingData,
      status: 201,
      answer: json.one('Sync', 'It takes batches.'),
      async handle({ commands }, { caller, assetType }) {
        const { id, startedAt, expiresAt } = await startSync(commands, caller, assetType);
        return dataReply({ id, started_at: startedAt, expires_at: expiresAt });
      },
    },
    'POST /:table/syncs/:id/commit': {
      id: 'commitSyncOf',
      summary: 'Delete what the synchronisation did not carry',
      description:
        '`records` says how many it has carried, so that a batch that got lost is noticed; `confirm` as in a clean-up. It is refused when a batch of it was, when it is not the newest of its table, or too old. Repeated, it answers as before. A dry run needs no numbers.',
      allow: 'write:reference_data',
      isOffered: ({ supportingData }) => supportingData,
      query: [DRY_RUN],
      body: { ...json.bodyOf(commitBody, { records: 3000 }), optional: true },
      answer: json.one('CommitResult', 'The records were deleted.'),
      errors: [409],
      async handle({ commands, metrics }, { caller, assetType, path, query, body }) {
        const dryRun = isDryRun(query);
        const { cleanUpGuard: guard } = tenantOf(commands, caller.tenant);
        const done = await commitSync(commands, caller, assetType, path.id, body, { dryRun, guard });
        const { position, deleted, operationId, carried, differences } = done;
        if (!dryRun) metrics.tenants.synchronized(caller.tenant);
        const message = dryRun
          ? `Dry run: ${deleted} records would be deleted; nothing was.`
          : `Sync committed: ${deleted} records were deleted.`;
        const more = dryRun ? { carried, dry_run: true, differences } : { operation_id: operationId };
        return dataReply({ message, deleted, ...more }, manyWritten(position, assetType.name));
      },
    },
  },
};
