/** Operations on Reference Data: batches, clean-ups and undos; and undoing them. */
import { z } from 'zod';
import { type Caller, NotSupportedError } from '../../commands/context.js';
import { type Once, once } from '../../commands/idempotency.js';
import { type UndoResult, undoBody, undoneBefore, undoOperation } from '../../commands/referenceTables/undo.js';
import { tenantOf } from '../../commands/tables.js';
import { MAX_ACTIVITY_ROWS, MAX_RECORDS, MAX_SHORT_PAGE, MAX_STRING_LENGTH } from '../../domain/limits.js';
import type { LeftAlone } from '../../domain/referenceTable/undo.js';
import { type ActivityEntry, activityPage, batchIdsOf, countsOf, OPERATIONS } from '../../queries/activity.js';
import { cancellable, where } from '../../queries/asking.js';
import type { Cancellation } from '../../supervision/cancellation.js';
import { namedActor, type ShownActor, shownActor } from '../actors.js';
import { DRY_RUN, isDryRun, keyOfChange } from '../changeOptions.js';
import type { Api } from '../deps.js';
import * as json from '../openapi/schema.js';
import { type Call, dataReply, pathText, type Reply, type Resource } from '../routes/operation.js';
import { parametersIn, parseQuery } from '../routes/query.js';
import { exactText, period, revisionCursor } from './listQuery.js';
import { linkedReply } from './pages.js';

type ShownOperation = Omit<ActivityEntry, 'actor'> & { readonly actor: ShownActor };

/** Kinds of activity without their prefix. */
const KINDS = ['batch', 'clean_up', 'undo'] as const;
const countOf = (name: keyof ReturnType<typeof countsOf>) => (entry: ShownOperation) => countsOf(entry)[name];

const operationView = json.view<ShownOperation>({
  operation_id: [json.text, ({ revision }) => String(revision)],
  kind: [json.oneOf(KINDS), ({ kind }) => kind.replace('table.', '')],
  at: json.timestamp,
  actor: json.ref('Actor'),
  batch_ids: [json.listOf(json.text), batchIdsOf],
  created: [json.count, countOf('created')],
  updated: [json.count, countOf('updated')],
  seen: [{ ...json.count, description: 'Unchanged records, sent again with another batch_id.' }, countOf('seen')],
  deleted: [json.count, countOf('deleted')],
  undoes: [
    { ...json.nullableText, description: 'Of an undo: the batch or the clean-up.' },
    ({ details }) => (typeof details?.undoes === 'string' ? details.undoes : null),
  ],
});

const operationsQuery = z.strictObject({
  cursor: revisionCursor,
  ...period,
  actor: exactText('By this client, user or operator: the id or the whole name.'),
  kind: z
    .enum(KINDS, `must be one of ${KINDS.join(', ')}.`)
    .optional()
    .describe('Of this kind.'),
  batch_id: z
    .string()
    .max(MAX_STRING_LENGTH, `must have at most ${MAX_STRING_LENGTH} characters.`)
    .optional()
    .describe('With this batch id, such as that of a sync.'),
});

const leftAlone: json.JsonSchema = {
  type: 'object',
  properties: {
    id: json.uuid,
    key: { ...json.nullableText, description: 'null if it has been deleted.' },
    reason: {
      ...json.oneOf(['changed', 'key_taken', 'deleted']),
      description:
        'changed: it has other values by now. key_taken: another record has its key. deleted: since the batch.',
    },
    fields: { ...json.listOf(json.text), description: 'Fields with other values.' },
    taken_by: { ...json.uuid, description: 'Id of the record that has the key.' },
  },
  required: ['id', 'key', 'reason'],
};

const showLeft = (left: LeftAlone) =>
  left.reason === 'key_taken' ? { id: left.id, key: left.key, reason: left.reason, taken_by: left.takenBy } : left;

const counts = {
  message: json.text,
  restored: json.count,
  deleted: { ...json.count, description: 'Of a batch: the records that it created.' },
  unchanged: { ...json.count, description: 'They are there as they were.' },
  left: {
    ...json.listOf(json.ref('LeftAlone')),
    maxItems: MAX_RECORDS,
    description: 'The first of them.',
  },
  left_in_all: { ...json.count, description: 'How many were left alone.' },
  unavailable: {
    ...json.orNull(json.count),
    description:
      'A later clean-up has deleted the same id or key: it can be undone first. null where `after` was sent.',
  },
  remaining: {
    ...json.orNull(json.count),
    description: 'Records that this request did not reach; null if they are too many to count.',
  },
  next: {
    ...json.orNull(json.text),
    description: 'The `after` of the next request; null: all is done.',
  },
};

/** Schemas of the answer to an undo. */
const undoSchemas: json.Schemas = {
  LeftAlone: leftAlone,
  UndoResult: {
    type: 'object',
    properties: { ...counts, dry_run: { type: 'boolean', const: true } },
    required: Object.keys(counts),
  },
};

export const UNDO_IN_PIECES = `A request undoes one batch, or ${MAX_RECORDS} records of a clean-up: where there is more, \`next\` is the \`after\` of another request. A repetition does nothing twice.`;

function undoReply(undone: Once<UndoResult>, dryRun: boolean): Reply {
  const { position, restored, deleted, unchanged, left, leftInAll, unavailable = null, remaining = null } = undone;
  const { next = null, isReplayed } = undone;
  const gone = deleted === 0 ? '' : `, ${deleted} that it had created`;
  const more = next === null ? '' : ` ${remaining ?? 'More'} remain: send it again with {"after": "${next}"}.`;
  const message = dryRun
    ? `Dry run: ${restored} records would be brought back${gone && `${gone} deleted`}; nothing was written.${more}`
    : `Undo: ${restored} records are back${gone && `${gone} are deleted`}.${more}`;
  const counts = { message, restored, deleted, unchanged, left: left.map(showLeft), left_in_all: leftInAll };
  const result = { ...counts, unavailable, remaining, next, ...(dryRun ? { dry_run: true } : {}) };
  return dataReply(result, { written: position, isReplayed });
}

/** An undo of the path's operation or sync: as a dry run, once for an Idempotency-Key, or plainly. */
export const undoing = (undo: typeof undoOperation) =>
  ({
    work: 'costly',
    query: [DRY_RUN],
    body: { ...json.bodyOf(undoBody, { after: '1042.0198c1f2-0000-7000-8000-000000000001' }), optional: true },
    answer: json.one('UndoResult', 'Undone, except for the reported records.'),
    honours: ['idempotency-key'],
    allow: 'write:reference_data',
    tables: 'ReferenceTable',
    async handle({ commands }: Api, { req, caller, assetType, path, query, body }: Call): Promise<Reply> {
      const dryRun = isDryRun(query);
      const key = keyOfChange(req, dryRun);
      const run = (own: Caller) => undo(commands, own, assetType, path.id, body, { dryRun });
      const request = { table: assetType.name, key, body: ['undo', path.id, body ?? {}] };
      return undoReply(await once(commands, caller, request, run, undoneBefore), dryRun);
    },
  }) as const;

/** @throws HttpError 400; NotSupportedError */
async function operationsReply(
  api: Api,
  { req, caller, assetType, query }: Call,
  cancellation: Cancellation,
): Promise<Reply> {
  const { commands, rows } = api;
  const { name: table, supportingData } = assetType;
  if (!supportingData) {
    throw new NotSupportedError(
      `${table} is Master Data: it has no batches and no clean-ups.`,
      'What happened to an order is at …/assets/{asset_id}/history.',
    );
  }
  const { cursor, from, to, actor, kind, batch_id: batchId } = parseQuery(operationsQuery, query);
  const tenant = tenantOf(commands, caller.tenant);
  const named = actor === undefined ? undefined : [actor, namedActor(tenant, actor)].map((text) => text.toLowerCase());
  const isWanted = (entry: ActivityEntry): boolean =>
    (batchId === undefined || batchIdsOf(entry).includes(batchId)) &&
    (named === undefined ||
      [entry.actor.id, entry.actor.name].some((text) => text !== undefined && named.includes(text.toLowerCase())));
  const kinds = kind === undefined ? OPERATIONS : [`table.${kind}`];
  const conditions = where({ table, kind: kinds, created_at: { gte: from, lte: to } });
  const before = cursor === undefined ? undefined : { position: Number(cursor), revision: 0 };
  const asked = { conditions, before, limit: MAX_SHORT_PAGE, isWanted };
  const { entries, next } = await activityPage(cancellable(rows, cancellation), caller.tenant, asked);
  const data = entries.map((entry) =>
    operationView.show({ ...entry, actor: shownActor(commands, tenant, entry.actor) }),
  );
  return linkedReply(api, { req, query }, data, next?.position);
}

export const operations: Resource = {
  tag: 'assets',
  pathParameters: { id: { ...pathText('operation_id'), example: '1042' } },
  schemas: {
    TableOperation: operationView.schema,
    ...undoSchemas,
  },
  operations: {
    'GET /:table/operations': {
      id: 'listOperations',
      summary: 'Batches, clean-ups and undos, the newest first',
      description: `Actor, time and numbers of records. A page has at most ${MAX_SHORT_PAGE}, and looks at ${MAX_ACTIVITY_ROWS} changes of the table at most: it may have fewer, or none, and still a link to the next.`,
      query: parametersIn(operationsQuery),
      answer: json.linkedPage('TableOperation', MAX_SHORT_PAGE),
      work: 'list',
      allow: 'read',
      tables: 'ReferenceTable',
      handle: operationsReply,
    },
    'POST /:table/operations/:id/undo': {
      id: 'undoOperation',
      ...undoing(undoOperation),
      summary: 'Undo a clean-up or a batch',
      description: `The undo of a clean-up brings back the deleted records, with their ids and values; created_at is new. The undo of a batch brings back the earlier values and batch ids, and deletes the records that the batch created. Records that changed since are reported and left alone. ${UNDO_IN_PIECES}`,
    },
  },
};
