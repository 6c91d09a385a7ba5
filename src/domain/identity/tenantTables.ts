/**
 * The tables of a tenant: the standard tables of this release, each followed by the tenant's own fields, and the tenant's
 * own tables. A later release may add standard tables and fields anywhere, make fields filterable or sortable, and widen
 * them. If it brings a name that the tenant already uses, the tenant's own field or table stays: its values are in the log.
 */
import type { AssetField, AssetType } from '../assetTypes/assetType.js';
import { stockModel, transportModel } from '../assetTypes/standardTables.js';
import type { OrderModel } from './events.js';

export type Tables = ReadonlyMap<string, AssetType>;

/** The standard tables of an order model, by name. */
export const standardTables = (model: OrderModel): Tables =>
  new Map((model === 'dyn_stock_order' ? stockModel : transportModel).map((type) => [type.name, type]));

const without = (fields: readonly AssetField[], name: string): readonly AssetField[] =>
  fields.filter((field) => field.name !== name);

/** The table with a field of the tenant's own, after all others: a new one, or one that was retired. */
export const withOwnField = ({ retired, ...assetType }: AssetType, field: AssetField): AssetType => ({
  ...assetType,
  fields: [...without(assetType.fields, field.name), field],
  ...(retired && { retired: without(retired, field.name) }),
});

/** The table without this field of its own. */
export const withRetiredField = ({ retired = [], ...assetType }: AssetType, name: string): AssetType => ({
  ...assetType,
  fields: without(assetType.fields, name),
  retired: [...retired, ...assetType.fields.filter((field) => field.name === name)],
});

/** A table from an event. @throws Error when it is none: later, it would look like a failure of the engine */
export function ownTable(assetType: AssetType): AssetType {
  if (!Array.isArray(assetType.fields)) throw new Error('The event does not say which table was added.');
  return assetType;
}

/**
 * A table that was stored outside the log, in the form of this release.
 * @param kept as it was stored, maybe by an earlier release
 * @returns undefined for a standard table that no longer exists
 */
export function onThisRelease(standard: Tables, kept: AssetType): AssetType | undefined {
  if (kept.custom === true) return kept;
  const { fields, labels, retired } = kept;
  const own = fields.filter(({ custom }) => custom === true);
  const assetType = standard.get(kept.name);
  return (
    assetType && { ...own.reduce(withOwnField, assetType), ...(labels && { labels }), ...(retired && { retired }) }
  );
}
