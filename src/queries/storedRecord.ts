/** A row as decisions take it. */
import type { AssetType } from '../domain/assetTypes/assetType.js';
import type { Fields } from '../domain/assetTypes/fieldTypes.js';
import type { StoredRow } from '../ports/rowStore.js';

export type StoredRecord = {
  readonly id: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly batchId: string | null;
  /** All fields of the asset type; null if unset. */
  readonly fields: Fields;
};

export function recordOf(
  { id, created: createdAt, updated: updatedAt, batch: batchId, data }: StoredRow | Omit<StoredRow, 'key'>,
  assetType: AssetType,
): StoredRecord {
  const fields = JSON.parse(data);
  for (const { name } of assetType.fields) if (!Object.hasOwn(fields, name)) fields[name] = null;
  return { id, createdAt, updatedAt, batchId, fields };
}
