/** The lists of parts in the body of an order (`lines`, or `consignments` with `goods`, and `allowance_charges`). */
import type { AssetType, Relationship } from '../../domain/assetTypes/assetType.js';
import { MAX_ORDER_PARTS } from '../../domain/limits.js';
import type { NamedList, SentPart, SentParts } from '../../domain/order/parts.js';
import { type Commands, ValidationError } from '../context.js';
import { isUuid } from '../tables.js';

type Body = { readonly [field: string]: unknown };

/** The lists of parts that the body of a record of this kind may have. */
export const partLists = ({ role, relationships }: AssetType): readonly Relationship[] =>
  role === 'reference' ? [] : relationships.filter(({ kind }) => kind === 'has_many');

const isObject = (value: unknown): value is Body =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether the body of an order has lists of parts. */
export const hasParts = (assetType: AssetType, body: unknown): body is Body =>
  isObject(body) && partLists(assetType).some(({ name }) => Object.hasOwn(body, name));

/** The id that a body names, in its stored form; undefined when it names none. */
export const namedId = (body: unknown): string | undefined =>
  isObject(body) && typeof body.id === 'string' && isUuid(body.id) ? body.id.toLowerCase() : undefined;

/**
 * Splits the body of an order into its own fields and its parts. The parts themselves are not checked here.
 * @throws ValidationError when a list is no array or too long, or a part is no object
 */
export function takeParts(
  { newId }: Pick<Commands, 'newId'>,
  assetTypes: ReadonlyMap<string, AssetType>,
  orderType: AssetType,
  orderId: string,
  body: unknown,
): { readonly own: unknown; readonly parts: SentParts } {
  const lists: NamedList[] = [];
  const parts: SentPart[] = [];
  if (!hasParts(orderType, body)) return { own: body, parts: { lists, parts } };

  const take = (parentType: AssetType, parentId: string, from: Body, prefix: string): Body => {
    const own: Record<string, unknown> = { ...from };
    const below: [AssetType, string, readonly unknown[]][] = [];
    for (const { name, table } of partLists(parentType)) {
      const assetType = assetTypes.get(table);
      if (assetType === undefined || !Object.hasOwn(from, name)) continue;
      const path = `${prefix}${name}`;
      below.push([assetType, path, listOf(from[name], path)]);
      lists.push({ table, parentId });
      delete own[name];
    }
    for (const [assetType, path, items] of below) {
      for (const [index, item] of items.entries()) takePart(assetType, parentId, item, `${path}.${index}`);
    }
    return own;
  };

  const takePart = (assetType: AssetType, parentId: string, item: unknown, path: string): void => {
    if (!isObject(item)) throw new ValidationError({ [path]: ['The part must be a JSON object.'] });
    if (parts.length >= MAX_ORDER_PARTS) {
      throw new ValidationError({ [path]: [`One request has at most ${MAX_ORDER_PARTS} parts of an order.`] });
    }
    const named = namedId(item);
    const part = { path, assetType, id: named ?? newId(), isNamed: named !== undefined, parentId };
    const at = parts.push({ ...part, body: item }) - 1;
    parts[at] = { ...part, body: take(assetType, part.id, item, `${path}.`) };
  };

  return { own: take(orderType, orderId, body, ''), parts: { lists, parts } };
}

function listOf(value: unknown, path: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new ValidationError({ [path]: [`The ${path} field must be an array of objects.`] });
  if (value.length > MAX_ORDER_PARTS) {
    throw new ValidationError({ [path]: [`The ${path} field must have at most ${MAX_ORDER_PARTS} parts.`] });
  }
  return value;
}
