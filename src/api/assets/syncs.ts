/** Sync sessions: the synchronisation of spec §4.8 in three steps, of which no lost batch deletes anything. */
import { commitBody, commitSync, startSync } from '../../commands/referenceTables/cleanUps.js';
import { tenantOf } from '../../commands/tables.js';
import { SYNC_HOURS } from '../../domain/limits.js';
import { DRY_RUN, isDryRun } from '../changeOptions.js';
import * as json from '../openapi/schema.js';
import { dataReply, pathText, type Resource } from '../routes/operation.js';
import { deletedMessage, synchronizedReply, withDryRun } from './synchronize.js';

export const syncs: Resource = {
  tag: 'assets',
  pathParameters: {
    id: { ...pathText('sync_id'), example: 'sync-session-0198c1f2-0000-7000-8000-000000000001' },
  },
  schemas: {
    Sync: json.closedObject({
      id: { ...json.text, description: 'The `_batch_id` of its batches.' },
      started_at: json.timestamp,
      expires_at: { ...json.timestamp, description: 'After this time it takes no batch and cannot be committed.' },
    }),
    CommitResult: withDryRun(
      { message: json.text, deleted: json.count },
      { carried: { ...json.count, description: 'Of a dry run: records that the session carried.' } },
    ),
  },
  operations: {
    'POST /:table/syncs': {
      id: 'startSync',
      grows: ['logBytes'],
      summary: 'Begin a synchronisation',
      description: `Its id is the \`_batch_id\` of the batches that follow. The newest session of a table is the only one that takes batches; one that is not committed within ${SYNC_HOURS} hours deletes nothing.`,
      status: 201,
      answer: json.one('Sync', 'It takes batches.'),
      allow: 'write:reference_data',
      tables: 'ReferenceTable',
      async handle({ commands }, { caller, assetType }) {
        const { id, startedAt, expiresAt } = await startSync(commands, caller, assetType);
        return dataReply({ id, started_at: startedAt, expires_at: expiresAt });
      },
    },
    'POST /:table/syncs/:id/commit': {
      id: 'commitSync',
      work: 'largeWrite',
      summary: 'Delete the records that the synchronisation did not carry',
      description:
        '`records` is the number of records sent: it is refused if the session has carried another number, so that a lost or refused batch is noticed. `confirm` is as in a clean-up. It is refused, too, if the session is too old or not the newest of its table. A repetition gets the same answer. A dry run needs no numbers.',
      query: [DRY_RUN],
      body: { ...json.bodyOf(commitBody, { records: 3000 }), optional: true },
      answer: json.one('CommitResult', 'The records were deleted.'),
      allow: 'write:reference_data',
      tables: 'ReferenceTable',
      async handle(api, call) {
        const { caller, assetType, path, query, body } = call;
        const dryRun = isDryRun(query);
        const { cleanUpGuard: guard } = tenantOf(api.commands, caller.tenant);
        const done = await commitSync(api.commands, caller, assetType, path.id, body, { dryRun, guard });
        const { deleted, carried } = done;
        const message = deletedMessage('Sync committed', call, deleted);
        return synchronizedReply(call, done, { message, deleted, ...(dryRun && { carried }) });
      },
    },
  },
};
