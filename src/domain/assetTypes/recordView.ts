/** A record as answers, webhooks and exports show it. */
import type { AssetType } from './assetType.js';
import type { Fields } from './fieldTypes.js';

/** id, created_at, updated_at, then every field of the asset type, null where unset. */
export type RecordView = { readonly id: string; readonly created_at: string; readonly updated_at: string } & Fields;

export function recordView(
  assetType: AssetType,
  record: { readonly id: string; readonly createdAt: string; readonly updatedAt: string; readonly fields: Fields },
): RecordView {
  const fields = Object.fromEntries(assetType.fields.map((field) => [field.name, record.fields[field.name] ?? null]));
  return { id: record.id, created_at: record.createdAt, updated_at: record.updatedAt, ...fields };
}
