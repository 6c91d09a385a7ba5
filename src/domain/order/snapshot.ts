/** The snapshot that an export is made of, and look-ups in it. */
import type { AssetType, RecordView, Relationship } from '../assetTypes/assetType.js';
import { type Fields, ownValue } from '../assetTypes/fieldTypes.js';

export type AssetTypes = ReadonlyMap<string, AssetType>;

/**
 * Everything that an export is made of. A record that several lines refer to (items, unit codes) is in it once, so that an
 * order of many lines stays a small event.
 */
export type ExportSnapshot = {
  readonly table: string;
  readonly order: RecordView;
  readonly parts: readonly SnapshotPart[];
  /** By table, then by the value that refers to them. */
  readonly related: { readonly [table: string]: { readonly [key: string]: RecordView } };
};

export type SnapshotPart = { readonly table: string; readonly record: RecordView };

/** Finds the parts that refer to a record, by an index: there may be a thousand of both. */
export function childrenIn(parts: readonly SnapshotPart[]) {
  const indexes = new Map<string, Map<unknown, SnapshotPart[]>>();
  return ({ table, field }: Relationship, id: string): readonly SnapshotPart[] => {
    const index = indexes.get(table) ?? new Map<unknown, SnapshotPart[]>();
    if (!indexes.has(table)) {
      for (const part of parts.filter((each) => each.table === table)) {
        const parent = ownValue(part.record, field);
        index.set(parent, [...(index.get(parent) ?? []), part]);
      }
    }
    indexes.set(table, index);
    return index.get(id) ?? [];
  };
}

/** The reference record that a relation leads to. Keys come from the integrator, so only own properties count. */
export function relatedRecord(
  { related }: ExportSnapshot,
  { table, field }: Relationship,
  record: RecordView,
): RecordView | undefined {
  const key = nameIn(record, field);
  const records = related[table];
  return records !== undefined && Object.hasOwn(records, key) ? records[key] : undefined;
}

/** Whether it leads to a record of Reference Data, which may not exist. */
export const isReference = (assetTypes: AssetTypes, { kind, table }: Relationship): boolean =>
  kind === 'belongs_to' && assetTypes.get(table)?.role === 'reference';

/** The reference in a field; '' when there is none. */
export const nameIn = (record: Fields, field: string): string => String(ownValue(record, field) ?? '');
