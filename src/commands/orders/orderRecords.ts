/** Create and update of an order (spec §4.5, §4.6, §4.9), with the lists of parts in its body. */

import { type AssetType, recordView } from '../../domain/assetTypes/assetType.js';
import { FieldErrorList } from '../../domain/assetTypes/fieldErrors.js';
import { ownValue } from '../../domain/assetTypes/fieldTypes.js';
import { checkRecord, type RecordInput } from '../../domain/assetTypes/recordSchema.js';
import { createOrder as decideCreation, updateOrder as decideUpdate } from '../../domain/order/decide.js';
import type { OrderEvent, PartsChange } from '../../domain/order/events.js';
import type { Order } from '../../domain/order/order.js';
import { decideParts, hasParts, namedId, partLists, withoutParts } from '../../domain/order/parts.js';
import type { Application } from '../application.js';
import { type Caller, ValidationError, type WrittenRecord } from '../context.js';
import { newOrderId, refuseChosenId } from '../idempotency.js';
import { tenantOf } from '../tables.js';
import { withDeadline } from '../writeStream.js';
import { orderView, writeNewOrder, writeOrder } from './orderWriter.js';

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
  return { position, ...createdOrder(commands, caller, assetType, id, order, body) };
}

/** The answer to a create: the order, with its parts if the body has some. */
export function createdOrder(
  commands: Application,
  { tenant }: Caller,
  assetType: AssetType,
  id: string,
  order: Order,
  body: unknown,
): Omit<WrittenRecord, 'position'> {
  const record = orderView(assetType, id, order);
  if (!hasParts(assetType, body)) return { id, record };
  return { id, record, lists: listsOf(tenantOf(commands, tenant).assetTypes, assetType, id, order) };
}

/** What an update does beside it; each throws to refuse. */
type UpdateChecks = {
  /** @param fields the order's own of the body. @returns those to set */
  readonly adjust?: (fields: RecordInput['fields']) => RecordInput['fields'];
  /** On the order before the change. */
  readonly before?: (order: Order) => void | Promise<void>;
  /** On the events that it makes. */
  readonly decided?: (order: Order, events: readonly OrderEvent[], at: string) => Promise<void>;
};

/**
 * @returns the order after the change, with its parts if the body has some
 * @throws NotFoundError, ConflictError; ValidationError as `createOrder`; what the checks throw
 */
export async function updateOrder(
  commands: Application,
  caller: Caller,
  assetType: AssetType,
  id: string,
  body: unknown,
  { adjust = (fields) => fields, before, decided: check }: UpdateChecks = {},
): Promise<WrittenRecord & { readonly order: Order }> {
  const { assetTypes } = tenantOf(commands, caller.tenant);
  const isWithParts = hasParts(assetType, body);
  const { position, order } = await writeOrder(commands, caller, id, async (current, at) => {
    await before?.(current);
    const ofOrder = { id, assetType, parts: current.parts };
    const { input, change } = checkedWhole(commands, assetTypes, ofOrder, 'update', body);
    const decision = decideUpdate(current, id, { ...input, fields: adjust(input.fields) }, change);
    if (decision.kind === 'accepted') await check?.(current, decision.events, at);
    return decision;
  });
  const lists = isWithParts ? { lists: listsOf(assetTypes, assetType, id, order) } : {};
  return { position, id, record: orderView(assetType, id, order), ...lists, order };
}

type AssetTypes = ReadonlyMap<string, AssetType>;

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

type Lists = NonNullable<WrittenRecord['lists']>;

/** The lists of an order's parts; a part with parts of its own has their lists beside its fields. */
function listsOf(assetTypes: AssetTypes, assetType: AssetType, id: string, order: Order): Lists {
  const children = new Map<string, Lists[]>();
  const listOf = (table: string, parentId: string): Lists[] => {
    const key = `${table} ${parentId}`;
    const list = children.get(key) ?? [];
    children.set(key, list);
    return list;
  };
  const lists = (type: AssetType, ofId: string): Lists =>
    Object.fromEntries(partLists(type).map(({ name, table }) => [name, listOf(table, ofId)]));
  for (const part of order.parts.values()) {
    const type = assetTypes.get(part.table);
    if (type === undefined) continue;
    const parentId = String(ownValue(part.fields, type.parent?.field ?? '') ?? '');
    listOf(type.name, parentId).push({ ...recordView(type, part), ...lists(type, part.id) });
  }
  return lists(assetType, id);
}
