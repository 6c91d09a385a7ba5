/** Entries of the activity as documents, and their pages. */
import type { Filter, FindOptions } from 'mongodb';
import { MAX_ACTIVITY_SEARCHED } from '../../../domain/limits.js';
import type { ActivityEntry, ActivityQuery } from '../../../ports/activity.js';
import { MismatchError } from '../../../ports/readModelWriter.js';
import {
  type ActivityKey,
  activityText,
  columnsOf,
  type FoundActivity,
  keysOfFilters,
  type PlaceKey,
  placeKey,
} from '../shared/activity.js';
import { instant } from '../shared/deliveryLog.js';
import { type ActivityDocument, activityOf } from './catalog.js';
import type { CatalogWriter } from './catalogWriter.js';
import type { LaneDb } from './connection.js';
import type { Part, WriteOfOne } from './part.js';

const KEYS = {
  correlation: 'x',
  subject: 's',
  orderId: 'o',
  kind: 'k',
  actor: 'c',
  tableName: 't',
} as const satisfies {
  readonly [key in ActivityKey]: keyof ActivityDocument;
};

const DIGITS = 16;
const padded = (number: number): string => String(number).padStart(DIGITS, '0');

/** The values stored beside an entry. */
export function keysOf(entry: ActivityEntry): Omit<ActivityDocument, 'e'> {
  const { at: a, position: p, revision: n, ...columns } = columnsOf(entry);
  const { correlation: x, subject: s, orderId: o, kind: k, actor: c, tableName: t } = columns;
  return { _id: `${padded(p)}.${padded(n)}`, a, p, n, x, s, o, k, c, t };
}

/** Existing entries stay as they are. */
export async function writeActivity(
  db: LaneDb,
  catalog: CatalogWriter,
  tenant: string,
  entries: readonly ActivityEntry[],
): Promise<void> {
  const { entry: activity } = await catalog.ofTenant(db, 'activity', tenant);
  const put = entries.map((entry): ActivityDocument => ({ ...keysOf(entry), e: activityText(entry) }));
  const writes = put.map(({ _id, ...$setOnInsert }): WriteOfOne<ActivityDocument> => {
    return { updateOne: { filter: { _id }, update: { $setOnInsert }, upsert: true } };
  });
  await activityOf(db, activity).bulkWrite(writes, {
    ordered: false,
    refused(_id, options) {
      const position = put.find((entry) => entry._id === _id)?.p;
      return new MismatchError({ tenant, projection: 'activity', position, refused: `entry ${_id}` }, options);
    },
  });
}

const NEWEST_FIRST = { a: -1, p: -1, n: -1 } as const;

/** In the order of time, position and revision. */
const beyond = ({ at: a, position: p, revision: n }: PlaceKey, to: '$lt' | '$gt') => ({
  $or: [{ a: { [to]: a } }, { a, p: { [to]: p } }, { a, p, n: { [to]: n } }],
});

/** The entries of a page, newest first, each as JSON text. */
export async function readActivity(
  entries: Part<ActivityDocument>,
  query: ActivityQuery,
  whileWanted: FindOptions,
): Promise<FoundActivity> {
  const [first, ...others] = keysOfFilters(query.filters);
  const at = {
    ...(query.from === undefined ? {} : { $gte: instant(query.from) }),
    ...(query.to === undefined ? {} : { $lte: instant(query.to) }),
    // Bounds of the index, which the condition on the whole place has not.
    ...(query.before === undefined ? {} : { $lte: Math.min(instant(query.before.at), instant(query.to ?? LATEST)) }),
  };
  const range: Filter<ActivityDocument>[] = [
    ...(first === undefined ? [] : [{ [KEYS[first[0]]]: first[1] }]),
    ...(Object.keys(at).length === 0 ? [] : [{ a: at }]),
    ...(query.before === undefined ? [] : [beyond(placeKey(query.before), '$lt')]),
  ];
  const read = (conditions: readonly Filter<ActivityDocument>[], limit: number, skip = 0) =>
    entries
      .find(conditions.length === 0 ? {} : { $and: [...conditions] }, {
        ...whileWanted,
        sort: NEWEST_FIRST,
        projection: { e: 1, a: 1, p: 1, n: 1 },
        limit,
        skip,
        batchSize: limit,
      })
      .toArray();
  // One filter, or none: all entries of the index pass it.
  const [end] = others.length === 0 ? [] : await read(range, 1, MAX_ACTIVITY_SEARCHED - 1);
  const rest = others.map(([key, value]): Filter<ActivityDocument> => ({ [KEYS[key]]: value }));
  const notBehind =
    end === undefined
      ? []
      : [{ $or: [{ _id: end._id }, beyond({ at: end.a, position: end.p, revision: end.n }, '$gt')] }];
  const found = (await read([...range, ...rest, ...notBehind], query.limit)).map(({ e }) => e);
  return end === undefined || found.length >= query.limit ? { entries: found } : { entries: found, searchedTo: end.e };
}

const LATEST = '9999-12-31T23:59:59.999999Z';
