/** Lists orders for the people who work on them: searched, filtered and sorted also by what belongs to an order. */
import { z } from 'zod';
import { countedOrders } from '../../commands/orders/snapshots.js';
import { assetTypeOf } from '../../commands/tables.js';
import { findField, type RecordView } from '../../domain/assetTypes/assetType.js';
import type { Tenant } from '../../domain/identity/directory.js';
import { MAX_COUNTED_ORDERS, MAX_COUNTED_PARTS, MAX_FILTER_VALUES, MAX_RECORDS } from '../../domain/limits.js';
import { TO_DO } from '../../domain/order/decide.js';
import { nameIn } from '../../domain/order/document.js';
import type { FieldFilter, Filter } from '../../queries/asking.js';
import type { RecordQueries } from '../../queries/records.js';
import type { Cancellation } from '../../supervision/cancellation.js';
import { parseListQuery, searchIn, textIn } from '../assets/listQuery.js';
import { recordsIn } from '../assets/pages.js';
import { badRequest } from '../errors.js';
import { parseQuery } from '../routes/query.js';

/** How an order names its customer. */
const CUSTOMER = { table: 'dyn_party', field: 'buyer_customer_party_id', key: 'external_id' };
/** Texts that are searched, where the model has them: of an order and of an item. */
const SEARCHED = ['customer_reference', 'sales_order_id', 'transport_reference'];
const SEARCHED_OF_ITEMS = ['name', 'external_id', 'sku', 'ean'];
/** The newest with an item that is searched for: each order of them is compared with all orders. */
const LINES_OF_ITEMS = 50;

/** Words of a search that are sought one by one, in any order; more are sought as one text. */
const MAX_WORDS = 5;

const withoutAccents = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();

/** One of them is as it was typed in a name that has one more accent. */
function halvesOf(word: string): readonly string[] {
  const middle = Math.ceil(word.length / 2);
  return [word.slice(0, middle), word.slice(middle)].filter((half) => half !== '');
}

/** Orders that have each word in one of these fields, or all in their customer's name or in an item of theirs, or the text as id. */
async function searchFilters(
  records: RecordQueries,
  tenant: Tenant,
  text: string,
  cancellation: Cancellation,
): Promise<readonly Filter[]> {
  const split = text.split(/\s+/);
  const words = split.length > MAX_WORDS ? [text] : split;
  const orderType = assetTypeOf(tenant, tenant.orderModel);
  const fields = SEARCHED.filter((name) => findField(orderType, name)?.filterable === true);
  const list = (table: string, filters: readonly Filter[], limit: number) =>
    records.recordsBehind({ tenant: tenant.name, table }, { filters, direction: 'desc', limit }, cancellation);
  const inEach = (names: readonly string[], partsOf = (word: string): readonly string[] => [word]) =>
    words.map((word): Filter => ({ kind: 'any', anyOf: partsOf(word).flatMap((part) => textIn(names, part)) }));
  const named = async (table: string, names: readonly string[]) => {
    const likely = await list(table, inEach(names, halvesOf), MAX_RECORDS);
    if (!likely.isAll) return list(table, inEach(names), MAX_FILTER_VALUES);
    const found = likely.records.filter((record) =>
      words.every((word) => names.some((name) => withoutAccents(nameIn(record, name)).includes(withoutAccents(word)))),
    );
    return { records: found.slice(0, MAX_FILTER_VALUES), isAll: found.length <= MAX_FILTER_VALUES };
  };
  const parties = await named(CUSTOMER.table, ['name']);
  if (!parties.isAll)
    throw badRequest(`More than ${MAX_FILTER_VALUES} customers have this text in their names: give more of it.`);
  const items = await named('dyn_item', SEARCHED_OF_ITEMS);
  const ofItems = { kind: 'equals', field: 'item_id', anyOf: items.records.map(({ id }) => id) } as const;
  const lines = items.records.length > 0 ? await list('dyn_order_line', [ofItems], LINES_OF_ITEMS) : items;
  const ofLines = new Set(lines.records.map((line) => nameIn(line, 'order_id')));
  const ids = { kind: 'equals', field: 'id', anyOf: [text, ...ofLines] } as const;
  const keys = parties.records.map((party) => nameIn(party, CUSTOMER.key));
  const whole: readonly FieldFilter[] = [ids, { kind: 'equals', field: CUSTOMER.field, anyOf: keys }];
  return words.map((word) => ({ kind: 'any', anyOf: [...textIn(fields, word), ...whole] }));
}

export const problemsQuery = z.object({
  problems: z
    .enum(['none', 'some'], 'must be none or some.')
    .optional()
    .describe('Orders that people work on, without or with problems.'),
});

/** Looked through at once. */
const COUNTED_AT_ONCE = 25;

const tooManyToCount = () =>
  badRequest(
    `Only ${MAX_COUNTED_ORDERS} orders or fewer, and ${MAX_COUNTED_PARTS} parts of ${COUNTED_AT_ONCE}, can be filtered by problems or sorted by customer, reasons, lines or problems. Filter by something else first, such as a customer.`,
  );

/** By texts that have no order of their own, and by what belongs to an order. */
const ADDED_SORT = /^(-?)(customer|error_reason|lines|problems)$/;

/** With the names of their customers, null where there is none. */
export async function withCustomers(records: RecordQueries, tenant: Tenant, orders: readonly RecordView[]) {
  const keys = [...new Set(orders.map((order) => nameIn(order, CUSTOMER.field)))];
  const parties = await records.find({ tenant: tenant.name, table: CUSTOMER.table }, CUSTOMER.key, keys);
  const names = new Map(parties.map(({ fields }) => [nameIn(fields, CUSTOMER.key), nameIn(fields, 'name')]));
  return orders.map((order): RecordView => {
    return { ...order, customer: names.get(nameIn(order, CUSTOMER.field)) ?? null };
  });
}

/** What is absent comes first. */
function sorted<Order>(orders: readonly Order[], sign: string, keyOf: (order: Order) => string | number) {
  const keyed = orders.map((order) => ({ order, key: keyOf(order) }));
  keyed.sort((one, other) => (one.key === other.key ? 0 : one.key < other.key === (sign === '') ? -1 : 1));
  return keyed.map(({ order }) => order);
}

/** A page of orders with their customers, lines and problems. @throws HttpError 400, where too many would be looked through too */
export async function listOrders(
  records: RecordQueries,
  tenant: Tenant,
  parameters: URLSearchParams,
  cancellation: Cancellation,
) {
  const { problems } = parseQuery(problemsQuery, parameters);
  const [added, sign = '', by] = ADDED_SORT.exec(parameters.get('sort') ?? '') ?? [];
  const others = new URLSearchParams([...parameters].filter(([name]) => name !== 'sort' || added === undefined));
  const { query, ...paging } = parseListQuery(assetTypeOf(tenant, tenant.orderModel), others);
  const search = searchIn(parameters);
  const filters = [...query.filters];
  if (search !== undefined) filters.push(...(await searchFilters(records, tenant, search, cancellation)));
  if (problems !== undefined) filters.push({ kind: 'equals', field: 'processing_status', anyOf: TO_DO });
  const isOfAll = problems !== undefined || by !== undefined;
  const pageOf = <Order>(orders: readonly Order[]) =>
    isOfAll ? orders.slice(query.offset, query.offset + query.limit) : orders;
  const table = { tenant: tenant.name, table: tenant.orderModel };
  const asked = { ...query, filters, ...(isOfAll && { offset: 0, limit: MAX_COUNTED_ORDERS }) };
  const { total, records: found } = await records.list(table, asked, cancellation);
  if (isOfAll && total > MAX_COUNTED_ORDERS) throw tooManyToCount();
  const named = await withCustomers(records, tenant, recordsIn(found));
  const isText = by === 'customer' || by === 'error_reason';
  const all = isText ? sorted(named, sign, (order) => String(order[by] ?? '').toLowerCase()) : named;
  if (problems === undefined && (by === undefined || isText))
    return { ...paging, total, orders: await countedOrders(records, tenant, pageOf(all), cancellation) };
  const counted = [];
  for (let at = 0; at < all.length; at += COUNTED_AT_ONCE) {
    const some = await countedOrders(records, tenant, all.slice(at, at + COUNTED_AT_ONCE), cancellation);
    if (some.some(({ lines }) => lines === null)) throw tooManyToCount();
    counted.push(...some.filter((each) => problems === undefined || (each.problems === 0) === (problems === 'none')));
  }
  const listed =
    by === 'lines' || by === 'problems'
      ? sorted(counted, sign, (each) => each[by] ?? Number.NEGATIVE_INFINITY)
      : counted;
  return { ...paging, total: listed.length, orders: pageOf(listed) };
}
