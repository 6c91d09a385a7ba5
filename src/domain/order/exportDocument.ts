/** The `validated_order` document of an export (spec §2.3), made from what was approved. */
import type { AssetType, RecordView } from '../assetTypes/assetType.js';
import type { FieldValue } from '../assetTypes/fieldTypes.js';
import type { User } from '../identity/events.js';

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
 */
export function orderDocument(
  snapshot: ExportSnapshot,
  approval: Approval | undefined,
  assetTypes: ReadonlyMap<string, AssetType>,
): ExportDocument {
  return {
    ...expand(snapshot.table, snapshot.order, snapshot, assetTypes),
    approved_at: approval === undefined ? null : toSpacedDateTime(approval.approvedAt),
    approved_by: approval?.approver.id ?? null,
    approver: approval?.approver ?? null,
  };
}

/** A record with its relations: objects for belongs_to, arrays for has_many. Related records are expanded one level more. */
function expand(
  table: string,
  record: RecordView,
  snapshot: ExportSnapshot,
  assetTypes: ReadonlyMap<string, AssetType>,
): ExportDocument {
  const document: Record<string, unknown> = { ...record };
  for (const relation of assetTypes.get(table)?.relationships ?? []) {
    if (relation.kind === 'has_many') {
      document[relation.name] = snapshot.parts
        .filter((part) => part.table === relation.table && part.record[relation.field] === record.id)
        .map((part) => expand(part.table, part.record, snapshot, assetTypes));
    } else if (assetTypes.get(relation.table)?.role === 'reference') {
      const related = relatedRecord(snapshot, relation.table, String(record[relation.field] ?? ''));
      document[relation.name] = related === undefined ? null : expand(relation.table, related, snapshot, assetTypes);
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
