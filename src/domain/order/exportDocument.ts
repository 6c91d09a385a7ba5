/** The `validated_order` document of an export (spec §2.3), made from what was approved. */
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

/** A record that thousands of lines name is in the document thousands of times. */
export class OrderDocumentTooLargeError extends Error {
  override readonly name = 'OrderDocumentTooLargeError';
  constructor() {
    super(
      `The order with the records that it names has more than ${MAX_ORDER_DOCUMENT} characters. Make them smaller.`,
    );
  }
}

export type ExportDocument = { readonly [key: string]: unknown };

/** `2026-11-21T03:11:47.123456Z` as `2026-11-21 03:11:47`, the form of approved_at (spec §2.3). */
export const toSpacedDateTime = (timestamp: string): string => timestamp.slice(0, 19).replace('T', ' ');

export type Approval = { readonly approvedAt: string; readonly approver: Approver };

/** The order as it was sent by its approval. */
export function exportDocument(
  snapshot: ExportSnapshot,
  approval: Approval,
  assetTypes: ReadonlyMap<string, AssetType>,
): ExportDocument {
  return { ...orderDocument(snapshot, approval, assetTypes), processing_status: 'submitted', error_reason: null };
}

/**
 * The order with the status it has in the snapshot. Reads like the API's view of it, with parts, related records and
 * approver expanded.
 * @param approval the latest; undefined before the first
 * @param missing what becomes of an object that is promised, or named, and is not there; `left_out` says why
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

/** What a document is made of. */
type Source = {
  readonly snapshot: ExportSnapshot;
  readonly assetTypes: ReadonlyMap<string, AssetType>;
  /** Counts one more occurrence. */
  readonly add: (record: RecordView) => void;
  readonly children: ChildrenOf;
  /** Takes what is left out; undefined where it is to be null. */
  readonly leaveOut: ((field: string, reason: string) => void) | undefined;
};

/** Adds up what the document's records have, each looked at once. */
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

/** Roughly that of its JSON text. */
const lengthOf = (record: RecordView): number =>
  Object.entries(record).reduce(
    (length, [name, value]) => length + name.length + (typeof value === 'string' ? value.length : lengthOfOther(value)),
    0,
  );

const lengthOfOther = (value: unknown): number => (Array.isArray(value) ? JSON.stringify(value).length : 8);

/** Objects that every export of an order promises (spec §2.3), whether the order names them or not; others may be null. */
const PROMISED: { readonly [table: string]: readonly string[] } = {
  dyn_stock_order: ['buyer_customer_party', 'accounting_customer_party'],
  dyn_transport_order: ['buyer_customer_party', 'accounting_customer_party'],
  dyn_order_line: ['item', 'unit_code'],
};

export const isPromised = (table: string, relation: string): boolean => PROMISED[table]?.includes(relation) === true;

/** A record with its relations: objects for belongs_to, arrays for has_many. Related records are expanded one level more. */
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

/** Undefined where nothing was promised, or named. */
function whyMissing(table: string, relation: Relationship, named: string): string | undefined {
  if (named !== '') return `There was no record of ${relation.table} with the ${relation.key} ${named}.`;
  return isPromised(table, relation.name) ? `The ${relation.field} field is not set.` : undefined;
}

const category = (item: RecordView): { id: FieldValue; name: FieldValue } | null =>
  (item.category_id ?? null) === null ? null : { id: item.category_id ?? null, name: item.category_name ?? null };
