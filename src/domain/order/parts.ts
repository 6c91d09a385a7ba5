/** Lists of parts in the body of an order: decides which parts are added, changed and removed. Pure. */
import type { AssetType } from '../assetTypes/assetType.js';
import type { FieldErrorList } from '../assetTypes/fieldErrors.js';
import { ownValue } from '../assetTypes/fieldTypes.js';
import { checkRecord, type RecordInput } from '../assetTypes/recordSchema.js';
import { MAX_ORDER_PARTS } from '../limits.js';
import { changedFields, withoutNulls } from '../referenceTable/decide.js';
import type { PartChanges, PartFields, PartsChange } from './events.js';
import { type OrderPart, toChanges } from './order.js';

/** A part in a body. */
export type SentPart = {
  /** Path in the body, such as `consignments.0.goods.1`, for errors. */
  readonly path: string;
  readonly assetType: AssetType;
  /** Of a part that the order has, if the body names one; otherwise new. */
  readonly id: string;
  readonly isNamed: boolean;
  /** Id of the order, or of the part that contains it. */
  readonly parentId: string;
  /** Unchecked. */
  readonly body: { readonly [field: string]: unknown };
};

/** A list of parts in a body: afterwards the parent has exactly these parts of the table. */
export type NamedList = { readonly table: string; readonly parentId: string };

export type SentParts = {
  readonly lists: readonly NamedList[];
  /** Each after the part that contains it. */
  readonly parts: readonly SentPart[];
};

/** The parts of an order before the change. */
type PartsById = ReadonlyMap<string, OrderPart>;
type AssetTypes = ReadonlyMap<string, AssetType>;

/** @param errors collects errors by the paths of the parts; with any, the result is meaningless */
export function decideParts(
  assetTypes: AssetTypes,
  parts: PartsById,
  sent: SentParts,
  errors: FieldErrorList,
): PartsChange {
  const added: PartFields[] = [];
  const changed: PartChanges[] = [];
  const named = new Set<string>();
  for (const part of sent.parts) {
    // Errors cost more than valid parts, and nobody reads thousands of them.
    if (errors.unnamed > 0) break;
    const { assetType, id, path } = part;
    if (named.has(id)) errors.add(`${path}.id`, 'The id is given twice.');
    named.add(id);
    const known = parts.get(id);
    const table = assetType.name;
    const input = checkedPart(part, known, errors);
    if (input === undefined) continue;
    if (known === undefined) {
      if (part.isNamed) errors.add(`${path}.id`, UNKNOWN_PART);
      added.push({ table, id, fields: withoutNulls(input.fields) });
    } else {
      const set = changedFields(known.fields, input.fields);
      if (Object.keys(set).length > 0) changed.push({ table, id, changes: toChanges(known.fields, set) });
    }
  }
  const removed = removedParts(assetTypes, parts, sent.lists, named);
  const path = sent.parts[0]?.path.split('.')[0];
  if (path !== undefined && parts.size + added.length - removed.length > MAX_ORDER_PARTS) {
    errors.add(path, tooManyParts);
  }
  return { added, changed, removed };
}

export const tooManyParts = `An order has at most ${MAX_ORDER_PARTS} parts.`;

export const UNKNOWN_PART = 'No part of the order has this id. The service chooses the ids of new parts: leave it out.';

function checkedPart(
  { path, assetType, id, parentId, body }: SentPart,
  known: OrderPart | undefined,
  errors: FieldErrorList,
): RecordInput | undefined {
  const field = assetType.parent?.field ?? '';
  const own = Object.hasOwn(body, field) ? body[field] : undefined;
  const checked = checkRecord(assetType, known === undefined ? 'create' : 'update', {
    ...body,
    [field]: own ?? parentId,
  });
  if (!checked.ok) {
    errors.addAll(checked.errors, `${path}.`);
    errors.addUnnamed(checked.unnamed);
    return undefined;
  }
  if (ownValue(checked.input.fields, field) !== parentId) {
    errors.add(`${path}.${field}`, `The ${field} field differs from the id of the record that the part stands in.`);
  } else if (known !== undefined && known.table !== assetType.name) {
    errors.add(`${path}.id`, `The id ${id} is taken.`);
  } else if (known !== undefined && ownValue(known.fields, field) !== parentId) {
    errors.add(`${path}.id`, 'A part stays with the record that it was added to.');
  }
  return checked.input;
}

/** Parts that the lists no longer contain, with all their descendants. */
function removedParts(
  assetTypes: AssetTypes,
  parts: PartsById,
  lists: readonly NamedList[],
  named: ReadonlySet<string>,
): readonly PartFields[] {
  if (parts.size === 0 || lists.length === 0) return [];
  const tables = new Set(lists.map(({ table, parentId }) => `${table} ${parentId}`));
  const roots = [...parts.values()].filter(
    (part) => !named.has(part.id) && tables.has(`${part.table} ${parentOf(assetTypes, part)}`),
  );
  return withDescendants(assetTypes, parts, roots);
}

/** The parts, and all parts below them. */
export function withDescendants(
  assetTypes: AssetTypes,
  parts: PartsById,
  roots: readonly OrderPart[],
): readonly PartFields[] {
  const removed = new Map(roots.map((part) => [part.id, part]));
  // A part comes after its parent in the map, so one pass finds all.
  if (roots.length > 0) {
    for (const part of parts.values()) if (removed.has(parentOf(assetTypes, part))) removed.set(part.id, part);
  }
  return [...removed.values()].map(({ table, id, fields }) => ({ table, id, fields }));
}

const parentOf = (assetTypes: AssetTypes, { table, fields }: OrderPart): string =>
  String(ownValue(fields, assetTypes.get(table)?.parent?.field ?? '') ?? '');
