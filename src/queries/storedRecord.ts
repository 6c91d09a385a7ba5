/** A row as decisions take it, and as it is sent. */
import { type AssetType, recordView } from '../domain/assetTypes/assetType.js';
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
  { id, created: createdAt, updated: updatedAt, batch: batchId, data }: StoredRow,
  assetType: Pick<AssetType, 'fields'>,
): StoredRecord {
  const fields = JSON.parse(data);
  for (const { name } of assetType.fields) if (!Object.hasOwn(fields, name)) fields[name] = null;
  return { id, createdAt, updatedAt, batchId, fields };
}

/** A record as JSON text, as it is sent: id, created_at, updated_at, then each field of the asset type. */
export type RecordJson = string;

export const rowText = (
  { id, created: createdAt, updated: updatedAt, data }: StoredRow,
  assetType: Pick<AssetType, 'fields'>,
): RecordJson => JSON.stringify(recordView(assetType, { id, createdAt, updatedAt, fields: JSON.parse(data) }));

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** An id in lower case, as it is stored; undefined if the text is no UUID. */
export const storedId = (id: string): string | undefined => (UUID.test(id) ? id.toLowerCase() : undefined);
