/** The records of a table as CSV, page by page: for spreadsheets, and to be changed and imported again. */
import type { Request } from 'express';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { cellOf, csvLine, csvPage } from '../csv.js';
import type { Api } from '../deps.js';
import * as json from '../openapi/schema.js';
import { recordsOf } from '../pageRecords.js';
import type { Reply } from '../routes/operation.js';
import { requestUrl } from '../tenantHost.js';
import { ANY_LIST_PARAMETERS, LIST_ANSWERS, narrowing, parseTableQuery, SEARCH } from './listQuery.js';
import { CURSOR, parseExportQuery, toCursor } from './pages.js';

/** Documentation of the operation. */
export const recordsCsv = {
  work: 'costly',
  summary: 'Records of a table as CSV',
  description:
    'RFC 4180, in the order of creation, `perPage` records; a Link (RFC 8288) leads to the next ones. The first line of each page names the fields, and the first page begins with a byte order mark (UTF-8). An empty cell is null. A text has an apostrophe in front that is not part of it if a spreadsheet would run it (`=1+1`, `-x`, `@x`) or change it (`00123`, `1-2`, `MAR1`, `true`, 12 digits or more), and if it is empty, with any apostrophes of its own behind it.',
  query: [SEARCH, ...ANY_LIST_PARAMETERS.filter(({ name }) => name !== 'page'), CURSOR],
  answer: {
    description: 'The records, one in each line.',
    headers: { Link: { description: 'The next records, with rel="next".', schema: json.text } },
    content: { 'text/csv': { schema: json.text } },
  },
  answers: LIST_ANSWERS,
} as const;

/** @throws HttpError 400 */
export async function recordsCsvReply(
  { queries, config, lists }: Api,
  req: Request,
  tenant: string,
  assetType: AssetType,
  parameters: URLSearchParams,
): Promise<Reply> {
  const list = parseTableQuery(assetType, parameters);
  const { query, mark } = parseExportQuery({ tenant, assetType }, list, parameters);
  const { records, next } = await lists.run({
    context: req.context,
    advice: () => narrowing(list.query),
    find: (cancellation) => queries.records.listBehind({ tenant, table: assetType.name }, query, cancellation),
  });
  const columns = [
    ...assetType.fields,
    { name: 'created_at', type: 'DateTime' },
    { name: 'updated_at', type: 'DateTime' },
  ];
  const lines = recordsOf(records).map((record) =>
    csvLine(columns.map(({ name, type }) => cellOf(record[name], type))),
  );
  const linkTo = (cursor: string): string =>
    `${requestUrl(req, config)}?${new URLSearchParams([['cursor', cursor], ['perPage', String(list.perPage)], ...list.kept])}`;
  const headers = {
    'Content-Type': 'text/csv; charset=utf-8; header=present',
    'Content-Disposition': `attachment; filename="${assetType.name}.csv"`,
    ...(next === undefined ? {} : { Link: `<${linkTo(toCursor(mark, [next.createdAt, next.id]))}>; rel="next"` }),
  };
  const names = columns.map(({ name }) => name);
  return { body: csvPage(parameters.get('cursor'), names, lines), headers };
}
