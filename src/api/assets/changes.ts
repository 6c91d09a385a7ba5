/**
 * Changes of Reference Data after a cursor, for clients that keep a copy of a table. A client that applies all of them has the
 * table's current state. The service keeps nothing for a client.
 */
import { z } from 'zod';
import { NotSupportedError } from '../../commands/context.js';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { ACTIVITY_KINDS } from '../../domain/eventTypes.js';
import { MAX_RECORDS } from '../../domain/limits.js';
import { ACTIVITY } from '../../domain/spaces.js';
import type { SpaceRef } from '../../ports/rowStore.js';
import { entryOf, newestEntry, TABLE_OPERATIONS } from '../../queries/activity.js';
import { cancellable, type Rows, rowText, where } from '../../queries/asking.js';
import { type ChangesPage, changedAt, changesAfter } from '../../queries/past.js';
import type { Api } from '../deps.js';
import { HttpError } from '../errors.js';
import * as json from '../openapi/schema.js';
import { READ, type Reply, type Resource } from '../routes/operation.js';
import { parametersIn, parseQuery } from '../routes/query.js';
import { requestUrl } from '../tenantHost.js';
import { envelope } from './pages.js';

/**
 * A cursor is the id of an event, which tells its position in a log that was copied and notices another log, and the number of
 * the last record at that position, if there are more; or this, before all.
 */
const FROM_THE_FIRST = 'all';
const CURSOR = /^(?:all|([\da-f-]{36})(?:\.(\d{1,15}))?)$/;

const changesQuery = z.strictObject({
  after: z
    .string()
    .regex(CURSOR, 'must be meta.next_cursor of an earlier answer.')
    .optional()
    .describe('meta.next_cursor of the previous answer. Left out: no changes, and the current cursor.'),
});

type Place = ChangesPage['next'];
const BEFORE_ALL: Place = [0, null];

/** @returns undefined if the log has no such event */
async function placeIn({ rows }: Api, tenant: string, cursor: string): Promise<Place | undefined> {
  if (cursor === FROM_THE_FIRST) return BEFORE_ALL;
  const [, id, n] = CURSOR.exec(cursor) ?? [];
  const found = id && (await rows.rows({ tenant, space: ACTIVITY.name }, { ids: [id], keys: [] }));
  const [event] = found ? found.rows.map(entryOf) : [];
  return event && [event.position, n === undefined ? null : Number(n)];
}

/** Behind the table's last event up to the place: all others changed nothing of it. */
async function cursorOf(rows: Rows, { tenant, space }: SpaceRef, [until, n]: Place): Promise<string> {
  const conditions = where({ table: space, kind: OF_RECORDS, position: { lte: until } });
  const last = await newestEntry(rows, tenant, conditions);
  if (last === undefined) return FROM_THE_FIRST;
  return n === null ? last.eventId : `${last.eventId}.${n}`;
}

const OF_RECORDS = ACTIVITY_KINDS.filter((kind) => kind.startsWith('record.') || TABLE_OPERATIONS.includes(kind));

const gone = (): HttpError =>
  new HttpError(
    410,
    'Gone.',
    'The event log has no change of this cursor, as when it was put back to an older copy. Ask without after, as for a new copy of the table.',
  );

/** Records are JSON text already. */
const changeText = ([id, row]: ChangesPage['changed'][number], assetType: AssetType): string =>
  `{"id":"${id}","deleted":${row === undefined},"record":${row === undefined ? null : rowText(row, assetType)}}`;

export const changes: Resource = {
  tag: 'assets',
  operations: {
    'GET /:table/changes': {
      id: 'listChanges',
      summary: 'The changes since a cursor',
      description: `Each record that was created, changed or deleted since, once, in its current state: store it under its id, or remove it. To begin, ask without \`after\`, keep the cursor, read the whole list with \`cursor=\` into an empty copy, then go on from the cursor; after a 410, begin as for a new copy. A page has at most ${MAX_RECORDS} records, maybe none and still \`has_more\`.`,
      allow: READ,
      work: 'list',
      tables: 'ReferenceTable',
      query: parametersIn(changesQuery),
      answer: json.answer(
        'A page of changes.',
        json.closedObject({
          data: {
            ...json.listOf(
              json.closedObject({
                id: json.uuid,
                deleted: json.truth,
                record: { ...json.orNull(json.ref('AnyRecord')), description: 'null: it is deleted.' },
              }),
            ),
            maxItems: MAX_RECORDS,
          },
          links: json.closedObject({ next: json.link }),
          meta: json.closedObject({
            next_cursor: json.text,
            has_more: { ...json.truth, description: 'There are more: ask again at once.' },
          }),
        }),
      ),
      async handle(api, { req, caller, assetType, query }, cancellation): Promise<Reply> {
        const { name, supportingData } = assetType;
        if (!supportingData) {
          throw new NotSupportedError(
            `${name} is Master Data: it has no list of changes.`,
            'Changes of orders come by webhooks.',
          );
        }
        const { tenant } = caller;
        const { after } = parseQuery(changesQuery, query);
        const space = { tenant, space: name };
        const from = after && (await placeIn(api, tenant, after));
        if (after && !from) throw gone();
        const rows = cancellable(api.rows, cancellation);
        const page = from ? await changesAfter(rows, space, from) : undefined;
        const cursor = await cursorOf(rows, space, page?.next ?? [await changedAt(rows, space), null]);
        const data = (page?.changed ?? []).map((each) => changeText(each, assetType)).join();
        const links = { next: `${requestUrl(req, api.config)}?after=${cursor}` };
        return { body: envelope(data, links, { next_cursor: cursor, has_more: page?.hasMore ?? false }) };
      },
    },
  },
};
