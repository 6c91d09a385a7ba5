/** Orders as validators and auditors see them. */
import type { Request } from 'express';
import { NotFoundError } from '../../commands/context.js';
import { loadOrder } from '../../commands/orders/orderWriter.js';
import { assetTypeOf, recordId } from '../../commands/tables.js';
import { ARCHIVED, type OrderStatus, TO_VALIDATE } from '../../domain/order/status.js';
import { pathParameter } from '../assets/access.js';
import { collectionEnvelope, recordEnvelope } from '../assets/envelope.js';
import { historyView } from '../assets/historyView.js';
import { parametersOf, parseListQuery, parsePaging } from '../assets/listQuery.js';
import type { ApiDeps } from '../deps.js';
import { badRequest } from '../errors.js';
import { sendJson } from '../sendJson.js';
import { requestOrigin } from '../tenantHost.js';
import { orderDocument } from './orderDocument.js';
import type { UserHandler } from './signedIn.js';

export const QUEUES: ReadonlyMap<string, readonly OrderStatus[]> = new Map([
  ['to_validate', TO_VALIDATE],
  ['archive', ARCHIVED],
]);

/** `?queue=to_validate` (default) or `archive`, and the parameters of every list (spec §4.3). */
export function listOrders({ readModels, config }: Pick<ApiDeps, 'readModels' | 'config'>): UserHandler {
  return async (req, res) => {
    const { tenant } = req.context;
    const parameters = parametersOf(req.originalUrl);
    const queue = queueOf(parameters);
    const { query, kept, ...paging } = parseListQuery(assetTypeOf(tenant, tenant.orderModel), parameters);
    const inQueue = { kind: 'equals', field: 'processing_status', anyOf: queue.statuses } as const;
    const { records, total } = await readModels.list(
      { tenant: tenant.name, table: tenant.orderModel },
      { ...query, filters: [inQueue, ...query.filters] },
    );
    const list = { ...paging, kept: [['queue', queue.name] as const, ...kept], url: listUrl(req, config), total };
    sendJson(res, 200, collectionEnvelope(records.join(','), list));
  };
}

function queueOf(parameters: URLSearchParams): { readonly name: string; readonly statuses: readonly OrderStatus[] } {
  const name = parameters.get('queue') ?? 'to_validate';
  const statuses = QUEUES.get(name);
  if (statuses === undefined) throw badRequest(`queue must be ${[...QUEUES.keys()].join(' or ')}.`);
  return { name, statuses };
}

/** The order as its events tell it, with its parts and the records they name. */
export function getOrder({ commands }: Pick<ApiDeps, 'commands'>): UserHandler {
  return async (req, res) => {
    const { tenant } = req.context;
    const id = recordId(tenant.orderModel, pathParameter(req, 'id'));
    const order = await loadOrder(commands.eventStore, tenant.name, id);
    if (order === undefined) throw unknownOrder(id);
    sendJson(res, 200, recordEnvelope(JSON.stringify(await orderDocument(commands, tenant, id, order))));
  };
}

export function orderHistory({ readModels, config }: Pick<ApiDeps, 'readModels' | 'config'>): UserHandler {
  return async (req, res) => {
    const { tenant } = req.context;
    const id = recordId(tenant.orderModel, pathParameter(req, 'id'));
    const { page, perPage } = parsePaging(parametersOf(req.originalUrl));
    const slice = { offset: (page - 1) * perPage, limit: perPage };
    const { entries, total } = await readModels.history(tenant.name, id, slice);
    if (total === 0) throw unknownOrder(id);
    const records = entries.map((entry) => JSON.stringify(historyView(entry))).join(',');
    sendJson(res, 200, collectionEnvelope(records, { page, perPage, kept: [], url: listUrl(req, config), total }));
  };
}

const unknownOrder = (id: string): NotFoundError => new NotFoundError(`There is no order ${id}.`);

const listUrl = (req: Request, config: ApiDeps['config']): string =>
  `${requestOrigin(req, config)}${req.baseUrl}${req.path}`;
