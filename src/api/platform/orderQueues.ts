/** The queues of orders: `/api/v1/platform/orders`. */
import { assetTypeOf } from '../../commands/tables.js';
import { type AssetType, findField } from '../../domain/assetTypes/assetType.js';
import { recordOutputSchema } from '../../domain/assetTypes/outputSchema.js';
import type { Tenant } from '../../domain/identity/directory.js';
import {
  MAX_LOOKED_FOR_PROBLEMS,
  MAX_SEARCHED_CUSTOMERS,
  MAX_SUMMARIES,
  MIN_SEARCHED_ID,
} from '../../domain/limits.js';
import { ARCHIVED, type OrderStatus, TO_VALIDATE } from '../../domain/order/status.js';
import type { FieldFilter, Filter } from '../../queries/conditions.js';
import type { RecordPage, RecordQuery } from '../../queries/records.js';
import type { Cancellation } from '../../supervision/cancellation.js';
import {
  LIST_ANSWERS,
  LIST_PARAMETERS,
  narrowing,
  parseListQuery,
  SEARCH,
  searchIn,
  textIn,
} from '../assets/listQuery.js';
import { collectionEnvelope } from '../assets/pages.js';
import type { Api } from '../deps.js';
import { badRequest } from '../errors.js';
import * as json from '../openapi/schema.js';
import { customerOf, orderSummary, withSummaries } from '../orderSummaries.js';
import { warnings, withWarnings } from '../orderWarnings.js';
import { recordsOf, textsOf } from '../pageRecords.js';
import { dataReply, type QueryParameter, type Resource } from '../routes/operation.js';
import { requestUrl } from '../tenantHost.js';

const QUEUES: ReadonlyMap<string, readonly OrderStatus[]> = new Map([
  ['to_validate', TO_VALIDATE],
  ['archive', ARCHIVED],
]);

const QUEUE: QueryParameter = {
  name: 'queue',
  description: 'Orders to validate, or the archive.',
  schema: { type: 'string', enum: [...QUEUES.keys()], default: 'to_validate' },
};

function queueIn(query: URLSearchParams): { readonly name: string; readonly statuses: readonly OrderStatus[] } {
  const name = query.get('queue') ?? 'to_validate';
  const statuses = QUEUES.get(name);
  if (statuses === undefined) throw badRequest(`queue must be ${[...QUEUES.keys()].join(' or ')}.`);
  return { name, statuses };
}

const INCLUDE: QueryParameter = {
  name: 'include',
  description: `summary: each order has its customer's name and the numbers of its lines and problems; at most ${MAX_SUMMARIES} orders on a page.`,
  schema: { type: 'string', enum: ['summary'] },
};

function includesSummary(query: URLSearchParams, perPage: number): boolean {
  const include = query.get('include');
  if (include === null) return false;
  if (include !== 'summary') throw badRequest('include must be summary.');
  if (perPage > MAX_SUMMARIES) throw badRequest(`With include=summary, perPage must be at most ${MAX_SUMMARIES}.`);
  return true;
}

const PROBLEMS: QueryParameter = {
  name: 'problems',
  description: `only: orders with problems, and those with too many lines to tell; with include=summary, among ${MAX_LOOKED_FOR_PROBLEMS} orders at most.`,
  schema: { type: 'string', enum: ['only'] },
};

function isOnlyProblems(query: URLSearchParams, isSummarized: boolean): boolean {
  const value = query.get('problems');
  if (value === null) return false;
  if (value !== 'only') throw badRequest('problems must be only.');
  if (!isSummarized) throw badRequest('problems=only needs include=summary.');
  return true;
}

/** All that the query finds is looked at: what a problem is depends on other tables. @throws HttpError 400 for too many */
async function withProblems(
  api: Pick<Api, 'queries' | 'commands'>,
  tenant: Tenant,
  { offset, limit, ...query }: RecordQuery,
  cancellation: Cancellation,
): Promise<RecordPage> {
  const table = { tenant: tenant.name, table: tenant.orderModel };
  const found: string[] = [];
  let total = 0;
  for (let from = 0; from === 0 || from < total; from += MAX_SUMMARIES) {
    const page = await api.queries.records.list(table, { ...query, offset: from, limit: MAX_SUMMARIES }, cancellation);
    total = page.total;
    if (total > MAX_LOOKED_FOR_PROBLEMS) {
      throw badRequest(
        `Problems are looked for among ${MAX_LOOKED_FOR_PROBLEMS} orders, and these are ${total}: choose a state, search, or filter.`,
      );
    }
    const texts = textsOf(await withSummaries(api, tenant, page.records, cancellation));
    found.push(...texts.flatMap(({ text }) => (SOUND.test(text) ? [] : [text])));
  }
  return { records: found.slice(offset, offset + limit).join(), total: found.length };
}

/** The end of an order's text with its summary, if it has no problem. Quotation marks within values are escaped. */
const SOUND = /"problems":0,"first_problem":null\}\}$/;

/** Fields that are searched, where the model has them. */
const SEARCHED = ['customer_reference', 'sales_order_id', 'transport_reference'];

/** Orders that have the text in one of these fields, or in their customer's name, or as the beginning of their id. */
async function searchFilter(
  { queries }: Pick<Api, 'queries'>,
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
  const anyOf = (await recordsOf(records)).map((party) => String(party[customer.key]));
  return anyOf.length === 0 ? [] : [{ kind: 'equals', field: customer.field, anyOf }];
}

/** A page of orders; `warnings` is absent if there are none, `summary` unless it was asked for. */
function orderPageResponse(orderType: AssetType): json.ResponseObject {
  const { properties, ...record } = recordOutputSchema(orderType);
  const summary = {
    ...json.orNull(json.ref('OrderSummary')),
    description: 'With include=summary. null: the orders on the page have too many lines.',
  };
  const more = { ...(json.isObject(properties) ? properties : {}), warnings, summary };
  return json.answer('A page of orders.', json.pageOf({ ...record, properties: more }));
}

const countsOf = (statuses: readonly OrderStatus[]): json.JsonSchema =>
  json.closedObject(Object.fromEntries(statuses.map((status) => [status, json.count])));

const orderCounts = json.closedObject(
  Object.fromEntries([...QUEUES].map(([name, statuses]) => [name, countsOf(statuses)])),
);

export const orderQueues: Resource = {
  tag: 'platform: orders',
  schemas: { OrderSummary: orderSummary.schema, OrderCounts: orderCounts },
  operations: {
    'GET /orders': {
      id: 'platformListOrders',
      summary: 'Orders to validate, or the archive',
      allow: 'users',
      query: [QUEUE, SEARCH, INCLUDE, PROBLEMS, ...LIST_PARAMETERS],
      answer: orderPageResponse,
      answers: LIST_ANSWERS,
      async handle(api, { req, tenant, query: parameters }) {
        const { queries, config, lists } = api;
        const queue = queueIn(parameters);
        const { query, kept, ...paging } = parseListQuery(assetTypeOf(tenant, tenant.orderModel), parameters);
        const isSummarized = includesSummary(parameters, paging.perPage);
        const isOnly = isOnlyProblems(parameters, isSummarized);
        const text = searchIn(parameters);
        const inQueue: Filter = { kind: 'equals', field: 'processing_status', anyOf: queue.statuses };
        const table = { tenant: tenant.name, table: tenant.orderModel };
        const find = async (cancellation: Cancellation): Promise<RecordPage> => {
          const searched = text === undefined ? [] : [await searchFilter(api, tenant, text, cancellation)];
          const fullQuery = { ...query, filters: [inQueue, ...searched, ...query.filters] };
          if (isOnly) return withProblems(api, tenant, fullQuery, cancellation);
          const page = await queries.records.list(table, fullQuery, cancellation);
          if (!isSummarized) return page;
          return { ...page, records: await withSummaries(api, tenant, page.records, cancellation) };
        };
        const { records, total } = await lists.run({
          context: req.context,
          advice: () => narrowing(query, text !== undefined),
          find,
        });
        const page = await withWarnings(queries, tenant, records);
        const given = ['search', 'include', 'problems'].flatMap((name): [string, string][] => {
          const value = parameters.get(name);
          return value === null ? [] : [[name, value]];
        });
        const list = { ...paging, url: requestUrl(req, config), total };
        return { body: collectionEnvelope(page, { ...list, kept: [['queue', queue.name], ...given, ...kept] }) };
      },
    },
    'GET /orders/counts': {
      id: 'platformCountOrders',
      summary: 'How many orders are in each state',
      description: 'Cheap enough to be asked every few seconds: orders are counted again only after one has changed.',
      allow: 'users',
      answer: json.one('OrderCounts'),
      async handle({ queries, lists, orderCounts: kept }, { req, tenant }) {
        const table = { tenant: tenant.name, table: tenant.orderModel };
        const counts = await lists.run({
          context: req.context,
          advice: () => 'Ask again in a moment.',
          find: (cancellation) => kept.of(queries.records, table, [...QUEUES.values()].flat(), cancellation),
        });
        const shown = [...QUEUES].map(([name, statuses]) => [
          name,
          Object.fromEntries(statuses.map((status) => [status, counts.get(status) ?? 0])),
        ]);
        return dataReply(Object.fromEntries(shown));
      },
    },
  },
};
