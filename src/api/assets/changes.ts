/**
 * Changes of Reference Data after a cursor, for clients that keep a copy of a table. The events say which records changed,
 * the read models say what they are now. A client that applies all of them has the table's current state. The service keeps
 * nothing for a client.
 */
import { z } from 'zod';
import { NotSupportedError } from '../../commands/context.js';
import { eventAt, type StreamReads, streamPages } from '../../commands/streamPages.js';
import { KEPT_DELETED_DAYS, MAX_CHANGE_EVENTS, MAX_CHANGES } from '../../domain/limits.js';
import { changedIds } from '../../domain/referenceTable/changes.js';
import { forgottenBefore } from '../../domain/referenceTable/deletionHistory.js';
import type { ReferenceTableEvent } from '../../domain/referenceTable/events.js';
import { tableStream } from '../../domain/streams.js';
import type { RecordedEvent, Revision } from '../../ports/eventStore.js';
import type { RecordJson, RecordReads, TableRef } from '../../ports/readModels.js';
import type { Cancellation } from '../../supervision/cancellation.js';
import { encodeWithPauses } from '../../supervision/waiting.js';
import { HttpError } from '../errors.js';
import * as json from '../openapi/schema.js';
import type { Reply, Resource } from '../routes/operation.js';
import { isReferenceData } from '../routes/operation.js';
import { parametersIn, parseQuery } from '../routes/query.js';
import { requestUrl } from '../tenantHost.js';
import { envelope, fromCursor, queryHash, toCursor } from './pages.js';

const changesQuery = z.strictObject({
  after: z
    .string()
    .default('')
    .describe('meta.next_cursor of the previous answer. Left out: no changes, and the current cursor.'),
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
    `The deletions since this cursor are no longer known: a clean-up after it is more than ${KEPT_DELETED_DAYS} days old, or the event log was put back to an older copy. Begin again: ask for changes without after, keep that cursor, read the whole list with cursor= into an empty copy, and go on from the cursor.`,
  );

async function reply(url: string, mark: string, { changed, next, hasMore }: Changes): Promise<Reply> {
  const cursor = cursorOf(mark, next);
  const links = { next: `${url}?after=${cursor}` };
  const data = await encodeWithPauses(changeTexts(changed));
  return { body: envelope(data, links, { next_cursor: cursor, has_more: hasMore }) };
}

/** Records are JSON text already. */
function* changeTexts(changed: Changes['changed']): Generator<string> {
  for (const [index, { id, record }] of changed.entries()) {
    yield `${index === 0 ? '' : ','}{"id":"${id}","deleted":${record === null},"record":${record}}`;
  }
}

export const changes: Resource = {
  tag: 'assets',
  schemas: {
    ChangesMeta: json.closedObject({
      next_cursor: json.text,
      has_more: { ...json.truth, description: 'There are more: ask again at once.' },
    }),
    ChangesLinks: json.closedObject({ next: json.link }),
  },
  operations: {
    'GET /:table/changes': {
      id: 'listChanges',
      summary: 'The changes since a cursor',
      description: `Each record that was created, changed or deleted since, once, in its current state. A client that applies all of them to a copy of the table (stores the record under its id, or removes it) has the table's current state. To begin, ask without \`after\`, keep the cursor, read the whole list with \`cursor=\` into an empty copy, then go on from the cursor. A page has at most ${MAX_CHANGES} records, and may have none and still \`has_more\`. A cursor is valid for ${KEPT_DELETED_DAYS} days, and longer if no clean-up after it is older than that.`,
      allow: 'read',
      isOffered: isReferenceData,
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
            maxItems: MAX_CHANGES,
          },
          links: json.ref('ChangesLinks'),
          meta: json.ref('ChangesMeta'),
        }),
      ),
      answers: {
        410: json.answer('The cursor is no longer valid.', json.ref('Error'), {
          message: 'Gone.',
          error: gone().reason,
        }),
      },
      async handle({ commands: { eventStore, now }, readModels, config, lists }, { req, caller, assetType, query }) {
        const { name, supportingData } = assetType;
        if (!supportingData) {
          throw new NotSupportedError(
            `${name} is Master Data: it has no list of changes.`,
            'Changes of orders come by webhooks.',
          );
        }
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

/** A position in the changes of a table. */
export type FeedCursor = {
  /** Revision of the last event that was read; -1 before the first. */
  readonly revision: Revision;
  /** Identifies the log, so that a replaced one is noticed; '' before the first event. */
  readonly eventId: string;
  /**
   * Progress within the event: how many of the ids it names were read, and the last of those it cleaned up. Undefined
   * if it was read entirely.
   */
  readonly within?: { readonly named: number; readonly cleanedUp: string } | undefined;
};

export type Changes = {
  /** Each id once. A deleted record is null. */
  readonly changed: readonly { readonly id: string; readonly record: RecordJson | null }[];
  readonly next: FeedCursor;
  /** More changes are available now. */
  readonly hasMore: boolean;
};

export type FeedDeps = {
  /** ISO 8601. */
  readonly now: () => string;
  readonly eventStore: StreamReads;
  readonly readModels: Pick<RecordReads, 'byIds' | 'cleanedUpIds'>;
};

type Feed = FeedDeps & { readonly table: TableRef; readonly cancellation: Cancellation };

/** The cursor of the table's current state. */
export async function currentCursor(
  { eventStore, readModels }: Pick<FeedDeps, 'eventStore' | 'readModels'>,
  table: TableRef,
  cancellation?: Cancellation,
): Promise<FeedCursor> {
  const { revision } = await readModels.byIds(table, [], cancellation);
  const event = await eventAt(eventStore, streamOf(table), revision);
  return event === undefined ? BEFORE_ALL : { revision, eventId: event.id };
}

const BEFORE_ALL: FeedCursor = { revision: -1, eventId: '' };

const streamOf = ({ tenant, table }: TableRef): string => tableStream(tenant, table);

/** @returns undefined if the log does not have the cursor's event, or deletions after it are no longer known */
export async function changesAfter(feed: Feed, from: FeedCursor): Promise<Changes | undefined> {
  if (!(await holds(feed, from))) return undefined;
  const { table, readModels, cancellation } = feed;
  const { revision: shown } = await readModels.byIds(table, [], cancellation);
  /** For each id, the cursor before it. */
  const found = new Map<string, FeedCursor>();
  let end = from;
  for await (const step of stepsAfter(feed, from, shown)) {
    if (step === 'forgotten') return undefined;
    const { id, place } = step;
    if (id !== undefined && !found.has(id)) {
      if (found.size === MAX_CHANGES) break;
      found.set(id, end);
    }
    end = place;
  }
  const ids = [...found.keys()];
  const { records } = ids.length === 0 ? { records: [] } : await readModels.byIds(table, ids, cancellation);
  const next = found.get(ids[records.length] ?? '') ?? end;
  const changed = records.map((record, at) => ({ id: ids[at] ?? '', record }));
  return { changed, next, hasMore: next.within !== undefined || next.revision < shown };
}

async function holds({ eventStore, table }: Feed, { revision, eventId }: FeedCursor): Promise<boolean> {
  if (revision < 0) return true;
  const event = await eventAt(eventStore, streamOf(table), revision);
  return event?.id === eventId;
}

/** `place` is the cursor after this step. */
type Step = { readonly id?: string; readonly place: FeedCursor } | 'forgotten';

/** Changes after a cursor, up to a revision or the limit of one page. */
async function* stepsAfter(feed: Feed, from: FeedCursor, shown: Revision): AsyncGenerator<Step> {
  const { eventStore, table, cancellation } = feed;
  const first = from.within === undefined ? from.revision + 1 : from.revision;
  const last = Math.min(shown, first + MAX_CHANGE_EVENTS - 1);
  for await (const events of streamPages(eventStore, streamOf(table), { from: first, to: last, cancellation })) {
    for (const event of events) {
      yield* stepsWithin(feed, event, event.revision === from.revision ? from.within : undefined);
    }
  }
}

async function* stepsWithin(
  { readModels, table, cancellation, now }: Feed,
  event: RecordedEvent,
  { named, cleanedUp }: NonNullable<FeedCursor['within']> = { named: 0, cleanedUp: '' },
): AsyncGenerator<Step> {
  const { revision, id: eventId } = event;
  const { ids, isCleanUp } = changedIds({ type: event.type, data: event.data } as ReferenceTableEvent);
  for (const [at, id] of ids.entries()) {
    if (at >= named) yield { id, place: { revision, eventId, within: { named: at + 1, cleanedUp: '' } } };
  }
  if (isCleanUp && event.metadata.occurredAt < forgottenBefore(now())) yield 'forgotten';
  let behind = cleanedUp;
  for (let mayBeMore = isCleanUp; mayBeMore; ) {
    const page = { behind, limit: MAX_CHANGES };
    const gone = await readModels.cleanedUpIds(table, revision, page, cancellation);
    for (const id of gone) yield { id, place: { revision, eventId, within: { named: ids.length, cleanedUp: id } } };
    behind = gone.at(-1) ?? behind;
    mayBeMore = gone.length === MAX_CHANGES;
  }
  yield { place: { revision, eventId } };
}
