/** Lists of parts in the body of an order: decides which parts are added, changed and removed. Pure. */
import type { AssetType } from '../assetTypes/assetType.js';
import type { FieldErrorList, FieldErrors } from '../assetTypes/fieldErrors.js';
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
  /** Chosen by the client, or new. */
  readonly id: string;
  readonly isChosen: boolean;
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

export type DecidedParts = {
  readonly change: PartsChange;
  /** Added parts with ids that the client chose: whether other orders have them is checked elsewhere. */
  readonly chosen: readonly Pick<SentPart, 'path' | 'id' | 'assetType'>[];
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
): DecidedParts {
  const added: PartFields[] = [];
  const changed: PartChanges[] = [];
  const chosen: SentPart[] = [];
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
      if (part.isChosen) chosen.push(part);
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
  for (const { path: of, id } of chosen) errors.addAll(refusedChoice(id), `${of}.`);
  return { change: { added, changed, removed }, chosen };
}

export const tooManyParts = `An order has at most ${MAX_ORDER_PARTS} parts.`;

/** Errors of an id that a client chose for a new part. */
export const refusedChoice = (id: string): FieldErrors =>
  id[VERSION_DIGIT] === '7'
    ? {
        id: [
          'No part of the order has this id, and a new one of version 7 is made by the service: choose one of another version, such as 4 or 5.',
        ],
      }
    : {};

/** Index in the text of a UUID. */
const VERSION_DIGIT = 14;

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
