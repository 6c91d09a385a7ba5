/** Create and update of an order (spec §4.5, §4.6, §4.9), with the lists of parts in its body. */

import { type AssetType, recordView } from '../../domain/assetTypes/assetType.js';
import { FieldErrorList } from '../../domain/assetTypes/fieldErrors.js';
import { ownValue } from '../../domain/assetTypes/fieldTypes.js';
import { checkRecord, type RecordInput } from '../../domain/assetTypes/recordSchema.js';
import { createOrder as decideCreation, updateOrder as decideUpdate } from '../../domain/order/decide.js';
import type { Order, OrderDecision } from '../../domain/order/order.js';
import { type DecidedParts, decideParts, type GivenParts } from '../../domain/order/parts.js';
import { inPieces } from '../../supervision/waiting.js';
import type { Application } from '../application.js';
import { checkedInput } from '../body.js';
import { type Caller, ValidationError, type WrittenRecord } from '../context.js';
import { refuseChosenId } from '../idempotency.js';
import { type Precondition, requireTag } from '../preconditions.js';
import { tenantOf } from '../tables.js';
import { chosenId, givesParts, partLists, takePartIds, takeParts } from './givenParts.js';
import { newOrderId, orderView, type WrittenOrder, writeNewOrder, writeOrder } from './orderWriter.js';

/** A checked body that creates an order, and the id that the order gets. */
type CheckedOrder = {
  readonly id: string;
  readonly input: RecordInput;
  /** Unset when the body gives no parts. */
  readonly decided?: DecidedParts;
};

/** @throws ValidationError with every error; those of parts are keyed by path, such as `lines.0.quantity` */
async function checkedOrder(
  commands: Application,
  caller: Caller,
  assetType: AssetType,
  body: unknown,
): Promise<CheckedOrder> {
  const newId = await newOrderId(commands, caller);
  if (!givesParts(assetType, body)) {
    const input = checkedInput(assetType, 'create', body);
    return { id: input.id ?? newId, input };
  }
  const { assetTypes } = tenantOf(commands, caller.tenant);
  const id = chosenId(body) ?? newId;
  const { own, given } = takeParts(commands, assetTypes, assetType, id, body);
  const { input, decided } = await checkedWhole(assetTypes, assetType, 'create', own, given, new Map());
  if (decided.chosen.length > 0 && input.id === undefined) throw new ValidationError({ id: [NEEDS_ID] });
  return { id, input, decided };
}

/** @throws ValidationError as above */
export async function createOrder(
  commands: Application,
  caller: Caller,
  assetType: AssetType,
  body: unknown,
): Promise<WrittenRecord> {
  const { id, input, decided } = await checkedOrder(commands, caller, assetType, body);
  refuseChosenId(caller, input);
  if (decided !== undefined && decided.chosen.length > 0) await takePartIds(commands, caller, id, decided.chosen);
  const decision = decideCreation(assetType, input, decided?.change.added);
  const { position, order } = await writeNewOrder(commands, caller, id, decision);
  return { position, ...createdOrder(commands, caller, assetType, id, order, body) };
}

/** The answer to a create: the order, with its parts if the body gave some. */
export function createdOrder(
  commands: Application,
  { tenant }: Caller,
  assetType: AssetType,
  id: string,
  order: Order,
  body: unknown,
): Omit<WrittenRecord, 'position'> {
  const record = orderView(assetType, id, order);
  if (!givesParts(assetType, body)) return { id, record };
  return { id, record, lists: listsOf(tenantOf(commands, tenant).assetTypes, assetType, id, order) };
}

const NEEDS_ID = 'Where parts have ids of your choice, the order needs one too: sent again, it would be another order.';

/** @throws NotFoundError, PreconditionFailedError, ConflictError; ValidationError as above */
export async function updateOrder(
  commands: Application,
  caller: Caller,
  assetType: AssetType,
  id: string,
  body: unknown,
  precondition?: Precondition,
): Promise<WrittenRecord> {
  const { decide, written } = orderUpdate(commands, caller, assetType, id, body);
  return written(
    await writeOrder(commands, caller, id, (current) => {
      requireTag(precondition, assetType, orderView(assetType, id, current));
      return decide(current);
    }),
  );
}

/** The body of an update, checked as far as that is possible without the order. */
type OrderUpdate = {
  /** The order's own fields. */
  readonly input: RecordInput;
  /**
   * @param fields instead of those of the input
   * @param check of the decision, before ids of parts are taken, which is for good; throws to refuse
   * @throws ValidationError
   */
  readonly decide: (
    order: Order,
    fields?: RecordInput['fields'],
    check?: (decision: OrderDecision) => Promise<void>,
  ) => OrderDecision | Promise<OrderDecision>;
  /** The answer: the order after the change, with its parts if the body gave some. */
  readonly written: (written: WrittenOrder) => WrittenRecord;
};

/** @throws ValidationError */
export function orderUpdate(
  commands: Application,
  caller: Caller,
  assetType: AssetType,
  id: string,
  body: unknown,
): OrderUpdate {
  const written: OrderUpdate['written'] = ({ position, order }) => ({
    position,
    id,
    record: orderView(assetType, id, order),
  });
  if (!givesParts(assetType, body)) {
    const input = checkedInput(assetType, 'update', body);
    const decide: OrderUpdate['decide'] = async (order, fields = input.fields, check) => {
      const decision = decideUpdate(order, id, { ...input, fields });
      await check?.(decision);
      return decision;
    };
    return { input, decide, written };
  }
  const { assetTypes } = tenantOf(commands, caller.tenant);
  const { own, given } = takeParts(commands, assetTypes, assetType, id, body);
  const checked = checkRecord(assetType, 'update', own);
  const input = checked.ok ? checked.input : { fields: {} };
  return {
    input,
    decide: async (order, fields = input.fields, check) => {
      const { decided } = await checkedWhole(assetTypes, assetType, 'update', own, given, order.parts);
      const decision = decideUpdate(order, id, { ...input, fields }, decided.change);
      await check?.(decision);
      if (decision.kind === 'accepted') await takePartIds(commands, caller, id, decided.chosen);
      return decision;
    },
    written: (after) => ({ ...written(after), lists: listsOf(assetTypes, assetType, id, after.order) }),
  };
}

type AssetTypes = ReadonlyMap<string, AssetType>;

/** Checks order and parts together, so that all errors are reported at once. @throws ValidationError */
async function checkedWhole(
  assetTypes: AssetTypes,
  assetType: AssetType,
  kind: 'create' | 'update',
  own: unknown,
  given: GivenParts,
  parts: Order['parts'],
): Promise<{ readonly input: RecordInput; readonly decided: DecidedParts }> {
  const errors = new FieldErrorList();
  const checked = checkRecord(assetType, kind, own);
  if (!checked.ok) {
    errors.addAll(checked.errors);
    errors.addUnnamed(checked.unnamed);
  }
  const decided = await inPieces(decideParts(assetTypes, parts, given, errors));
  if (!checked.ok || errors.count > 0) throw new ValidationError(errors.toErrors(), errors.unnamed);
  return { input: checked.input, decided };
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
