/** What a list of orders shows of each beside its fields: its customer, how many lines it has, and its problems. */
import { partLists } from '../commands/orders/givenParts.js';
import { assetTypeOf } from '../commands/tables.js';
import type { RecordView, Relationship } from '../domain/assetTypes/assetType.js';
import { ownValue } from '../domain/assetTypes/fieldTypes.js';
import type { Tenant } from '../domain/identity/directory.js';
import { MAX_PAGE_BYTES, MAX_SUMMARY_PARTS } from '../domain/limits.js';
import { problemsOf } from '../domain/order/problems.js';
import { type ExportSnapshot, nameIn, relatedRecord, type SnapshotPart } from '../domain/order/snapshot.js';
import type { RecordQueries } from '../queries/records.js';
import type { StoredRecord } from '../queries/storedRecord.js';
import type { Cancellation } from '../supervision/cancellation.js';
import * as json from './openapi/schema.js';
import { type PageText, recordsOf, textsOf } from './pageRecords.js';

type Summary = {
  readonly customer: string | null;
  readonly lines: number;
  readonly problems: number;
  readonly firstProblem: string | null;
};

export const orderSummary = json.view<Summary>({
  customer: [{ ...json.nullableText, description: "The name of the buyer's party." }, ({ customer }) => customer],
  lines: [{ ...json.count, description: 'Its lines, or its consignments.' }, ({ lines }) => lines],
  problems: [{ ...json.count, description: 'How many `problems` the order itself shows.' }, ({ problems }) => problems],
  first_problem: [
    { ...json.nullableText, description: 'The message of the first.' },
    ({ firstProblem }) => firstProblem,
  ],
});

/** The relationship by which an order names its customer. */
export const customerOf = (tenant: Pick<Tenant, 'assetTypes' | 'orderModel'>): Relationship | undefined =>
  assetTypeOf(tenant, tenant.orderModel).relationships.find(({ name }) => name === 'buyer_customer_party');

type Source = { readonly queries: { readonly records: Pick<RecordQueries, 'listBehind' | 'find'> } };
type Search = { readonly source: Source; readonly tenant: Tenant; readonly cancellation: Cancellation };

/**
 * Adds `summary` to the orders of a page: null for those from which on there would be more than MAX_SUMMARY_PARTS parts to
 * look at. Parts and named records are read for all orders together.
 * @throws the cancellation's reason
 */
export async function withSummaries(
  source: Source,
  tenant: Tenant,
  page: PageText,
  cancellation: Cancellation,
): Promise<string> {
  const search = { source, tenant, cancellation };
  const texts = textsOf(page);
  const orders = recordsOf(page);
  const parts = await partsOf(search, orders);
  const known = orders.filter(({ id }) => parts.has(id));
  const heads = known.map((record): SnapshotPart => ({ table: tenant.orderModel, record }));
  const related = await relatedTo(search, [...heads, ...[...parts.values()].flat()]);
  const summaries = orders.map((order) => {
    const own = parts.get(order.id);
    if (own === undefined) return null;
    return summaryOf(tenant, { table: tenant.orderModel, order, parts: own, related });
  });
  return texts.map(({ text }, n) => `${text.slice(0, -1)},"summary":${JSON.stringify(summaries[n])}}`).join();
}

function summaryOf(tenant: Tenant, snapshot: ExportSnapshot): object {
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
  const all = await partsOfAll(search, ids, MAX_SUMMARY_PARTS);
  if (all !== undefined) return all;
  const parts: PartsByOrder = new Map();
  let left = MAX_SUMMARY_PARTS;
  for (const id of ids) {
    const own = (await partsOfAll(search, [id], left))?.get(id);
    if (own === undefined) break;
    parts.set(id, own);
    left -= own.length;
  }
  return parts;
}

/** Values that one query names. */
const VALUES_AT_ONCE = 100;

function* inGroups<T>(values: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < values.length; from += VALUES_AT_ONCE) yield values.slice(from, from + VALUES_AT_ONCE);
}

/** Records of one table, whose parts are looked for. */
type Level = { readonly table: string; readonly ids: readonly string[] };

/** Undefined if they are more than `most`, or too large. Parts of one record are in the order of their creation. */
async function partsOfAll(
  { source, tenant, cancellation }: Search,
  orderIds: readonly string[],
  most: number,
): Promise<PartsByOrder | undefined> {
  const parts = new Map(orderIds.map((id): [string, SnapshotPart[]] => [id, []]));
  // The order that each of the records belongs to.
  const owners = new Map(orderIds.map((id) => [id, id]));
  let count = 0;
  let bytes = 0;
  let above: readonly Level[] = [{ table: tenant.orderModel, ids: orderIds }];
  while (above.length > 0) {
    const below: Level[] = [];
    for (const { table: parent, ids: parentIds } of above) {
      for (const { table, field } of partLists(assetTypeOf(tenant, parent))) {
        const ids: string[] = [];
        for (const anyOf of inGroups(parentIds)) {
          const query = { filters: [{ kind: 'equals', field, anyOf }], direction: 'asc', limit: most + 1 } as const;
          const page = await source.queries.records.listBehind({ tenant: tenant.name, table }, query, cancellation);
          bytes += page.records.length;
          const records = await recordsOf(page.records);
          count += records.length;
          if (page.next !== undefined || count > most || bytes > MAX_PAGE_BYTES) return undefined;
          for (const record of records) {
            const owner = owners.get(nameIn(record, field)) ?? '';
            owners.set(record.id, owner);
            parts.get(owner)?.push({ table, record });
            ids.push(record.id);
          }
        }
        if (ids.length > 0) below.push({ table, ids });
      }
    }
    above = below;
  }
  return parts;
}

/** The reference records that the others name. Only what a summary shows is kept of each. */
async function relatedTo(
  { source, tenant, cancellation }: Search,
  records: readonly SnapshotPart[],
): Promise<ExportSnapshot['related']> {
  const wanted = new Map<string, { readonly relation: Relationship; readonly values: Set<string> }>();
  for (const { table, record } of records) {
    for (const relation of assetTypeOf(tenant, table).relationships) {
      const value = nameIn(record, relation.field);
      const isReference = relation.kind === 'belongs_to' && assetTypeOf(tenant, relation.table).role === 'reference';
      if (!isReference || value === '') continue;
      const name = `${relation.table}.${relation.key}`;
      const entry = wanted.get(name) ?? { relation, values: new Set() };
      wanted.set(name, entry);
      entry.values.add(value);
    }
  }
  const found = new Map<string, Map<string, RecordView>>();
  const read = async ({ table, key }: Relationship, values: readonly string[]): Promise<void> => {
    const ofTable = found.get(table) ?? new Map<string, RecordView>();
    found.set(table, ofTable);
    for (const some of inGroups(values)) {
      cancellation.throwIfCancelled();
      const stored = await source.queries.records.find({ tenant: tenant.name, table }, key, some);
      for (const record of stored) ofTable.set(keyIn(record, key), shownOf(record));
    }
  };
  await Promise.all([...wanted.values()].map(({ relation, values }) => read(relation, [...values])));
  return Object.fromEntries([...found].map(([table, ofTable]) => [table, Object.fromEntries(ofTable)]));
}

const keyIn = ({ id, fields }: StoredRecord, key: string): string =>
  key === 'id' ? id : String(ownValue(fields, key));

const shownOf = ({ id, createdAt, updatedAt, fields }: StoredRecord): RecordView => ({
  id,
  created_at: createdAt,
  updated_at: updatedAt,
  name: ownValue(fields, 'name') ?? null,
});
