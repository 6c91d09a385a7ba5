/** The `validated_order` document of an export (spec §2.3), made from the approved snapshot. */
import type { AssetType, RecordView, Relationship } from '../assetTypes/assetType.js';
import type { FieldValue } from '../assetTypes/fieldTypes.js';
import type { User } from '../identity/events.js';
import { MAX_ORDER_DOCUMENT } from '../limits.js';
import { type ChildrenOf, childrenIn, type ExportSnapshot, nameIn, relatedRecord } from './snapshot.js';

/** Who approved an order. */
export type Approver = {
  readonly id: number;
  readonly first_name: string;
  readonly last_name: string;
  readonly locale: string;
  readonly email: string;
};

export const approverOf = ({ id, firstName, lastName, locale, email }: User): Approver => ({
  id,
  first_name: firstName,
  last_name: lastName,
  locale,
  email,
});

/** A record that thousands of lines refer to is in the document thousands of times. */
export class OrderDocumentTooLargeError extends Error {
  override readonly name = 'OrderDocumentTooLargeError';
  constructor() {
    super(
      `The order with the records that it names has more than ${MAX_ORDER_DOCUMENT} characters. Make them smaller.`,
    );
  }
}

export type ExportDocument = { readonly [key: string]: unknown };

/** Turns `2026-11-21T03:11:47.123456Z` into `2026-11-21 03:11:47`, the form of approved_at (spec §2.3). */
const toSpacedDateTime = (timestamp: string): string => timestamp.slice(0, 19).replace('T', ' ');

export type Approval = { readonly approvedAt: string; readonly approver: Approver };

/** The order as its approval sent it. */
export function exportDocument(
  snapshot: ExportSnapshot,
  approval: Approval,
  assetTypes: ReadonlyMap<string, AssetType>,
): ExportDocument {
  return { ...orderDocument(snapshot, approval, assetTypes), processing_status: 'submitted', error_reason: null };
}

/**
 * The order with the status that it has in the snapshot: the API's view of it, with parts, related records and approver
 * expanded.
 * @param approval the latest; undefined before the first
 * @param missing how to show a related record that is promised or referred to and does not exist; `left_out` says why
 * @throws OrderDocumentTooLargeError
 */
export function orderDocument(
  snapshot: ExportSnapshot,
  approval: Approval | undefined,
  assetTypes: ReadonlyMap<string, AssetType>,
  missing: 'left out' | 'null' = 'left out',
): ExportDocument {
  const leftOut: { field: string; reason: string }[] = [];
  const source: Source = {
    snapshot,
    assetTypes,
    children: childrenIn(snapshot.parts),
    add: documentSize(),
    leaveOut: missing === 'null' ? undefined : (field, reason) => leftOut.push({ field, reason }),
  };
  return {
    ...expand(snapshot.table, snapshot.order, source, ''),
    ...(leftOut.length === 0 ? {} : { left_out: leftOut }),
    approved_at: approval === undefined ? null : toSpacedDateTime(approval.approvedAt),
    approved_by: approval?.approver.id ?? null,
    approver: approval?.approver ?? null,
  };
}

type Source = {
  readonly snapshot: ExportSnapshot;
  readonly assetTypes: ReadonlyMap<string, AssetType>;
  /** Adds one more occurrence to the size. */
  readonly add: (record: RecordView) => void;
  readonly children: ChildrenOf;
  /** Reports what is left out; undefined: it is null instead. */
  readonly leaveOut: ((field: string, reason: string) => void) | undefined;
};

/** Adds up the sizes of records; each is measured once. */
function documentSize(): Source['add'] {
  const lengths = new Map<RecordView, number>();
  let length = 0;
  return (record) => {
    const known = lengths.get(record) ?? lengthOf(record);
    lengths.set(record, known);
    length += known;
    if (length > MAX_ORDER_DOCUMENT) throw new OrderDocumentTooLargeError();
  };
}

/** Roughly the length of its JSON. */
const lengthOf = (record: RecordView): number =>
  Object.entries(record).reduce(
    (length, [name, value]) => length + name.length + (typeof value === 'string' ? value.length : lengthOfOther(value)),
    0,
  );

const lengthOfOther = (value: unknown): number => (Array.isArray(value) ? JSON.stringify(value).length : 8);

/** Related records that every export of an order has (spec §2.3), even if the order refers to none; others may be null. */
const PROMISED: { readonly [table: string]: readonly string[] } = {
  dyn_stock_order: ['buyer_customer_party', 'accounting_customer_party'],
  dyn_transport_order: ['buyer_customer_party', 'accounting_customer_party'],
  dyn_order_line: ['item', 'unit_code'],
};

export const isPromised = (table: string, relation: string): boolean => PROMISED[table]?.includes(relation) === true;

/** A record with its relations: an object for belongs_to, an array for has_many; expands related records in turn. */
function expand(table: string, record: RecordView, source: Source, path: string): ExportDocument {
  const { snapshot, assetTypes, children, add, leaveOut } = source;
  const type = assetTypes.get(table);
  add(record);
  const document: Record<string, unknown> = { ...record };
  for (const relation of type?.relationships ?? []) {
    const { name, field } = relation;
    if (relation.kind === 'has_many') {
      document[name] = children(relation, record.id).map((part, index) =>
        expand(part.table, part.record, source, `${path}${name}.${index}.`),
      );
    } else if (assetTypes.get(relation.table)?.role === 'reference') {
      const related = relatedRecord(snapshot, relation, record);
      if (related !== undefined) document[name] = expand(relation.table, related, source, `${path}${name}.`);
      else {
        const reason = type?.role === 'reference' ? undefined : whyMissing(table, relation, nameIn(record, field));
        if (reason === undefined || leaveOut === undefined) document[name] = null;
        else leaveOut(`${path}${name}`, reason);
      }
    }
  }
  if (table === 'dyn_item') document.category = category(record);
  return document;
}

/** Undefined when the record is neither promised nor referred to. */
function whyMissing(table: string, relation: Relationship, named: string): string | undefined {
  if (named !== '') return `There was no record of ${relation.table} with the ${relation.key} ${named}.`;
  return isPromised(table, relation.name) ? `The ${relation.field} field is not set.` : undefined;
}

const category = (item: RecordView): { id: FieldValue; name: FieldValue } | null =>
  (item.category_id ?? null) === null ? null : { id: item.category_id ?? null, name: item.category_name ?? null };
