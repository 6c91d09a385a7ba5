/**
 * The tables of a tenant: the standard tables of this release, each followed by the tenant's own fields, and the tenant's
 * own tables. A later release may add standard tables and fields anywhere, make fields filterable or sortable, and widen
 * them. If it brings a name that the tenant already uses, the tenant's own field or table stays: its values are in the log.
 */
import type { AssetField, AssetType } from '../assetTypes/assetType.js';
import { FIELD_TYPES } from '../assetTypes/fieldTypes.js';
import { stockModel } from '../assetTypes/stockModel.js';
import { transportModel } from '../assetTypes/transportModel.js';
import type { OrderModel } from './events.js';

export type Tables = ReadonlyMap<string, AssetType>;

/** The standard tables of an order model, by name. */
export const standardTables = (model: OrderModel): Tables =>
  new Map((model === 'dyn_stock_order' ? stockModel : transportModel).map((type) => [type.name, type]));

/** The table with a field of the tenant's own, after all others. @throws Error when the event describes no field */
export function withOwnField(assetType: AssetType, field: AssetField): AssetType {
  checkField(field);
  return { ...assetType, fields: [...assetType.fields.filter(({ name }) => name !== field.name), field] };
}

/** Checks a table from an event: a bad one would later look like a failure of the engine. @throws Error when it is no table */
export function ownTable(assetType: AssetType): AssetType {
  const { name, fields } = assetType;
  if (typeof name !== 'string' || !Array.isArray(fields)) {
    throw new Error('The event does not say rightly which table was added.');
  }
  fields.forEach(checkField);
  return assetType;
}

function checkField({ name, type }: AssetField): void {
  if (typeof name !== 'string' || !FIELD_TYPES.includes(type)) {
    throw new Error('The event does not say rightly which field was added.');
  }
}

/**
 * A table that was stored outside the log, in the form of this release.
 * @param kept as it was stored, maybe by an earlier release
 * @returns undefined for a standard table that no longer exists
 */
export function onThisRelease(standard: Tables, kept: AssetType): AssetType | undefined {
  if (kept.custom === true) return kept;
  const own = kept.fields.filter(({ custom }) => custom === true);
  const assetType = standard.get(kept.name);
  return assetType && own.reduce(withOwnField, assetType);
}
