/** Orders as a list, and how many are in each state: `/api/v1/platform/orders`. */
import { assetTypeOf } from '../../commands/tables.js';
import { findField, type Relationship } from '../../domain/assetTypes/assetType.js';
import { recordOutputSchema } from '../../domain/assetTypes/outputSchema.js';
import type { Tenant } from '../../domain/identity/directory.js';
import { MAX_SEARCHED_CUSTOMERS } from '../../domain/limits.js';
import { nameIn } from '../../domain/order/snapshot.js';
import { FAILED, ORDER_STATUSES } from '../../domain/order/status.js';
import type { FieldFilter, Filter } from '../../queries/conditions.js';
import type { RecordQueries } from '../../queries/records.js';
import type { Cancellation } from '../../supervision/cancellation.js';
import { LIST_PARAMETERS, parseListQuery, SEARCH, searchIn, textIn } from '../assets/listQuery.js';
import { collectionEnvelope, recordsIn } from '../assets/pages.js';
import { badRequest } from '../errors.js';
import * as json from '../openapi/schema.js';
import { dataReply, type Resource } from '../routes/operation.js';

/** The relationship by which an order names its customer. */
const customerOf = (tenant: Tenant): Relationship | undefined =>
  assetTypeOf(tenant, tenant.orderModel).relationships.find(({ name }) => name === 'buyer_customer_party');

/** Fields that are searched, where the model has them. */
const SEARCHED = ['customer_reference', 'sales_order_id', 'transport_reference'];

/** Orders that have the text in one of these fields or in their customer's name, or as their id. */
async function searchFilter(
  records: RecordQueries,
  tenant: Tenant,
  text: string,
  cancellation: Cancellation,
): Promise<Filter> {
  const orderType = assetTypeOf(tenant, tenant.orderModel);
  const fields = SEARCHED.filter((name) => findField(orderType, name)?.filterable === true);
  const anyOf: FieldFilter[] = [...textIn(fields, text), { kind: 'equals', field: 'id', anyOf: [text] }];
  const customer = customerOf(tenant);
  if (customer !== undefined) {
    const named = { filters: textIn(['name'], text), direction: 'asc', limit: MAX_SEARCHED_CUSTOMERS } as const;
    const found = await records.listBehind({ tenant: tenant.name, table: customer.table }, named, cancellation);
    if (found.next !== undefined)
      throw badRequest(`More than ${MAX_SEARCHED_CUSTOMERS} customers have this text in their names: give more of it.`);
    const keys = recordsIn(found.records).map((party) => nameIn(party, customer.key));
    if (keys.length > 0) anyOf.push({ kind: 'equals', field: customer.field, anyOf: keys });
  }
  return { kind: 'any', anyOf };
}

const STATUSES = [...ORDER_STATUSES, FAILED];

export const orderList: Resource = {
  tag: 'platform: orders',
  schemas: { OrderCounts: json.closedObject(Object.fromEntries(STATUSES.map((status) => [status, json.count]))) },
  operations: {
    'GET /orders': {
      id: 'platformListOrders',
      work: 'list',
      summary: 'Orders, each with the name of its customer',
      description: 'filter[processing_status][in] chooses those to validate, or the archive.',
      allow: 'users',
      query: [SEARCH, ...LIST_PARAMETERS],
      answer: (orderType) =>
        json.answer(
          'A page of orders.',
          json.pageOf(json.extended(recordOutputSchema(orderType), { customer: json.nullableText })),
        ),
      async handle(api, call, cancellation) {
        const { records } = api.queries;
        const { tenant, query: parameters } = call;
        const { query, ...paging } = parseListQuery(assetTypeOf(tenant, tenant.orderModel), parameters);
        const search = searchIn(parameters);
        const searched = search === undefined ? [] : [await searchFilter(records, tenant, search, cancellation)];
        const table = { tenant: tenant.name, table: tenant.orderModel };
        const page = await records.list(table, { ...query, filters: [...searched, ...query.filters] }, cancellation);
        const orders = recordsIn(page.records);
        const customer = customerOf(tenant);
        const names = new Map<string, string>();
        if (customer !== undefined) {
          const keys = [...new Set(orders.map((order) => nameIn(order, customer.field)))];
          const parties = await records.find({ tenant: tenant.name, table: customer.table }, customer.key, keys);
          for (const { fields } of parties) names.set(nameIn(fields, customer.key), nameIn(fields, 'name'));
        }
        const shown = orders.map((order) => ({
          ...order,
          customer: names.get(nameIn(order, customer?.field ?? '')) ?? null,
        }));
        const text = JSON.stringify(shown).slice(1, -1);
        return { body: collectionEnvelope(api, call, text, { ...paging, total: page.total }) };
      },
    },
    'GET /orders/counts': {
      id: 'platformCountOrders',
      summary: 'How many orders are in each state',
      description: 'Cheap enough to be asked every few seconds: orders are counted again only after one has changed.',
      allow: 'users',
      work: 'list',
      answer: json.one('OrderCounts'),
      async handle({ queries }, { tenant }, cancellation) {
        const table = { tenant: tenant.name, table: tenant.orderModel };
        const counted = STATUSES.map(async (status) => {
          const filters = [{ kind: 'equals', field: 'processing_status', anyOf: [status] }] as const;
          const asked = { filters, sort: [], offset: 0, limit: 0 };
          return [status, (await queries.records.list(table, asked, cancellation)).total];
        });
        return dataReply(Object.fromEntries(await Promise.all(counted)));
      },
    },
  },
};
