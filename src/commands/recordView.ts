/** How a record looks to whoever wrote it: the same as a later read shows it. */
import type { AssetType } from '../domain/assetTypes/assetType.js';
import type { Fields } from '../domain/assetTypes/fieldTypes.js';
import type { Position } from '../ports/eventStore.js';

/** id, created_at, updated_at, then every field of the asset type, null where unset. */
export type RecordView = { readonly id: string; readonly created_at: string; readonly updated_at: string } & Fields;

export type WrittenRecord = {
  /** Position of the write; a read model that has reached it shows the record. 0 when nothing changed. */
  readonly position: Position;
  readonly id: string;
  readonly record: RecordView;
};

export function recordView(
  assetType: AssetType,
  record: { readonly id: string; readonly createdAt: string; readonly updatedAt: string; readonly fields: Fields },
): RecordView {
  const fields = Object.fromEntries(assetType.fields.map((field) => [field.name, record.fields[field.name] ?? null]));
  return { id: record.id, created_at: record.createdAt, updated_at: record.updatedAt, ...fields };
}
