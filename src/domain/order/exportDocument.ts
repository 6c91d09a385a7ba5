/** The `validated_order` document of an export (spec §2.3), made from what was approved. */
import type { AssetType, RecordView, Relationship } from '../assetTypes/assetType.js';
import { type FieldValue, ownValue } from '../assetTypes/fieldTypes.js';
import type { User } from '../identity/events.js';
import { MAX_ORDER_DOCUMENT } from '../limits.js';

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

/**
 * Everything an export is made of. Records that several lines name (items, unit codes) are held once,
 * so that an order of many lines stays a small event.
 */
export type ExportSnapshot = {
  readonly table: string;
  readonly order: RecordView;
  readonly parts: readonly { readonly table: string; readonly record: RecordView }[];
  /** By table, then by the value that names them. */
  readonly related: { readonly [table: string]: { readonly [key: string]: RecordView } };
};

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
 * @throws OrderDocumentTooLargeError
 */
export function orderDocument(
  snapshot: ExportSnapshot,
  approval: Approval | undefined,
  assetTypes: ReadonlyMap<string, AssetType>,
): ExportDocument {
  return {
    ...expand(snapshot.table, snapshot.order, {
      snapshot,
      assetTypes,
      children: childrenIn(snapshot.parts),
      add: documentSize(),
    }),
    approved_at: approval === undefined ? null : toSpacedDateTime(approval.approvedAt),
    approved_by: approval?.approver.id ?? null,
    approver: approval?.approver ?? null,
  };
}

type Part = ExportSnapshot['parts'][number];

/** What a document is made of. */
type Source = {
  readonly snapshot: ExportSnapshot;
  readonly assetTypes: ReadonlyMap<string, AssetType>;
  /** Counts one more occurrence. */
  readonly add: (record: RecordView) => void;
  readonly children: (relation: Relationship, id: string) => readonly Part[];
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

/** The parts that name a record, found without going through all parts for each record: there may be thousands of both. */
function childrenIn(parts: readonly Part[]): Source['children'] {
  const indexes = new Map<string, ReadonlyMap<unknown, readonly Part[]>>();
  return ({ table, field }, id) => {
    const name = `${table}.${field}`;
    const index = indexes.get(name) ?? indexOf(parts, table, field);
    indexes.set(name, index);
    return index.get(id) ?? [];
  };
}

/** The parts of one table by what they have in a field. */
function indexOf(parts: readonly Part[], table: string, field: string): ReadonlyMap<unknown, readonly Part[]> {
  const index = new Map<unknown, Part[]>();
  for (const part of parts) {
    if (part.table !== table) continue;
    const value = ownValue(part.record, field);
    const those = index.get(value);
    if (those === undefined) index.set(value, [part]);
    else those.push(part);
  }
  return index;
}

/** A record with its relations: objects for belongs_to, arrays for has_many. Related records are expanded one level more. */
function expand(table: string, record: RecordView, source: Source): ExportDocument {
  const { snapshot, assetTypes, children, add } = source;
  add(record);
  const document: Record<string, unknown> = { ...record };
  for (const relation of assetTypes.get(table)?.relationships ?? []) {
    if (relation.kind === 'has_many') {
      document[relation.name] = children(relation, record.id).map((part) => expand(part.table, part.record, source));
    } else if (assetTypes.get(relation.table)?.role === 'reference') {
      const related = relatedRecord(snapshot, relation.table, String(ownValue(record, relation.field) ?? ''));
      document[relation.name] = related === undefined ? null : expand(relation.table, related, source);
    }
  }
  if (table === 'dyn_item') document.category = category(record);
  return document;
}

/** Keys come from the integrator, so only own properties count. */
function relatedRecord(snapshot: ExportSnapshot, table: string, key: string): RecordView | undefined {
  const records = snapshot.related[table];
  return records !== undefined && Object.hasOwn(records, key) ? records[key] : undefined;
}

const category = (item: RecordView): { id: FieldValue; name: FieldValue } | null =>
  (item.category_id ?? null) === null ? null : { id: item.category_id ?? null, name: item.category_name ?? null };
