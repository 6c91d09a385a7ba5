/** What a list of orders shows of each beside its fields: its customer, how many lines it has, and its problems. */
import { findRelated, inGroups, type Related, relatedIn, type SnapshotSource } from '../commands/orders/orderWriter.js';
import { assetTypeOf } from '../commands/tables.js';
import type { RecordView, Relationship } from '../domain/assetTypes/assetType.js';
import type { Tenant } from '../domain/identity/directory.js';
import { MAX_CHECKED_PARTS, MAX_PAGE_BYTES } from '../domain/limits.js';
import { partLists } from '../domain/order/parts.js';
import { PROBLEM_CODES, type Problem, problemsOf } from '../domain/order/problems.js';
import { type ExportSnapshot, nameIn, relatedRecord, type SnapshotPart } from '../domain/order/snapshot.js';
import type { RecordQueries } from '../queries/records.js';
import type { StoredRecord } from '../queries/storedRecord.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { recordsIn } from './assets/pages.js';
import * as json from './openapi/schema.js';

/** The first problems for which an approval is refused. */
export const problemView = json.view<Problem>({
  field: { type: 'string', description: 'Its path in the order, such as lines.0.item_id.' },
  code: json.oneOf(PROBLEM_CODES),
  message: json.text,
});

type Summary = {
  readonly customer: string | null;
  readonly lines: number;
  readonly problems: number;
  readonly firstProblem: string | null;
};

export const orderSummary = json.view<Summary>({
  customer: { ...json.nullableText, description: "The name of the buyer's party." },
  lines: { ...json.count, description: 'Its lines, or its consignments.' },
  problems: { ...json.count, description: 'How many `problems` the order itself shows.' },
  first_problem: { ...json.nullableText, description: 'The message of the first.' },
});

/** An order of a list; `summary` where it has one. */
export type ShownOrder = {
  readonly id: string;
  readonly summary?: { readonly problems?: unknown } | null;
  readonly [member: string]: unknown;
};

/** The relationship by which an order names its customer. */
export const customerOf = (tenant: Pick<Tenant, 'assetTypes' | 'orderModel'>): Relationship | undefined =>
  assetTypeOf(tenant, tenant.orderModel).relationships.find(({ name }) => name === 'buyer_customer_party');

type Source = { readonly queries: { readonly records: Pick<RecordQueries, 'listBehind' | 'find'> } };
type Search = { readonly source: Source; readonly tenant: Tenant; readonly cancellation: Cancellation };

/**
 * Adds `summary` to orders: null if they have more than MAX_CHECKED_PARTS parts together. Parts and named records are read for
 * all orders together.
 * @throws the cancellation's reason
 */
export async function withSummaries(
  source: Source,
  tenant: Tenant,
  orders: readonly RecordView[],
  cancellation: Cancellation,
): Promise<readonly ShownOrder[]> {
  const search = { source, tenant, cancellation };
  const table = tenant.orderModel;
  const parts = await partsOf(search, orders);
  const known = orders.flatMap((record): SnapshotPart[] => (parts.has(record.id) ? [{ table, record }] : []));
  const related = await relatedTo(search, [...known, ...[...parts.values()].flat()]);
  return orders.map((order) => {
    const own = parts.get(order.id);
    return { ...order, summary: own === undefined ? null : summaryOf(tenant, { table, order, parts: own, related }) };
  });
}

function summaryOf(tenant: Tenant, snapshot: ExportSnapshot) {
  const customer = customerOf(tenant);
  const [list] = partLists(assetTypeOf(tenant, tenant.orderModel));
  const buyer = customer && relatedRecord(snapshot, customer, snapshot.order);
  const problems = problemsOf(snapshot, tenant.assetTypes);
  return orderSummary.show({
    customer: buyer === undefined ? null : nameIn(buyer, 'name'),
    lines: snapshot.parts.filter(({ table }) => table === list?.table).length,
    problems: problems.length,
    firstProblem: problems[0]?.message ?? null,
  });
}

type PartsByOrder = Map<string, readonly SnapshotPart[]>;

/** By order, of all orders if they are few enough, and otherwise of the first ones. */
async function partsOf(search: Search, orders: readonly RecordView[]): Promise<PartsByOrder> {
  const ids = orders.map(({ id }) => id);
  const all = await partsOfAll(search, ids, MAX_CHECKED_PARTS);
  if (all !== undefined) return all;
  const parts: PartsByOrder = new Map();
  let left = MAX_CHECKED_PARTS;
  for (const id of ids) {
    const own = (await partsOfAll(search, [id], left))?.get(id);
    if (own === undefined) break;
    parts.set(id, own);
    left -= own.length;
  }
  return parts;
}

/** Undefined if they are more than `most`, or too large. Parts of one record are in the order of their creation. */
async function partsOfAll(
  { source, tenant, cancellation }: Search,
  orderIds: readonly string[],
  most: number,
): Promise<PartsByOrder | undefined> {
  const parts = new Map(orderIds.map((id): [string, SnapshotPart[]] => [id, []]));
  // The order that each of the records belongs to.
  const owners = new Map(orderIds.map((id) => [id, id]));
  let [count, bytes] = [0, 0];
  // Records of one table after the other, whose parts are looked for.
  const parents = [{ table: String(tenant.orderModel), ids: orderIds }];
  for (const { table: parent, ids: parentIds } of parents) {
    for (const { table, field } of partLists(assetTypeOf(tenant, parent))) {
      const ids: string[] = [];
      for (const anyOf of inGroups(parentIds)) {
        const query = {
          filters: [{ kind: 'equals', field, anyOf }],
          direction: 'asc',
          limit: most + 1,
        } as const;
        const page = await source.queries.records.listBehind({ tenant: tenant.name, table }, query, cancellation);
        const records = recordsIn(page.records);
        bytes += page.records.length;
        count += records.length;
        if (page.next !== undefined || count > most || bytes > MAX_PAGE_BYTES) return undefined;
        for (const record of records) {
          const owner = owners.get(nameIn(record, field)) ?? '';
          owners.set(record.id, owner);
          parts.get(owner)?.push({ table, record });
          ids.push(record.id);
        }
      }
      if (ids.length > 0) parents.push({ table, ids });
    }
  }
  return parts;
}

/** The reference records that the others name. Only what a summary shows is kept of each. */
async function relatedTo(
  { source, tenant, cancellation }: Search,
  records: readonly SnapshotPart[],
): Promise<ExportSnapshot['related']> {
  const related: Related = new Map();
  const find: SnapshotSource['find'] = async (table, key, values) => {
    cancellation.throwIfCancelled();
    const found = await source.queries.records.find({ tenant: tenant.name, table }, key, values);
    const shown = ({ fields }: StoredRecord) =>
      Object.entries(fields).filter(([name]) => name === key || name === 'name');
    return found.map((record) => ({ ...record, fields: Object.fromEntries(shown(record)) }));
  };
  await findRelated(find, (table) => assetTypeOf(tenant, table), records, related);
  return relatedIn(related);
}
