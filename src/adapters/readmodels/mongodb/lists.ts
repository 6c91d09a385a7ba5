/** Lists of a table's records: by page, and behind a record in the order of creation. */
import type { FindCursor } from 'mongodb';
import type {
  CreationKey,
  Filter,
  ListBehind,
  RecordPage,
  RecordQuery,
  RecordsBehind,
} from '../../../ports/readModels.js';
import { AnswerSize, PageRoom, pageText } from '../shared/answerSize.js';
import { storedId } from '../shared/recordText.js';
import type { whileWanted } from './connection.js';
import { filterOf, leftOutIn, type RecordFilter, sortOf } from './filters.js';
import { recordJson, WHOLE_RECORD, type WholeRecord } from './recordDocument.js';
import type { ReadTable } from './tableReader.js';

type Wanted = ReturnType<typeof whileWanted>;

/** A page that starts after this many records is found in the index alone if possible; its records are read afterwards. */
const FAR = 1_000;

/**
 * Records that are found by one index and sorted by another are sorted in the server's memory, up to 100 MB, with their
 * n-grams. Servers before 6.0 refuse more, unless they may use files.
 */
const ANY_SORT = { allowDiskUse: true } as const;

/** @throws AnswerTooLargeError before the rest of the page is read from the server */
export async function listRecords(table: ReadTable, query: RecordQuery, wanted: Wanted): Promise<RecordPage> {
  const { entry, records, layout, text } = table;
  const filter = await tableFilter(table, query.filters, wanted);
  const sort = sortOf(query.sort, layout);
  const { offset: skip, limit } = query;
  const isAll = query.filters.length === 0;
  if (filter === undefined || (isAll && skip >= entry.count)) {
    return { records: '', total: filter === undefined ? 0 : entry.count };
  }
  const options = { ...wanted, ...ANY_SORT, sort, batchSize: limit, projection: WHOLE_RECORD };
  const find = async (): Promise<FindCursor<WholeRecord>> => {
    if (skip < FAR || !isInIndexOf(sort, filter)) {
      return records.find<WholeRecord>(filter, { ...options, skip, limit });
    }
    const page = await records.find(filter, { ...options, skip, limit, projection: { _id: 1 } }).toArray();
    return records.find<WholeRecord>({ _id: { $in: page.map(({ _id }) => _id) } }, options);
  };
  const size = new AnswerSize('page');
  const page: string[] = [];
  for await (const record of await find()) page.push(size.add(recordJson(text, record)));
  const total = isAll ? entry.count : await totalOf(records, filter, query, page.length, wanted);
  return { records: pageText(page), total };
}

/** @returns undefined if nothing can match @throws ReadModelsWithheldError */
async function tableFilter(
  { layout, hasAny }: ReadTable,
  filters: readonly Filter[],
  wanted: Wanted,
): Promise<RecordFilter | undefined> {
  const marks = leftOutIn(filters, layout);
  const isLeftOut = marks.length > 0 && (await hasAny({ g: { $in: [...marks] } }, wanted));
  return filterOf(filters, layout, isLeftOut ? 'some' : 'none');
}

/** Whether the index of this order has all that the filter looks at. */
const isInIndexOf = (sort: Record<string, 1 | -1>, filter: RecordFilter): boolean =>
  keysIn(filter).every((key) => key in sort);

const keysIn = (filter: RecordFilter): readonly string[] =>
  Object.entries(filter).flatMap(([key, value]) =>
    key.startsWith('$') && Array.isArray(value) ? value.flatMap(keysIn) : [key],
  );

/** A page that is not full is the last one, which tells the total. */
async function totalOf(
  records: ReadTable['records'],
  filter: RecordFilter,
  { offset, limit }: RecordQuery,
  found: number,
  wanted: Wanted,
): Promise<number> {
  const isLast = found < limit && (found > 0 || offset === 0);
  return isLast ? offset + found : records.countDocuments(filter, wanted);
}

/** @throws ReadModelsWithheldError */
export async function recordsBehind(
  table: ReadTable,
  { filters, direction, behind, limit }: ListBehind,
  wanted: Wanted,
): Promise<RecordsBehind> {
  const { records, text } = table;
  const filter = await tableFilter(table, filters, wanted);
  if (filter === undefined) return { records: '' };
  const order = direction === 'asc' ? 1 : -1;
  const options = {
    ...wanted,
    ...ANY_SORT,
    sort: { c: order, _id: order },
    limit: limit + 1,
    batchSize: limit + 1,
    projection: WHOLE_RECORD,
  } as const;
  const room = new PageRoom();
  const page: string[] = [];
  let last: CreationKey | undefined;
  for await (const record of records.find<WholeRecord>(both(filter, rangeOf(direction, behind)), options)) {
    const json = recordJson(text, record);
    if (page.length === limit || !room.take(json)) return { records: pageText(page), next: last };
    page.push(json);
    last = { createdAt: record.c, id: record._id };
  }
  return { records: pageText(page) };
}

/** The first condition bounds the index; the second leaves out earlier records of the same time. */
function rangeOf(direction: ListBehind['direction'], behind: CreationKey | undefined): RecordFilter {
  if (behind === undefined) return {};
  const { createdAt } = behind;
  const id = storedId(behind.id) ?? '';
  return direction === 'asc'
    ? { c: { $gte: createdAt }, $or: [{ c: { $gt: createdAt } }, { _id: { $gt: id } }] }
    : { c: { $lte: createdAt }, $or: [{ c: { $lt: createdAt } }, { _id: { $lt: id } }] };
}

const both = (filter: RecordFilter, range: RecordFilter): RecordFilter => {
  const parts = [filter, range].filter((part) => Object.keys(part).length > 0);
  return parts.length < 2 ? (parts[0] ?? {}) : { $and: parts };
};
