/**
 * Sync sessions: the synchronisation of spec §4.8 in three steps, with protection against excessive deletion; their
 * list; and undoing one.
 */
import { z } from 'zod';
import { commitBody, commitSync, startSync } from '../../commands/referenceTables/cleanUps.js';
import { undoSync } from '../../commands/referenceTables/undo.js';
import { refuseMasterData, tenantOf } from '../../commands/tables.js';
import { MAX_ENTRIES, MAX_SHORT_PAGE, SYNC_HOURS } from '../../domain/limits.js';
import { RECOMMENDED_GUARD } from '../../domain/referenceTable/cleanUpGuard.js';
import { endOf, expiryOf, statusOf, timesOf } from '../../domain/referenceTable/sync.js';
import { cancellable } from '../../queries/asking.js';
import { type SyncSession, syncSessions } from '../../queries/syncs.js';
import { type ShownActor, shownActor } from '../actors.js';
import { DRY_RUN, isDryRun } from '../changeOptions.js';
import type { Api } from '../deps.js';
import * as json from '../openapi/schema.js';
import { type Call, dataReply, pathText, type Resource } from '../routes/operation.js';
import { parametersIn, parseQuery } from '../routes/query.js';
import { requestUrl } from '../tenantHost.js';
import { revisionCursor } from './listQuery.js';
import { UNDO_IN_PIECES, undoing } from './operations.js';
import { linkedReply } from './pages.js';
import { deletedMessage, synchronizedReply } from './synchronize.js';

type ShownSync = Omit<SyncSession, 'actor'> & {
  readonly now: string;
  readonly actor: ShownActor;
  readonly tableUrl: string;
};

const syncView = json.view<ShownSync>({
  id: { ...json.text, description: 'The `_batch_id` of its batches.' },
  status: [
    {
      ...json.oneOf(['started', 'committed', 'expired', 'aborted']),
      description: `started: it takes batches. expired: it was not committed within ${SYNC_HOURS} hours. aborted: another sync was started, or more was refused than a session remembers.`,
    },
    (sync) => statusOf(sync, sync.now),
  ],
  reason: [
    { ...json.nullableText, description: 'Why it was aborted, or why the last of its refused batches was.' },
    (sync) =>
      sync.failure ??
      (statusOf(sync, sync.now) === 'aborted' ? 'Another sync was started.' : (sync.refused?.reason ?? null)),
  ],
  started_at: json.timestamp,
  expires_at: [json.timestamp, expiryOf],
  ended_at: [
    { ...json.orNull(json.timestamp), description: 'When it stopped taking batches; null while it is open.' },
    (sync) => endOf(sync, sync.now) ?? null,
  ],
  actor: json.ref('Actor'),
  deleted: [{ ...json.count, description: 'By its commit.' }, ({ committed }) => committed?.deleted ?? 0],
  operation_id: [
    { ...json.nullableText, description: 'Of the clean-up of its commit.' },
    ({ committed }) => committed?.operationId ?? null,
  ],
  links: [
    json.closedObject({ operations: { ...json.link, description: 'Its batches and its clean-up, one by one.' } }),
    (sync) => ({
      operations: `${sync.tableUrl}/operations?${new URLSearchParams({ batch_id: sync.id, ...timesOf(sync, sync.now) })}`,
    }),
  ],
});

const syncsQuery = z.strictObject({ cursor: revisionCursor });

/** The first session of a table is the moment to offer it. */
const NO_GUARD = `This tenant has no guard on clean-ups: the commit deletes every record that the batches did not carry. Recommended: PUT /api/v1/platform/tenant/clean-up-guard {"max_percent": ${RECOMMENDED_GUARD.maxPercent}, "min_records": ${RECOMMENDED_GUARD.minRecords}} by an admin.`;

function shown(api: Api, call: Call, found: readonly SyncSession[]): readonly unknown[] {
  const tenant = tenantOf(api.commands, call.caller.tenant);
  const url = requestUrl(call.req, api.config);
  const [now, tableUrl] = [api.commands.now(), url.slice(0, url.lastIndexOf('/syncs'))];
  return found.map((sync) => {
    const actor = shownActor(api.commands, tenant, sync.actor);
    return syncView.show({ ...sync, actor, now, tableUrl });
  });
}

export const syncs: Resource = {
  tag: 'assets',
  pathParameters: {
    id: { ...pathText('sync_id'), example: 'sync-session-0198c1f2-0000-7000-8000-000000000001' },
  },
  schemas: {
    SyncSession: syncView.schema,
    Sync: {
      type: 'object',
      properties: {
        id: { ...json.text, description: 'The `_batch_id` of its batches.' },
        started_at: json.timestamp,
        expires_at: { ...json.timestamp, description: 'After this time it takes no batch and cannot be committed.' },
        advice: { ...json.text, description: "In a table's first session, if the tenant has no guard on clean-ups." },
      },
      required: ['id', 'started_at', 'expires_at'],
    },
    CommitResult: {
      type: 'object',
      properties: {
        message: json.text,
        deleted: json.count,
        operation_id: { ...json.text, description: 'The id for its undo. Missing without a clean-up.' },
        carried: { ...json.count, description: 'Of a dry run: records that the session carried.' },
        dry_run: { type: 'boolean', const: true },
        differences: { ...json.listOf(json.ref('Difference')), maxItems: MAX_ENTRIES },
      },
      required: ['message', 'deleted'],
    },
  },
  operations: {
    'GET /:table/syncs': {
      id: 'listSyncs',
      work: 'list',
      summary: 'Sync sessions, the newest first',
      description: `Time, actor, state and numbers of records. A page has at most ${MAX_SHORT_PAGE}.`,
      query: parametersIn(syncsQuery),
      answer: json.linkedPage('SyncSession', MAX_SHORT_PAGE),
      allow: 'read',
      tables: 'ReferenceTable',
      async handle(api, call, cancellation) {
        const { assetType, caller, query } = call;
        refuseMasterData(assetType, 'synchronized');
        const { cursor } = parseQuery(syncsQuery, query);
        const table = { tenant: caller.tenant, table: assetType.name };
        const before = cursor === undefined ? undefined : Number(cursor);
        const found: SyncSession[] = [];
        for await (const session of syncSessions(cancellable(api.rows, cancellation), table, before)) {
          found.push(session);
          if (found.length > MAX_SHORT_PAGE) break;
        }
        const page = found.slice(0, MAX_SHORT_PAGE);
        const next = found.length > MAX_SHORT_PAGE ? page.at(-1)?.revision : undefined;
        return linkedReply(api, call, shown(api, call, page), next);
      },
    },
    'POST /:table/syncs/:id/undo': {
      id: 'undoSync',
      ...undoing(undoSync),
      summary: 'Undo a whole synchronisation',
      description: `The records that its commit deleted come back, then its batches are undone, the last one first: records get their earlier values and batch ids, and created ones are deleted. Records that changed since are reported and left alone; a dry run checks each operation by itself. An open session is refused. ${UNDO_IN_PIECES}`,
    },
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
        const { id, startedAt, expiresAt, isFirst } = await startSync(commands, caller, assetType);
        const { cleanUpGuard: guard } = tenantOf(commands, caller.tenant);
        const advice = isFirst && guard === undefined ? { advice: NO_GUARD } : {};
        return dataReply({ id, started_at: startedAt, expires_at: expiresAt, ...advice });
      },
    },
    'POST /:table/syncs/:id/commit': {
      id: 'commitSync',
      work: 'largeWrite',
      summary: 'Delete the records that the synchronisation did not carry',
      description:
        '`records` is the number of records sent, so that a lost batch is noticed; `confirm` is as in a clean-up. With `"clean_up": false` the session ends and nothing is deleted. It is refused if it would delete records of a refused batch that were not sent again, unless `confirm` names the number of deletions, and if the session is too old or not the newest of its table. A repetition gets the same answer. A dry run needs no numbers.',
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
        return synchronizedReply(api, call, done, { message, deleted, ...(dryRun && { carried }) });
      },
    },
  },
};
