/**
 * What a tenant's tables look like: the standard tables as this release has them, each with the tenant's own fields behind,
 * and the tenant's own tables. A later release may add standard tables and fields anywhere, make fields filterable or
 * sortable, and widen them. Where it brings a name that the tenant has given to a field or a table before, the tenant's own
 * stays: its values are in the log.
 */
import type { AssetField, AssetType } from '../assetTypes/assetType.js';
import { stockModel } from '../assetTypes/stockModel.js';
import { transportModel } from '../assetTypes/transportModel.js';
import type { OrderModel } from './events.js';

export type Tables = ReadonlyMap<string, AssetType>;

/** The tables that a tenant of this model has from the beginning, by name. */
export const standardTables = (model: OrderModel): Tables =>
  new Map((model === 'dyn_stock_order' ? stockModel : transportModel).map((type) => [type.name, type]));

/** With a field of the tenant's own, behind all others. */
export const withOwnField = (assetType: AssetType, field: AssetField): AssetType => ({
  ...assetType,
  fields: [...assetType.fields.filter(({ name }) => name !== field.name), field],
});

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
