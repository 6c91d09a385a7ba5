/** Lists, records and tables as they were at an earlier moment. */
import type { Request } from 'express';
import { orderView } from '../../commands/orders/orderWriter.js';
import { tagOf } from '../../commands/preconditions.js';
import { recordId } from '../../commands/tables.js';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import type { Api } from '../deps.js';
import { notFound } from '../errors.js';
import { dataReply, type Reply } from '../routes/operation.js';
import { requestUrl } from '../tenantHost.js';
import { narrowing, parseTableQuery } from './listQuery.js';
import { atPosition, type Moment, pastOf, pastOrderOf, pastTableOf, pastTypeOf, unlessBuilding } from './moments.js';
import { collectionEnvelope, exportEnvelope, parseExportQuery } from './pages.js';

/** A page of a list, as `pageReply`. Its links name the position: all pages are of one moment. */
export async function pastPageReply(
  api: Api,
  req: Request,
  { name }: AssetType,
  query: URLSearchParams,
  moment: Moment,
): Promise<Reply> {
  const past = await pastOf(api, req, moment);
  const assetType = pastTypeOf(past, name);
  const list = parseTableQuery(assetType, query);
  const table = await pastTableOf(api, req, past, assetType);
  const { tenant, position } = table;
  const place = {
    ...list,
    kept: [['at', String(position)] as [string, string], ...list.kept],
    url: requestUrl(req, api.config),
  };
  const turn = { tenant, context: req.context, advice: () => narrowing(list.query) };
  const headers = atPosition(position);
  const behind = query.has('cursor') ? parseExportQuery({ tenant, assetType, position }, list, query) : undefined;
  return unlessBuilding(api, req, query, { at: position }, () =>
    api.pastTables.read(
      table,
      async (reads): Promise<Reply> => {
        if (behind !== undefined) {
          const page = await api.lists.run({
            ...turn,
            find: (wanted) => reads.listBehind(table, behind.query, wanted),
          });
          return { headers, body: exportEnvelope(page, behind.mark, place) };
        }
        const { records, total } = await api.lists.run({
          ...turn,
          find: (wanted) => reads.list(table, list.query, wanted),
        });
        return { headers, body: collectionEnvelope(records, { ...place, total }) };
      },
      req.context.deadline,
    ),
  );
}

/** One record, as `recordReply`. An order comes from its own events. */
export async function pastRecordReply(
  api: Api,
  req: Request,
  { name, role }: AssetType,
  id: string,
  query: URLSearchParams,
  moment: Moment,
): Promise<Reply> {
  const past = await pastOf(api, req, moment);
  const assetType = pastTypeOf(past, name);
  const stored = recordId(name, id);
  if (role === 'order') {
    const { order, position } = await pastOrderOf(api, req, past, stored);
    return dataReply(orderView(assetType, stored, order), { headers: atPosition(position) });
  }
  const table = await pastTableOf(api, req, past, assetType);
  return unlessBuilding(api, req, query, { at: table.position }, () =>
    api.pastTables.read(
      table,
      async (reads) => {
        const record = await reads.get(table, stored, assetType.fields);
        if (record === undefined) throw notFound(`There was no record ${id} in ${name} then.`);
        return { body: `{"data":${record}}`, tag: tagOf(record), headers: atPosition(table.position) };
      },
      req.context.deadline,
    ),
  );
}
