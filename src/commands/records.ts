/** Create and update of a record of any table (spec §4.5, §4.6): checks the body, then goes where the kind of table leads. */
import type { AssetType } from '../domain/assetTypes/assetType.js';
import { type BodyKind, checkRecord, type RecordInput } from '../domain/assetTypes/recordSchema.js';
import type { WrittenRecord } from './context.js';
import { type Caller, type Commands, ValidationError } from './context.js';
import { createOrderRecord, createPartRecord, updateOrderRecord, updatePartRecord } from './orders/orderRecords.js';
import { createReferenceRecord, updateReferenceRecord } from './referenceTables/writeRecord.js';
import { recordId } from './tables.js';

const creators = { reference: createReferenceRecord, order: createOrderRecord, part: createPartRecord };
const updaters = { reference: updateReferenceRecord, order: updateOrderRecord, part: updatePartRecord };

/**
 * @param body a JSON object of asset fields; may name its own `id` (a UUID that is not taken)
 * @throws ValidationError with every error by field
 */
export async function createRecord(
  commands: Commands,
  caller: Caller,
  assetType: AssetType,
  body: unknown,
): Promise<WrittenRecord> {
  return creators[assetType.role](commands, caller, assetType, checked(assetType, 'create', body));
}

/**
 * @param body a JSON object of the fields to change; what it does not name stays
 * @throws NotFoundError for an unknown record; ValidationError with every error by field
 */
export async function updateRecord(
  commands: Commands,
  caller: Caller,
  assetType: AssetType,
  id: string,
  body: unknown,
): Promise<WrittenRecord> {
  const known = recordId(assetType.name, id);
  return updaters[assetType.role](commands, caller, assetType, known, checked(assetType, 'update', body));
}

function checked(assetType: AssetType, kind: BodyKind, body: unknown): RecordInput {
  const result = checkRecord(assetType, kind, body);
  if (!result.ok) throw new ValidationError(result.errors);
  return result.input;
}
