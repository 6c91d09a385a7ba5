/** The parts of an order that one request gives as a whole: what of them is new, changed, and gone. Pure. */
import type { AssetType } from '../assetTypes/assetType.js';
import type { FieldErrorList, FieldErrors } from '../assetTypes/fieldErrors.js';
import { ownValue } from '../assetTypes/fieldTypes.js';
import { checkRecord, type RecordInput } from '../assetTypes/recordSchema.js';
import { MAX_ORDER_PARTS } from '../limits.js';
import { changedFields, withoutNulls } from '../referenceTable/decide.js';
import type { PartChanges, PartFields, PartsChange } from './events.js';
import { type OrderPart, toChanges } from './order.js';

/** A part as a body gives it. */
export type GivenPart = {
  /** Where it stands in the body, such as `consignments.0.goods.1`: errors are named by it. */
  readonly path: string;
  readonly assetType: AssetType;
  /** The client's choice, or a fresh one. */
  readonly id: string;
  readonly isChosen: boolean;
  /** Of the order, or of the part that it stands in. */
  readonly parentId: string;
  /** Not checked yet. */
  readonly body: { readonly [field: string]: unknown };
};

/** A list of parts that a body names: afterwards the parent has these parts of the table, and no others. */
export type NamedList = { readonly table: string; readonly parentId: string };

export type GivenParts = {
  readonly lists: readonly NamedList[];
  /** Each behind the one that it stands in. */
  readonly parts: readonly GivenPart[];
};

export const NO_PARTS: GivenParts = { lists: [], parts: [] };

export type DecidedParts = {
  readonly change: PartsChange;
  /** Added under ids that the client has chosen, of which the order alone cannot tell whether they are free. */
  readonly chosen: readonly Pick<GivenPart, 'path' | 'id' | 'assetType'>[];
};

/** The parts that an order has before; a new one has none. */
type PartsById = ReadonlyMap<string, OrderPart>;
type AssetTypes = ReadonlyMap<string, AssetType>;

/** @param errors takes what is wrong, by the paths of the parts; what is returned then is of no use */
export function decideParts(
  assetTypes: AssetTypes,
  parts: PartsById,
  given: GivenParts,
  errors: FieldErrorList,
): DecidedParts {
  const added: PartFields[] = [];
  const changed: PartChanges[] = [];
  const chosen: GivenPart[] = [];
  const named = new Set<string>();
  for (const part of given.parts) {
    // Errors cost more than what is right, and nobody reads thousands of them.
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
  const removed = removedParts(assetTypes, parts, given.lists, named);
  const path = given.parts[0]?.path.split('.')[0];
  if (path !== undefined && parts.size + added.length - removed.length > MAX_ORDER_PARTS) {
    errors.add(path, tooManyParts);
  }
  for (const { path: of, id } of chosen) errors.addAll(refusedChoice(id), `${of}.`);
  return { change: { added, changed, removed }, chosen };
}

export const tooManyParts = `An order has at most ${MAX_ORDER_PARTS} parts.`;

/** What is wrong with an id that a client chooses for a new part. */
export const refusedChoice = (id: string): FieldErrors =>
  id[VERSION_DIGIT] === '7'
    ? {
        id: [
          'No part of the order has this id, and a new one of version 7 is made by the service: choose one of another version, such as 4 or 5.',
        ],
      }
    : {};

/** Of a UUID's text. */
const VERSION_DIGIT = 14;

function checkedPart(
  { path, assetType, id, parentId, body }: GivenPart,
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

/** Those of the lists that were not named again, with all that belongs to them. */
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

/** The parts, and the parts that name them. */
export function withDescendants(
  assetTypes: AssetTypes,
  parts: PartsById,
  roots: readonly OrderPart[],
): readonly PartFields[] {
  const removed = new Map(roots.map((part) => [part.id, part]));
  // Parts of parts were added behind them.
  if (roots.length > 0) {
    for (const part of parts.values()) if (removed.has(parentOf(assetTypes, part))) removed.set(part.id, part);
  }
  return [...removed.values()].map(({ table, id, fields }) => ({ table, id, fields }));
}

const parentOf = (assetTypes: AssetTypes, { table, fields }: OrderPart): string =>
  String(ownValue(fields, assetTypes.get(table)?.parent?.field ?? '') ?? '');
