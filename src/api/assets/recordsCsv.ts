/** The records of a table as CSV, page by page: for spreadsheets, and to be changed and imported again. */
import type { Request } from 'express';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { cellOf, csvLine, csvPage } from '../csv.js';
import type { Api } from '../deps.js';
import type { Reply } from '../routes/operation.js';
import { requestUrl } from '../tenantHost.js';
import { ANY_LIST_PARAMETERS, LIST_ANSWERS, narrowing, parseTableQuery, SEARCH } from './listQuery.js';
import { behindPage, CURSOR, csvAnswer, csvReply, inListTurn, parseCursor, recordsIn } from './pages.js';

/** Documentation of the operation. */
export const recordsCsv = {
  work: 'costly',
  summary: 'Records of a table as CSV',
  description:
    'RFC 4180, in the order of creation, `perPage` records; a Link (RFC 8288) leads to the next ones. The first line of each page names the fields, and the first page begins with a byte order mark (UTF-8). An empty cell is null. A text has an apostrophe in front that is not part of it if a spreadsheet would run it (`=1+1`, `-x`, `@x`) or change it (`00123`, `1-2`, `MAR1`, `true`, 12 digits or more), and if it is empty, with any apostrophes of its own behind it.',
  query: [SEARCH, ...ANY_LIST_PARAMETERS.filter(({ name }) => name !== 'page'), CURSOR],
  answer: csvAnswer('The records, one in each line.', 'The next records, with rel="next".'),
  answers: LIST_ANSWERS,
} as const;

/** @throws HttpError 400 */
export async function recordsCsvReply(
  api: Api,
  req: Request,
  tenant: string,
  assetType: AssetType,
  parameters: URLSearchParams,
): Promise<Reply> {
  const list = parseTableQuery(assetType, parameters);
  const table = { tenant, table: assetType.name };
  const { behind, mark } = parseCursor(table, list, parameters);
  const advice = () => narrowing(list.query);
  const found = await inListTurn(api, req, advice, (cancellation) =>
    api.queries.records.listBehind(table, behind, cancellation),
  );
  const columns = [
    ...assetType.fields,
    { name: 'created_at', type: 'DateTime' },
    { name: 'updated_at', type: 'DateTime' },
  ];
  const lines = recordsIn(found.records).map((record) =>
    csvLine(columns.map(({ name, type }) => cellOf(record[name], type))),
  );
  const { link } = behindPage(found, mark, { ...list, url: requestUrl(req, api.config) });
  const names = columns.map(({ name }) => name);
  return csvReply(assetType.name, csvPage(parameters.get('cursor'), names, lines), link);
}
