/** Tables and spaces that were stored outside the log, in the form of this release. */
import type { AssetType } from '../domain/assetTypes/assetType.js';
import { ORDER_MODELS, type OrderModel } from '../domain/identity/events.js';
import { standardTables, type Tables, withOwnField } from '../domain/identity/tenantTables.js';
import { SERVICE_SPACES } from '../domain/spaces.js';

/**
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

/** Definitions that were compared, with their form: comparing all of a tenant takes longer than all else of a small write. */
const FORMS: { readonly [model in OrderModel]: WeakMap<AssetType, AssetType> } = {
  dyn_stock_order: new WeakMap(),
  dyn_transport_order: new WeakMap(),
};

/**
 * A tenant's spaces in the form of this release, and those that it has added; the same object where a space is as it was. None
 * for a tenant without a table of orders: it was not created yet.
 * @param stored by an earlier release, maybe
 */
export function spacesOnThisRelease(stored: Tables): Map<string, AssetType> {
  const model = ORDER_MODELS.find((name) => stored.has(name));
  if (model === undefined) return new Map();
  const standard = new Map([...standardTables(model), ...SERVICE_SPACES]);
  const forms = FORMS[model];
  const onRelease = (kept: AssetType): AssetType => {
    const known = forms.get(kept);
    if (known !== undefined) return known;
    const now = onThisRelease(standard, kept) ?? kept;
    const form = JSON.stringify(now) === JSON.stringify(kept) ? kept : now;
    forms.set(kept, form);
    return form;
  };
  return new Map([...standard, ...[...stored].map(([name, kept]) => [name, onRelease(kept)] as const)]);
}
