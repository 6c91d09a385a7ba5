/** Reading records and the history of orders (spec §4.3, §4.4). */
import type { Request, RequestHandler } from 'express';
import type { ApiDeps } from '../deps.js';
import { notFound } from '../errors.js';
import { sendJson } from '../sendJson.js';
import { requestOrigin } from '../tenantHost.js';
import { allowedAsset, pathParameter, tableRef, unknownRecord } from './access.js';
import { collectionEnvelope, recordEnvelope } from './envelope.js';
import { historyView } from './historyView.js';
import { parametersOf, parseListQuery, parsePaging } from './listQuery.js';

export function getRecord({ readModels }: Pick<ApiDeps, 'readModels'>): RequestHandler {
  return async (req, res) => {
    const assetType = allowedAsset(req, 'read');
    const id = pathParameter(req, 'id');
    const record = await readModels.get(tableRef(req, assetType), id.toLowerCase());
    if (record === undefined) throw unknownRecord(assetType, id);
    sendJson(res, 200, recordEnvelope(record));
  };
}

export function listRecords({ readModels, config }: Pick<ApiDeps, 'readModels' | 'config'>): RequestHandler {
  return async (req, res) => {
    const assetType = allowedAsset(req, 'read');
    const { query, ...list } = parseListQuery(assetType, parametersOf(req.originalUrl));
    const { records, total } = await readModels.list(tableRef(req, assetType), query);
    const url = `${requestOrigin(req, config)}${pathOf(req)}`;
    sendJson(res, 200, collectionEnvelope(records.join(','), { ...list, url, total }));
  };
}

export function orderHistory({ readModels, config }: Pick<ApiDeps, 'readModels' | 'config'>): RequestHandler {
  return async (req, res) => {
    const assetType = allowedAsset(req, 'read');
    const id = pathParameter(req, 'id').toLowerCase();
    if (assetType.role !== 'order') throw notFound(`Only orders have a history; ${assetType.name} has none.`);
    const { page, perPage } = parsePaging(parametersOf(req.originalUrl));
    const { tenant } = tableRef(req, assetType);
    const { entries, total } = await readModels.history(tenant, id, { offset: (page - 1) * perPage, limit: perPage });
    if (total === 0) throw unknownRecord(assetType, id);
    const records = entries.map((entry) => JSON.stringify(historyView(entry))).join(',');
    const url = `${requestOrigin(req, config)}${pathOf(req)}`;
    sendJson(res, 200, collectionEnvelope(records, { page, perPage, kept: [], url, total }));
  };
}

const pathOf = (req: Request): string => {
  const query = req.originalUrl.indexOf('?');
  return query < 0 ? req.originalUrl : req.originalUrl.slice(0, query);
};
