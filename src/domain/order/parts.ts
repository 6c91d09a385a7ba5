/**
 * The lists of parts in the body of an order (`lines`, or `consignments` with `goods`, and `allowance_charges`): decides which
 * parts are added, changed and removed. Pure, but for the ids of new parts.
 */
import type { AssetType, Relationship } from '../assetTypes/assetType.js';
import { changesOf, isUuid, ownValue } from '../assetTypes/fieldTypes.js';
import { checkRecord, type FieldErrorList, isObject } from '../assetTypes/recordSchema.js';
import { MAX_ORDER_PARTS } from '../limits.js';
import { changedFields, withoutNulls } from '../referenceTable/decide.js';
import { type AssetTypes, parentOf } from './document.js';
import type { PartChanges, PartFields, PartsChange } from './events.js';
import type { OrderPart } from './order.js';

type Body = { readonly [field: string]: unknown };
/** The parts of an order before the change. */
type PartsById = ReadonlyMap<string, OrderPart>;

/** The lists of parts that the body of a record of this kind may have. */
export const partLists = ({ role, relationships }: AssetType): readonly Relationship[] =>
  role === 'reference' ? [] : relationships.filter(({ kind }) => kind === 'has_many');

/** Whether the body has lists of parts. */
export const hasParts = (assetType: AssetType, body: unknown): body is Body =>
  isObject(body) && partLists(assetType).some(({ name }) => Object.hasOwn(body, name));

/** The body's own fields. */
export function withoutParts(assetType: AssetType, body: unknown): unknown {
  if (!hasParts(assetType, body)) return body;
  const lists = partLists(assetType).map(({ name }) => name);
  return Object.fromEntries(Object.entries(body).filter(([name]) => !lists.includes(name)));
}

/** The id that a body names, in its stored form; undefined when it names none. */
export const namedId = (body: unknown): string | undefined =>
  isObject(body) && typeof body.id === 'string' && isUuid(body.id) ? body.id.toLowerCase() : undefined;

export const tooManyParts = `An order has at most ${MAX_ORDER_PARTS} parts.`;
export const UNKNOWN_PART = 'No part has this id here. The service chooses the ids of new parts: leave it out.';

type WithParts = { readonly id: string; readonly assetType: AssetType; readonly parts: PartsById };

/**
 * Afterwards each record whose body has a list has exactly the parts of that list.
 * @param order its id, asset type and present parts
 * @param errors collects errors by the paths of the parts, such as `consignments.0.goods.1`; with any, the result is meaningless
 */
export function decideParts(
  assetTypes: AssetTypes,
  { id: orderId, assetType: orderType, parts }: WithParts,
  body: unknown,
  newId: () => string,
  errors: FieldErrorList,
): PartsChange {
  const added: PartFields[] = [];
  const changed: PartChanges[] = [];
  const named = new Set<string>();
  /** Table and parent of each list. */
  const lists = new Set<string>();
  let sent = 0;

  const takeLists = (parentType: AssetType, parentId: string, parent: Body, prefix: string): void => {
    for (const { name, table } of partLists(parentType)) {
      const assetType = assetTypes.get(table);
      if (assetType === undefined || !Object.hasOwn(parent, name)) continue;
      const [path, items] = [`${prefix}${name}`, parent[name]];
      const isList = Array.isArray(items);
      sent += isList ? items.length : 0;
      if (!isList) errors.add(path, `The ${path} field must be an array of objects.`);
      else if (sent > MAX_ORDER_PARTS) errors.add(path, tooManyParts);
      else lists.add(`${table} ${parentId}`);
      if (!isList || sent > MAX_ORDER_PARTS) continue;
      for (const [index, item] of items.entries()) {
        // Errors cost more than valid parts, and nobody reads thousands of them.
        if (errors.isFull) return;
        if (isObject(item)) takePart(assetType, parentId, item, `${path}.${index}`);
        else errors.add(`${path}.${index}`, 'The part must be a JSON object.');
      }
    }
  };

  const takePart = (assetType: AssetType, parentId: string, item: Body, path: string): void => {
    const table = assetType.name;
    const field = assetType.parent?.field ?? '';
    const name = namedId(item);
    const known = name === undefined ? undefined : parts.get(name);
    if (name !== undefined) {
      const isHere = known?.table === table && ownValue(known.fields, field) === parentId;
      if (!isHere) errors.add(`${path}.id`, UNKNOWN_PART);
      else if (named.has(name)) errors.add(`${path}.id`, 'The id is given twice.');
      named.add(name);
    }
    const id = known?.id ?? newId();
    const own = withoutParts(assetType, item) as Body;
    const parent = (Object.hasOwn(own, field) ? own[field] : undefined) ?? parentId;
    const checked = checkRecord(assetType, known === undefined ? 'create' : 'update', { ...own, [field]: parent });
    if (!checked.ok) errors.addAll(checked.errors, `${path}.`);
    else {
      const { fields } = checked.input;
      if (ownValue(fields, field) !== parentId)
        errors.add(`${path}.${field}`, `The ${field} field differs from the id of the record that the part stands in.`);
      const before = known?.fields ?? {};
      const changes = changesOf(before, changedFields(before, fields));
      if (known === undefined) added.push({ table, id, fields: withoutNulls(fields) });
      else if (Object.keys(changes).length > 0) changed.push({ table, id, changes });
    }
    takeLists(assetType, id, item, `${path}.`);
  };

  if (hasParts(orderType, body)) takeLists(orderType, orderId, body, '');
  const isLeftOut = (part: OrderPart): boolean =>
    !named.has(part.id) && lists.has(`${part.table} ${parentOf(assetTypes, part.table, part.fields)}`);
  const removed = withDescendants(assetTypes, parts, isLeftOut);
  if (parts.size + added.length - removed.length > MAX_ORDER_PARTS && added.length > 0)
    errors.add(partLists(orderType).find(({ name }) => Object.hasOwn(Object(body), name))?.name ?? 'id', tooManyParts);
  return { added, changed, removed };
}

/** The parts that are chosen, and all parts below them. */
export function withDescendants(
  assetTypes: AssetTypes,
  parts: PartsById,
  isChosen: (part: OrderPart) => boolean,
): readonly PartFields[] {
  const found = new Map<string, PartFields>();
  // A part comes after its parent in the map, so one pass finds all.
  for (const part of parts.values()) {
    const { id, table, fields } = part;
    if (isChosen(part) || found.has(parentOf(assetTypes, table, fields))) found.set(id, { table, id, fields });
  }
  return [...found.values()];
}
