/** The queues of orders: `/api/v1/platform/orders`. */
import { z } from 'zod';
import { assetTypeOf } from '../../commands/tables.js';
import { type AssetType, findField } from '../../domain/assetTypes/assetType.js';
import { recordOutputSchema } from '../../domain/assetTypes/outputSchema.js';
import type { Tenant } from '../../domain/identity/directory.js';
import { MAX_ENTRIES, MAX_RECORDS, MAX_SEARCHED_CUSTOMERS } from '../../domain/limits.js';
import { ARCHIVED, type OrderStatus, TO_VALIDATE } from '../../domain/order/status.js';
import type { FieldFilter, Filter } from '../../queries/conditions.js';
import type { RecordQuery } from '../../queries/records.js';
import type { Cancellation } from '../../supervision/cancellation.js';
import { LIST_PARAMETERS, parseListQuery, SEARCH, searchIn, textIn } from '../assets/listQuery.js';
import { collectionEnvelope, recordsIn } from '../assets/pages.js';
import type { Api } from '../deps.js';
import { badRequest } from '../errors.js';
import * as json from '../openapi/schema.js';
import { customerOf, orderSummary, type ShownOrder, withSummaries } from '../orderSummaries.js';
import { dataReply, type Resource } from '../routes/operation.js';
import { parametersIn, parseQuery } from '../routes/query.js';
import { requestUrl } from '../tenantHost.js';

/** Characters of a text from which on it is compared with the ids of orders as well: ids begin with the time. */
const MIN_SEARCHED_ID = 8;

const QUEUES = { to_validate: TO_VALIDATE, archive: ARCHIVED } as const;
const QUEUE_NAMES = ['to_validate', 'archive'] as const;
const ALL_STATUSES: readonly OrderStatus[] = [...TO_VALIDATE, ...ARCHIVED];

/** What the list has beside the parameters of others. */
const queueQuery = z.object({
  queue: z
    .enum(QUEUE_NAMES, `must be ${QUEUE_NAMES.join(' or ')}.`)
    .default('to_validate')
    .describe('Orders to validate, or the archive.'),
  include: z
    .enum(['summary'], 'must be summary.')
    .optional()
    .describe(
      `summary: each order has its customer's name and the numbers of its lines and problems; at most ${MAX_ENTRIES} orders on a page.`,
    ),
  problems: z
    .enum(['only'], 'must be only.')
    .optional()
    .describe(
      `only: orders with problems, and those with too many lines to tell; with include=summary, among ${MAX_RECORDS} orders at most.`,
    ),
});

type OrderPage = { readonly orders: readonly ShownOrder[]; readonly total: number };

/** All that the query finds is looked at: what a problem is depends on other tables. @throws HttpError 400 for too many */
async function withProblems(
  api: Api,
  tenant: Tenant,
  { offset, limit, ...query }: RecordQuery,
  cancellation: Cancellation,
): Promise<OrderPage> {
  const table = { tenant: tenant.name, table: tenant.orderModel };
  const found: ShownOrder[] = [];
  let total = 0;
  for (let from = 0; from === 0 || from < total; from += MAX_ENTRIES) {
    const page = await api.queries.records.list(table, { ...query, offset: from, limit: MAX_ENTRIES }, cancellation);
    total = page.total;
    if (total > MAX_RECORDS) {
      throw badRequest(
        `Problems are looked for among ${MAX_RECORDS} orders, and these are ${total}: choose a state, search, or filter.`,
      );
    }
    const orders = await withSummaries(api, tenant, recordsIn(page.records), cancellation);
    found.push(...orders.filter(({ summary }) => summary?.problems !== 0));
  }
  return { orders: found.slice(offset, offset + limit), total: found.length };
}

/** Fields that are searched, where the model has them. */
const SEARCHED = ['customer_reference', 'sales_order_id', 'transport_reference'];

/** Orders that have the text in one of these fields, or in their customer's name, or as the beginning of their id. */
async function searchFilter(
  { queries }: Api,
  tenant: Tenant,
  text: string,
  cancellation: Cancellation,
): Promise<Filter> {
  const orderType = assetTypeOf(tenant, tenant.orderModel);
  const fields = SEARCHED.filter((name) => findField(orderType, name)?.filterable === true);
  const ofCustomers = await customerFilter(queries, tenant, text, cancellation);
  // A shorter text is the beginning of too many ids, which begin with the time.
  const ofId: FieldFilter = { kind: 'begins', field: 'id', with: text };
  const anyOf = [...textIn(fields, text), ...(text.length < MIN_SEARCHED_ID ? [] : [ofId]), ...ofCustomers];
  return { kind: 'any', anyOf };
}

/** @throws HttpError 400 if too many customers have the text in their names */
async function customerFilter(
  queries: Api['queries'],
  tenant: Tenant,
  text: string,
  cancellation: Cancellation,
): Promise<readonly FieldFilter[]> {
  const customer = customerOf(tenant);
  if (customer === undefined) return [];
  const named = { filters: textIn(['name'], text), direction: 'asc', limit: MAX_SEARCHED_CUSTOMERS } as const;
  const table = { tenant: tenant.name, table: customer.table };
  const { records, next } = await queries.records.listBehind(table, named, cancellation);
  if (next !== undefined) {
    throw badRequest(
      `More than ${MAX_SEARCHED_CUSTOMERS} customers have this text in their names: search for more of it, or use filters.`,
    );
  }
  const anyOf = recordsIn(records).map((party) => String(party[customer.key]));
  return anyOf.length === 0 ? [] : [{ kind: 'equals', field: customer.field, anyOf }];
}

/** A page of orders; `summary` is absent unless it was asked for. */
function orderPageResponse(orderType: AssetType): json.ResponseObject {
  const summary = json.orNull(json.ref('OrderSummary'));
  return json.answer('A page of orders.', json.pageOf(json.extended(recordOutputSchema(orderType), { summary })));
}

const ofQueues = <Of>(of: (status: OrderStatus) => Of) =>
  Object.fromEntries(
    QUEUE_NAMES.map((name) => [name, Object.fromEntries(QUEUES[name].map((status) => [status, of(status)]))]),
  );

const orderCounts = json.closedObject(
  Object.fromEntries(
    Object.entries(ofQueues(() => json.count)).map(([name, counts]) => [name, json.closedObject(counts)]),
  ),
);

/** How many orders are in each state. The rows keep such totals until an order changes. */
async function countsOf(api: Api, tenant: Tenant, cancellation: Cancellation): Promise<readonly number[]> {
  const table = { tenant: tenant.name, table: tenant.orderModel };
  const counted = ALL_STATUSES.map((status) => {
    const filters = [{ kind: 'equals', field: 'processing_status', anyOf: [status] }] as const;
    return api.queries.records.list(table, { filters, sort: [], offset: 0, limit: 0 }, cancellation);
  });
  return (await Promise.all(counted)).map(({ total }) => total);
}

export const orderQueues: Resource = {
  tag: 'platform: orders',
  schemas: { OrderSummary: orderSummary.schema, OrderCounts: orderCounts },
  operations: {
    'GET /orders': {
      id: 'platformListOrders',
      work: 'list',
      summary: 'Orders to validate, or the archive',
      allow: 'users',
      query: [...parametersIn(queueQuery), SEARCH, ...LIST_PARAMETERS],
      answer: orderPageResponse,
      async handle(api, { req, tenant, query: parameters }, cancellation) {
        const { queue, include, problems } = parseQuery(queueQuery, parameters);
        const { query, kept, ...paging } = parseListQuery(assetTypeOf(tenant, tenant.orderModel), parameters);
        if (include !== undefined && paging.perPage > MAX_ENTRIES)
          throw badRequest(`With include=summary, perPage must be at most ${MAX_ENTRIES}.`);
        if (problems !== undefined && include === undefined) throw badRequest('problems=only needs include=summary.');
        const text = searchIn(parameters);
        const inQueue: Filter = { kind: 'equals', field: 'processing_status', anyOf: QUEUES[queue] };
        const table = { tenant: tenant.name, table: tenant.orderModel };
        const pageOf = async (): Promise<OrderPage> => {
          const searched = text === undefined ? [] : [await searchFilter(api, tenant, text, cancellation)];
          const fullQuery = { ...query, filters: [inQueue, ...searched, ...query.filters] };
          if (problems !== undefined) return withProblems(api, tenant, fullQuery, cancellation);
          const page = await api.queries.records.list(table, fullQuery, cancellation);
          const found = recordsIn(page.records);
          if (include === undefined) return { orders: found, total: page.total };
          return { orders: await withSummaries(api, tenant, found, cancellation), total: page.total };
        };
        const { orders, total } = await pageOf();
        const given = ['search', 'include', 'problems'].flatMap((name): [string, string][] => {
          const value = parameters.get(name);
          return value === null ? [] : [[name, value]];
        });
        const list = { ...paging, url: requestUrl(req, api.config), total };
        const records = JSON.stringify(orders).slice(1, -1);
        return { body: collectionEnvelope(records, { ...list, kept: [['queue', queue], ...given, ...kept] }) };
      },
    },
    'GET /orders/counts': {
      id: 'platformCountOrders',
      summary: 'How many orders are in each state',
      description: 'Cheap enough to be asked every few seconds: orders are counted again only after one has changed.',
      allow: 'users',
      work: 'list',
      answer: json.one('OrderCounts'),
      async handle(api, { tenant }, cancellation) {
        const counts = await countsOf(api, tenant, cancellation);
        return dataReply(ofQueues((status) => counts[ALL_STATUSES.indexOf(status)] ?? 0));
      },
    },
  },
};
