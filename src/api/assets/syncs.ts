/**
 * Sync sessions: the synchronisation of spec §4.8 in three steps, with protection against excessive deletion; their
 * list; and undoing one.
 */
import { z } from 'zod';
import type { Caller } from '../../commands/context.js';
import { commitBody, commitSync, startSync } from '../../commands/referenceTables/syncs.js';
import { requireSync, undoSync, undoSyncBody } from '../../commands/referenceTables/undoSync.js';
import { refuseMasterData, tenantOf } from '../../commands/tables.js';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { MAX_DIFFERENCES, MAX_SYNC_EVENTS, MAX_SYNCS, SYNC_HOURS } from '../../domain/limits.js';
import { RECOMMENDED_GUARD } from '../../domain/referenceTable/cleanUpGuard.js';
import { endOf, expiryOf, statusOf, timesOf } from '../../domain/referenceTable/sync.js';
import { type Budget, type SyncSession, type SyncWork, syncSessions, workOf } from '../../queries/syncs.js';
import type { Cancellation } from '../../supervision/cancellation.js';
import { actorsShown, type ShowActor } from '../actors.js';
import { DRY_RUN, isDryRun } from '../changeOptions.js';
import type { Api } from '../deps.js';
import * as json from '../openapi/schema.js';
import {
  type Call,
  dataReply,
  isReferenceData,
  pathText,
  type Reply,
  type Resource,
  type TableCall,
} from '../routes/operation.js';
import { parametersIn, parseQuery } from '../routes/query.js';
import { requestUrl } from '../tenantHost.js';
import { LIST_ANSWERS } from './listQuery.js';
import { revisionCursor, UNDO_IN_PIECES, undoHandler } from './operations.js';

/** `work` is undefined if it was too much to be counted. */
type ShownSync = SyncSession & {
  readonly work: SyncWork | undefined;
  readonly now: string;
  readonly showActor: ShowActor;
  readonly tableUrl: string;
};

const cleanUpOf = ({ work }: ShownSync) => work?.operations.find(({ kind }) => kind === 'clean_up');
const statusNow = (sync: ShownSync) => statusOf(sync, cleanUpOf(sync) !== undefined, sync.now);
const counted = (description: string): json.JsonSchema => ({ ...json.orNull(json.count), description });

const syncView = json.view<ShownSync>({
  id: [{ ...json.text, description: 'The `_batch_id` of its batches.' }, ({ id }) => id],
  status: [
    {
      ...json.oneOf(['started', 'committing', 'committed', 'expired', 'aborted']),
      description: `started: it takes batches. committing: it is closed; send its commit again. expired: it was not committed within ${SYNC_HOURS} hours. aborted: another sync was started, or more was refused than a session remembers.`,
    },
    statusNow,
  ],
  reason: [
    { ...json.nullableText, description: 'Why it was aborted, or why the last of its refused batches was.' },
    reasonOf,
  ],
  started_at: [json.timestamp, ({ startedAt }) => startedAt],
  expires_at: [json.timestamp, expiryOf],
  ended_at: [
    { ...json.orNull(json.timestamp), description: 'When it was closed to batches; null while it is open.' },
    (sync) => endOf(sync, sync.now) ?? null,
  ],
  actor: [json.ref('Actor'), ({ actor, showActor }) => showActor(actor)],
  batches: [
    counted('null if it is too large to be counted in one request: see its operations.'),
    ({ work }) => work?.operations.filter(({ kind }) => kind === 'batch').length ?? null,
  ],
  created: [counted('null as `batches`.'), ({ work }) => work?.created ?? null],
  updated: [counted('null as `batches`.'), ({ work }) => work?.updated ?? null],
  unchanged: [counted('Sent again unchanged. null as `batches`.'), ({ work }) => work?.unchanged ?? null],
  deleted: [counted('By its commit; null if unknown.'), deletedBy],
  operation_id: [
    { ...json.nullableText, description: 'Of the clean-up of its commit.' },
    (sync) => sync.committed?.operationId ?? cleanUpOf(sync)?.revision.toString() ?? null,
  ],
  links: [
    json.closedObject({ operations: { ...json.link, description: 'Its batches and its clean-up, one by one.' } }),
    (sync) => ({
      operations: `${sync.tableUrl}/operations?${new URLSearchParams({ batch_id: sync.id, ...timesOf(sync, sync.now) })}`,
    }),
  ],
});

function reasonOf(sync: ShownSync): string | null {
  if (sync.failure !== undefined) return sync.failure;
  if (statusNow(sync) === 'aborted') return 'Another sync was started.';
  return sync.refused?.reason ?? null;
}

function deletedBy(sync: ShownSync): number | null {
  const cleanedUp = sync.committed?.deleted ?? cleanUpOf(sync)?.records;
  return cleanedUp ?? (sync.work === undefined ? null : 0);
}

const syncsQuery = z.strictObject({ cursor: revisionCursor });

/** Documentation of a list of syncs, for clients and users. */
export const syncsList = {
  summary: 'Sync sessions, the newest first',
  description: `Time, actor, state and numbers of records. A page has at most ${MAX_SYNCS}, or fewer if they have many batches.`,
  query: parametersIn(syncsQuery),
  answer: json.linkedPage('SyncSession', MAX_SYNCS),
  answers: LIST_ANSWERS,
};

export const oneSync = {
  summary: 'One sync session',
  description: 'Its state and numbers of records.',
  answer: json.one('SyncSession'),
  answers: LIST_ANSWERS,
};

export const startingSync = {
  grows: ['logBytes'],
  summary: 'Begin a synchronisation',
  description: `Its id is the \`_batch_id\` of the batches that follow. The newest session of a table is the only one that takes batches; one that is not committed within ${SYNC_HOURS} hours deletes nothing.`,
  status: 201,
  answer: json.one('Sync', 'It takes batches.'),
} as const;

/** The first session of a table is the moment to offer it. */
const NO_GUARD = `This tenant has no guard on clean-ups: the commit deletes every record that the batches did not carry. Recommended: PUT /api/v1/platform/tenant/clean-up-guard {"max_percent": ${RECOMMENDED_GUARD.maxPercent}, "min_records": ${RECOMMENDED_GUARD.minRecords}} by an admin.`;

export async function startReply({ commands }: Api, { caller, assetType }: TableCall): Promise<Reply> {
  const { id, startedAt, expiresAt, isFirst } = await startSync(commands, caller, assetType);
  const { cleanUpGuard: guard } = tenantOf(commands, caller.tenant);
  const advice = isFirst && guard === undefined ? { advice: NO_GUARD } : {};
  return dataReply({ id, started_at: startedAt, expires_at: expiresAt, ...advice });
}

export const committingSync = {
  work: 'largeWrite',
  summary: 'Delete the records that the synchronisation did not carry',
  description:
    '`records` is the number of records sent, so that a lost batch is noticed; `confirm` is as in a clean-up. With `"clean_up": false` the session ends and nothing is deleted. It is refused if it would delete records of a refused batch that were not sent again, unless `confirm` names the number of deletions, and if the session is too old or not the newest of its table. A repetition gets the same answer. A dry run needs no numbers.',
  query: [DRY_RUN],
  body: { ...json.bodyOf(commitBody, { records: 3000 }), optional: true },
  answer: json.one('CommitResult', 'The records were deleted.'),
  errors: [409],
} as const;

export async function commitReply({ commands, metrics }: Api, call: TableCall): Promise<Reply> {
  const { caller, assetType, path, query, body } = call;
  const dryRun = isDryRun(query);
  const { cleanUpGuard: guard } = tenantOf(commands, caller.tenant);
  const done = await commitSync(commands, caller, assetType, path.id, body, { dryRun, guard });
  const { position, deleted, operationId, carried, differences } = done;
  if (!dryRun) metrics.tenants.synchronized(caller.tenant);
  const message = dryRun
    ? `Dry run: ${deleted} records would be deleted; nothing was.`
    : `Sync committed: ${deleted} records were deleted.`;
  const more = dryRun ? { carried, dry_run: true, differences } : { operation_id: operationId };
  return dataReply({ message, deleted, ...more }, { written: position });
}

export const undoingSync = {
  work: 'costly',
  summary: 'Undo a whole synchronisation',
  description: `The records that its commit deleted come back, then its batches are undone, the last one first: records get their earlier values and batch ids, and created ones are deleted. Records that changed since are reported and left alone; a dry run checks each operation by itself. An open session is refused. ${UNDO_IN_PIECES}`,
  query: [DRY_RUN],
  body: { ...json.bodyOf(undoSyncBody, { after: '1042.0198c1f2-0000-7000-8000-000000000001' }), optional: true },
  answer: json.one('UndoResult', 'Undone, except for the reported records.'),
  honours: ['idempotency-key'],
  errors: [409],
  handle: undoHandler(undoSync),
} as const;

type Asked = Pick<Call, 'req' | 'query' | 'path'> & { readonly caller: Caller };

/** The table's URL, taken from a request for its syncs. */
function tableUrlOf(api: Api, { req }: Asked): string {
  const url = requestUrl(req, api.config);
  return url.slice(0, url.lastIndexOf('/syncs'));
}

/** @throws HttpError 400; NotSupportedError */
export async function syncsReply(api: Api, asked: Asked, assetType: AssetType): Promise<Reply> {
  refuseMasterData(assetType, 'synchronized');
  const { cursor } = parseQuery(syncsQuery, asked.query);
  const table = { tenant: asked.caller.tenant, table: assetType.name };
  const budget: Budget = { entries: MAX_SYNC_EVENTS };
  const found: (SyncSession & { readonly work: SyncWork | undefined })[] = [];
  const before = cursor === undefined ? undefined : Number(cursor);
  const find = async (cancellation: Cancellation): Promise<boolean> => {
    for await (const session of syncSessions(api.rows, table, before, cancellation)) {
      if (found.length === MAX_SYNCS) return true;
      const work = await workOf(api.rows, table, session, budget, cancellation);
      if (work === undefined && found.length > 0) return true;
      found.push({ ...session, work });
    }
    return false;
  };
  const hasMore = await inTurn(api, asked, find);
  const next = hasMore ? `${requestUrl(asked.req, api.config)}?cursor=${found.at(-1)?.revision}` : null;
  return { body: JSON.stringify({ data: await shown(api, asked, found), links: { next } }) };
}

/** @throws NotFoundError; NotSupportedError */
export async function syncReply(api: Api, asked: Asked, assetType: AssetType): Promise<Reply> {
  refuseMasterData(assetType, 'synchronized');
  const table = { tenant: asked.caller.tenant, table: assetType.name };
  const find = async (cancellation: Cancellation) => {
    const session = await requireSync(api.rows, table, asked.path.id, cancellation);
    return { ...session, work: await workOf(api.rows, table, session, { entries: MAX_SYNC_EVENTS }, cancellation) };
  };
  const [sync] = await shown(api, asked, [await inTurn(api, asked, find)]);
  return dataReply(sync);
}

const inTurn = <Found>(api: Api, { req }: Asked, find: (cancellation: Cancellation) => Promise<Found>) =>
  api.lists.run({
    context: req.context,
    advice: () => "Ask for the table's operations, by time.",
    find,
  });

async function shown(
  api: Api,
  asked: Asked,
  found: readonly (SyncSession & { readonly work: SyncWork | undefined })[],
): Promise<readonly unknown[]> {
  const tenant = tenantOf(api.commands, asked.caller.tenant);
  const actors = found.map(({ actor }) => actor);
  const showActor = await actorsShown(api.commands, tenant, actors, asked.req.context.deadline);
  const [now, tableUrl] = [api.commands.now(), tableUrlOf(api, asked)];
  return found.map((sync) => syncView.show({ ...sync, now, tableUrl, showActor }));
}

export const SYNC_ID = { ...pathText('sync_id'), example: 'sync-session-0198c1f2-0000-7000-8000-000000000001' };

export const syncs: Resource = {
  tag: 'assets',
  pathParameters: { id: SYNC_ID },
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
        differences: { ...json.listOf(json.ref('Difference')), maxItems: MAX_DIFFERENCES },
      },
      required: ['message', 'deleted'],
      examples: [{ message: 'Sync committed: 12 records were deleted.', deleted: 12, operation_id: '1042' }],
    },
  },
  operations: {
    'GET /:table/syncs': {
      id: 'listSyncs',
      ...syncsList,
      allow: 'read',
      isOffered: isReferenceData,
      handle: (api, call) => syncsReply(api, call, call.assetType),
    },
    'GET /:table/syncs/:id': {
      id: 'getSync',
      ...oneSync,
      allow: 'read',
      isOffered: isReferenceData,
      handle: (api, call) => syncReply(api, call, call.assetType),
    },
    'POST /:table/syncs/:id/undo': {
      id: 'undoSync',
      ...undoingSync,
      allow: 'write:reference_data',
      isOffered: isReferenceData,
    },
    'POST /:table/syncs': {
      id: 'startSync',
      ...startingSync,
      allow: 'write:reference_data',
      isOffered: isReferenceData,
      handle: startReply,
    },
    'POST /:table/syncs/:id/commit': {
      id: 'commitSync',
      ...committingSync,
      allow: 'write:reference_data',
      isOffered: isReferenceData,
      handle: commitReply,
    },
  },
};
