/**
 * Ids that clients choose for parts. Parts of all orders share a table but no stream, so each id has a stream of its own:
 * the first order to append there has the id for good, even if it was not written then, or removes the part later.
 */
import type { PartIdTaken } from '../../domain/order/events.js';
import type { DecidedParts } from '../../domain/order/parts.js';
import { partIdStream } from '../../domain/streams.js';
import { type Caller, type Commands, ValidationError } from '../context.js';
import { appendIfUnchanged, NO_STREAM, withDeadline } from '../writeStream.js';

/** Appends in flight at the same time. */
const AT_ONCE = 100;

/** @throws ValidationError naming the ids that other orders have, by the paths of the parts */
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
  if (!isShown && (await appendIfUnchanged(commands, caller, stream, NO_STREAM, [event])) !== undefined) return true;
  const [first] = await withDeadline(caller, commands.eventStore.readStream(stream));
  const taken = first?.data as PartIdTaken['data'] | undefined;
  return taken?.orderId === orderId && taken.table === table;
}

/** Earlier releases did not record ids in streams: only the read models know their parts. */
async function usedBefore(
  { readModels }: Commands,
  caller: Caller,
  some: DecidedParts['chosen'],
): Promise<ReadonlySet<string>> {
  const used = new Set<string>();
  for (const table of new Set(some.map(({ assetType }) => assetType.name))) {
    const ids = some.flatMap(({ id, assetType }) => (assetType.name === table ? [id] : []));
    const found = await withDeadline(caller, readModels.find({ tenant: caller.tenant, table }, 'id', ids));
    for (const { id } of found) used.add(id);
  }
  return used;
}
