/** Create and update of an order (spec §4.5, §4.6, §4.9), with the lists of parts in its body. */

import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { FieldErrorList } from '../../domain/assetTypes/fieldErrors.js';
import { checkRecord, type RecordInput } from '../../domain/assetTypes/recordSchema.js';
import { createOrder as decideCreation, updateOrder as decideUpdate } from '../../domain/order/decide.js';
import type { PartsChange } from '../../domain/order/events.js';
import { type Order, type OrderDecision, orderAlone } from '../../domain/order/order.js';
import { decideParts, hasParts, namedId, partLists, withoutParts } from '../../domain/order/parts.js';
import { type AssetTypes, childrenIn } from '../../domain/order/snapshot.js';
import type { Application } from '../application.js';
import { type Caller, ValidationError, type WrittenRecord } from '../context.js';
import { newOrderId, refuseChosenId } from '../idempotency.js';
import { assetTypeOf, tenantOf } from '../tables.js';
import { withDeadline } from '../writeStream.js';
import { writeNewOrder, writeOrder } from './orderWriter.js';

/** @throws ValidationError with every error; those of parts are keyed by path, such as `lines.0.quantity` */
export async function createOrder(
  commands: Application,
  caller: Caller,
  assetType: AssetType,
  body: unknown,
): Promise<WrittenRecord> {
  const newId = await withDeadline(caller, newOrderId(commands, caller));
  const { assetTypes } = tenantOf(commands, caller.tenant);
  const id = namedId(body) ?? newId;
  const { input, change } = checkedWhole(commands, assetTypes, { id, assetType, parts: new Map() }, 'create', body);
  refuseChosenId(caller, input);
  const decision = decideCreation(assetType, input, change.added);
  const { position, order } = await writeNewOrder(commands, caller, id, decision);
  return { position, ...writtenOrder(commands, caller, assetType, id, order, body) };
}

/** The order as it is answered: with its parts if the body has some, each with its own parts beside its fields. */
export function writtenOrder(
  commands: Application,
  { tenant }: Caller,
  assetType: AssetType,
  id: string,
  order: Order,
  body: unknown,
): Omit<WrittenRecord, 'position'> {
  const { assetTypes } = tenantOf(commands, tenant);
  const { order: record, parts } = orderAlone(assetTypes, id, order);
  if (!hasParts(assetType, body)) return { id, record };
  const children = childrenIn(parts);
  const listsOf = (type: AssetType, ofId: string): NonNullable<WrittenRecord['lists']> =>
    Object.fromEntries(
      partLists(type).map((relation) => {
        const partType = assetTypeOf({ assetTypes }, relation.table);
        const list = children(relation, ofId).map((part) => ({ ...part.record, ...listsOf(partType, part.record.id) }));
        return [relation.name, list];
      }),
    );
  return { id, record, lists: listsOf(assetType, id) };
}

type Update = {
  /** Given the order before the change; throws to refuse. */
  readonly before?: ((order: Order) => void | Promise<void>) | undefined;
  readonly decide?: (
    order: Order,
    id: string,
    input: RecordInput,
    parts: PartsChange,
    assetTypes: AssetTypes,
  ) => OrderDecision;
};

/**
 * @returns the order after the change, with its parts if the body has some
 * @throws NotFoundError, ConflictError; ValidationError as `createOrder`; what `before` throws
 */
export async function updateOrder(
  commands: Application,
  caller: Caller,
  assetType: AssetType,
  id: string,
  body: unknown,
  { before, decide = decideUpdate }: Update = {},
): Promise<WrittenRecord & { readonly order: Order }> {
  const { assetTypes } = tenantOf(commands, caller.tenant);
  const { position, order } = await writeOrder(commands, caller, id, async (current) => {
    await before?.(current);
    const ofOrder = { id, assetType, parts: current.parts };
    const { input, change } = checkedWhole(commands, assetTypes, ofOrder, 'update', body);
    return decide(current, id, input, change, assetTypes);
  });
  return { position, order, ...writtenOrder(commands, caller, assetType, id, order, body) };
}

/** Checks order and parts together, so that all errors are reported at once. @throws ValidationError */
function checkedWhole(
  { newId }: Application,
  assetTypes: AssetTypes,
  order: Parameters<typeof decideParts>[1],
  kind: 'create' | 'update',
  body: unknown,
): { readonly input: RecordInput; readonly change: PartsChange } {
  const errors = new FieldErrorList();
  const checked = checkRecord(order.assetType, kind, withoutParts(order.assetType, body));
  if (!checked.ok) {
    errors.addAll(checked.errors);
    errors.addUnnamed(checked.unnamed);
  }
  const change = decideParts(assetTypes, order, body, newId, errors);
  if (!checked.ok || errors.count > 0) throw new ValidationError(errors.toErrors(), errors.unnamed);
  return { input: checked.input, change };
}
