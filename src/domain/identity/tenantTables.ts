/**
 * What a tenant's tables look like: the standard tables as this release has them, each with the tenant's own fields behind,
 * and the tenant's own tables. A later release may add standard tables and fields anywhere, make fields filterable or
 * sortable, and widen them. Where it brings a name that the tenant has given to a field or a table before, the tenant's own
 * stays: its values are in the log.
 */
import type { AssetField, AssetType } from '../assetTypes/assetType.js';
import { FIELD_TYPES } from '../assetTypes/fieldTypes.js';
import { stockModel } from '../assetTypes/stockModel.js';
import { transportModel } from '../assetTypes/transportModel.js';
import type { OrderModel } from './events.js';

export type Tables = ReadonlyMap<string, AssetType>;

/** The tables that a tenant of this model has from the beginning, by name. */
export const standardTables = (model: OrderModel): Tables =>
  new Map((model === 'dyn_stock_order' ? stockModel : transportModel).map((type) => [type.name, type]));

/** With a field of the tenant's own, behind all others. @throws Error where it is none */
export function withOwnField(assetType: AssetType, field: AssetField): AssetType {
  checkField(field);
  return { ...assetType, fields: [...assetType.fields.filter(({ name }) => name !== field.name), field] };
}

/** What is made of it would fail in an engine, as if that had failed. @throws Error where it is no table of the tenant's own */
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
 * A table that was kept outside of the log, as this release has it.
 * @param kept as it was when it was kept, maybe by an earlier release
 * @returns undefined where it was a standard table that there is no more
 */
export function onThisRelease(standard: Tables, kept: AssetType): AssetType | undefined {
  if (kept.custom === true) return kept;
  const own = kept.fields.filter(({ custom }) => custom === true);
  const assetType = standard.get(kept.name);
  return assetType && own.reduce(withOwnField, assetType);
}
