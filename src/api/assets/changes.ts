/** Changes of Reference Data, for clients that keep a copy of a table. */
import { z } from 'zod';
import { NotSupportedError } from '../../commands/context.js';
import { KEPT_DELETED_DAYS, MAX_CHANGES } from '../../domain/limits.js';
import { HttpError } from '../errors.js';
import * as json from '../openapi/schema.js';
import type { Reply, Resource } from '../routes/operation.js';
import { parametersIn, parseQuery } from '../routes/query.js';
import { requestUrl } from '../tenantHost.js';
import { type Changes, changesAfter, currentCursor, type FeedCursor } from './changeFeed.js';
import { fromCursor, queryHash, toCursor } from './cursors.js';

const changesQuery = z.strictObject({
  after: z
    .string()
    .default('')
    .describe('meta.next_cursor of the answer before. Left out: no changes, and the cursor of this moment.'),
});

const place = z.tuple([z.int().min(-1), z.string(), z.int().min(0).nullable(), z.string()]);

function cursorIn(cursor: string, mark: string): FeedCursor {
  const [revision, eventId, named, cleanedUp] = fromCursor('after', cursor, mark, place);
  return { revision, eventId, ...(named === null ? {} : { within: { named, cleanedUp } }) };
}

const cursorOf = (mark: string, { revision, eventId, within }: FeedCursor): string =>
  toCursor(mark, [revision, eventId, within?.named ?? null, within?.cleanedUp ?? '']);

const gone = (): HttpError =>
  new HttpError(
    410,
    'Gone.',
    `What was deleted since is not known any more: a clean-up behind this place is more than ${KEPT_DELETED_DAYS} days old, or the event log was put back to an older copy. Begin anew: ask for changes without after, keep that cursor, read the whole list with cursor= into an empty copy, and go on from the cursor.`,
  );

/** Records are JSON text already. */
function reply(url: string, mark: string, { changed, next, hasMore }: Changes): Reply {
  const data = changed.map(({ id, record }) => `{"id":"${id}","deleted":${record === null},"record":${record}}`);
  const cursor = cursorOf(mark, next);
  const links = JSON.stringify({ next: `${url}?after=${cursor}` });
  const meta = JSON.stringify({ next_cursor: cursor, has_more: hasMore });
  return { body: `{"data":[${data.join()}],"links":${links},"meta":${meta}}` };
}

export const changes: Resource = {
  tag: '',
  schemas: {
    ChangesMeta: json.closedObject({
      next_cursor: json.text,
      has_more: { ...json.truth, description: 'There is more already: ask again at once.' },
    }),
    ChangesLinks: json.closedObject({ next: json.link }),
  },
  operations: {
    'GET /:table/changes': {
      id: 'listChangesOf',
      summary: 'What has changed since a cursor',
      description: `Each record that was created, changed or deleted since, once, as it is now: whoever applies all of it to a copy of the table (put the record under its id, or remove it) has what the table has. To begin, ask without \`after\`, keep the cursor, read the whole list with \`cursor=\` into an empty copy, then go on from the cursor. A page has at most ${MAX_CHANGES} records, and may have none and yet \`has_more\`. A cursor holds for ${KEPT_DELETED_DAYS} days, and as long as no clean-up behind it is older than that.`,
      allow: 'read',
      isOffered: ({ supportingData }) => supportingData,
      query: parametersIn(changesQuery),
      answer: (assetType) =>
        json.answer(
          'A page of changes.',
          json.closedObject({
            data: {
              ...json.listOf(
                json.closedObject({
                  id: json.uuid,
                  deleted: json.truth,
                  record: { ...json.orNull(json.tableRef('record', assetType)), description: 'null: it is deleted.' },
                }),
              ),
              maxItems: MAX_CHANGES,
            },
            links: json.ref('ChangesLinks'),
            meta: json.ref('ChangesMeta'),
          }),
        ),
      answers: {
        410: json.answer('The cursor does not hold any more.', json.ref('Error'), {
          message: 'Gone.',
          error: gone().reason,
        }),
      },
      async handle({ commands: { eventStore, now }, readModels, config, lists }, { req, caller, assetType, query }) {
        const { name, supportingData } = assetType;
        if (!supportingData) throw new NotSupportedError(`${name} is Master Data: changes of orders come by webhooks.`);
        const { tenant } = caller;
        const { after } = parseQuery(changesQuery, query);
        const mark = queryHash('changes', tenant, name);
        const table = { tenant, table: name };
        const from = after === '' ? undefined : cursorIn(after, mark);
        const changes = await lists.run({
          tenant,
          context: req.context,
          advice: () => 'Ask again.',
          find: async (cancellation) => {
            const feed = { eventStore, readModels, table, cancellation, now };
            if (from !== undefined) return changesAfter(feed, from);
            return { changed: [], next: await currentCursor(feed, table, cancellation), hasMore: false };
          },
        });
        if (changes === undefined) throw gone();
        return reply(requestUrl(req, config), mark, changes);
      },
    },
  },
};
