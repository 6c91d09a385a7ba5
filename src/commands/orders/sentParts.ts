/** The lists of parts in the body of an order (`lines`, or `consignments` with `goods`, and `allowance_charges`), and their ids. */
import type { AssetType, Relationship } from '../../domain/assetTypes/assetType.js';
import { MAX_REQUEST_PARTS } from '../../domain/limits.js';
import type { PartIdTaken } from '../../domain/order/events.js';
import type { DecidedParts, NamedList, SentPart, SentParts } from '../../domain/order/parts.js';
import { partIdStream } from '../../domain/streams.js';
import { type Caller, type Commands, ValidationError } from '../context.js';
import { eventAt } from '../streamPages.js';
import { isUuid } from '../tables.js';
import { beginStream, withDeadline } from '../writeStream.js';

type Body = { readonly [field: string]: unknown };

/** The lists of parts that the body of a record of this kind may have. */
export const partLists = ({ role, relationships }: AssetType): readonly Relationship[] =>
  role === 'reference' ? [] : relationships.filter(({ kind }) => kind === 'has_many');

const isObject = (value: unknown): value is Body =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether the body of an order has lists of parts. */
export const hasParts = (assetType: AssetType, body: unknown): body is Body =>
  isObject(body) && partLists(assetType).some(({ name }) => Object.hasOwn(body, name));

/** The id that a body chooses, in its stored form; undefined when it chooses none. */
export const chosenId = (body: unknown): string | undefined =>
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
    if (parts.length >= MAX_REQUEST_PARTS) {
      throw new ValidationError({ [path]: [`One request has at most ${MAX_REQUEST_PARTS} parts of an order.`] });
    }
    const chosen = chosenId(item);
    const part = { path, assetType, id: chosen ?? newId(), isChosen: chosen !== undefined, parentId };
    const at = parts.push({ ...part, body: item }) - 1;
    parts[at] = { ...part, body: take(assetType, part.id, item, `${path}.`) };
  };

  return { own: take(orderType, orderId, body, ''), parts: { lists, parts } };
}

function listOf(value: unknown, path: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new ValidationError({ [path]: [`The ${path} field must be an array of objects.`] });
  if (value.length > MAX_REQUEST_PARTS) {
    throw new ValidationError({ [path]: [`The ${path} field must have at most ${MAX_REQUEST_PARTS} parts.`] });
  }
  return value;
}

/** Appends in flight at the same time. */
const AT_ONCE = 100;

/**
 * Takes ids that a client chose for parts. Parts of all orders share a table but no stream, so each id has a stream of its
 * own: the first order to append there has the id for good, even if it was not written then, or removes the part later.
 * @throws ValidationError naming the ids that other orders have, by the paths of the parts
 */
export async function takePartIds(
  commands: Commands,
  caller: Caller,
  orderId: string,
  chosen: DecidedParts['chosen'],
): Promise<void> {
  const errors = new Map<string, readonly string[]>();
  const refuse = ({ path, id }: DecidedParts['chosen'][number]) =>
    errors.set(path === '' ? 'id' : `${path}.id`, [`The id ${id} is taken.`]);
  for (let from = 0; from < chosen.length; from += AT_ONCE) {
    const some = chosen.slice(from, from + AT_ONCE);
    const used = await usedBefore(commands, caller, some);
    const isTaken = await Promise.all(
      some.map(async ({ id, assetType }) => {
        const table = assetType.name;
        return !(await takesId(commands, caller, { id, table, orderId }, used.has(id)));
      }),
    );
    for (const [index, part] of some.entries()) if (isTaken[index] === true) refuse(part);
  }
  if (errors.size > 0) throw new ValidationError(Object.fromEntries(errors));
}

/** Whether the order has the id now. @param isShown whether the read models show a part of this id: then it was taken */
async function takesId(
  commands: Commands,
  caller: Caller,
  { id, table, orderId }: PartIdTaken['data'] & { readonly id: string },
  isShown: boolean,
): Promise<boolean> {
  const stream = partIdStream(caller.tenant, id);
  const event: PartIdTaken = { type: 'PartIdTaken', data: { table, orderId } };
  if (!isShown && (await beginStream(commands, caller, stream, [event])) !== undefined) return true;
  const first = await withDeadline(caller, eventAt(commands.eventStore, stream, 0));
  const taken = first?.data as PartIdTaken['data'] | undefined;
  return taken?.orderId === orderId && taken.table === table;
}

/** Earlier releases did not record ids in streams: only the read models know their parts. */
async function usedBefore(
  { queries }: Commands,
  caller: Caller,
  some: DecidedParts['chosen'],
): Promise<ReadonlySet<string>> {
  const used = new Set<string>();
  for (const table of new Set(some.map(({ assetType }) => assetType.name))) {
    const ids = some.flatMap(({ id, assetType }) => (assetType.name === table ? [id] : []));
    const found = await withDeadline(caller, queries.records.find({ tenant: caller.tenant, table }, 'id', ids));
    for (const { id } of found) used.add(id);
  }
  return used;
}
