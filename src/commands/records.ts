/** Create and update of a record of any table (spec §4.5, §4.6): checks the body, then dispatches by the kind of table. */

import { type AssetType, type RecordView, recordView } from '../domain/assetTypes/assetType.js';
import { type Fields, ownValue } from '../domain/assetTypes/fieldTypes.js';
import type { RecordInput } from '../domain/assetTypes/recordSchema.js';
import {
  addPart,
  removePart as decideRemoval,
  type OrderDecision,
  unknownParent,
  updatePart,
} from '../domain/order/decide.js';
import { type Order, orderView } from '../domain/order/order.js';
import {
  type Decision,
  createRecord as decideCreation,
  updateRecord as decideUpdate,
  uniqueFieldOf,
  uniqueKeyOf,
} from '../domain/referenceTable/decide.js';
import type { Position } from '../ports/eventStore.js';
import type { StoredRecord } from '../queries/asking.js';
import { RecordQueries, type TableRef } from '../queries/records.js';
import type { TableWrite } from './application.js';
import { checkedInput } from './body.js';
import { type Caller, type Commands, NotFoundError, ValidationError, type WrittenRecord } from './context.js';
import { once } from './idempotency.js';
import { loadOrder, type WrittenOrder, writeOrder } from './orders/orderStream.js';
import { createOrder, updateOrder, writtenOrder } from './orders/orders.js';
import { type Precondition, requireTag } from './preconditions.js';
import { type DecisionRecords, writeRecord } from './referenceTables/tableWriter.js';
import { assetTypeOf, recordId, tenantOf, unknownRecord } from './tables.js';

async function createReferenceRecord({ commands, caller, assetType }: TableWrite, input: RecordInput) {
  const newId = commands.newId();
  const wanted = { keys: [uniqueKeyOf(assetType, input.fields)], ids: [input.id ?? newId] };
  let id = newId;
  const { position, at } = await writeRecord(commands, caller, assetType, wanted, (known) => {
    const events = accepted(decideCreation(assetType, input, newId, known));
    id = events[0]?.data.id ?? newId;
    return events;
  });
  const record = recordView(assetType, { id, createdAt: at, updatedAt: at, fields: input.fields });
  return { position, id, record };
}

async function updateReferenceRecord(target: TableWrite, id: string, input: RecordInput, precondition?: Precondition) {
  const { commands, caller, assetType } = target;
  const key = ownValue(input.fields, uniqueFieldOf(assetType));
  const wanted = { keys: key === undefined ? [] : [String(key)], ids: [id] };
  const { position, at, state } = await writeRecord(commands, caller, assetType, wanted, (known) => {
    const current = knownIn(known, assetType, id);
    requireTag(precondition, recordView(assetType, current));
    return accepted(decideUpdate(assetType, current, input, known));
  });
  const before = knownIn(state, assetType, id);
  const updatedAt = position === 0 ? before.updatedAt : at;
  const record = recordView(assetType, { ...before, updatedAt, fields: { ...before.fields, ...input.fields } });
  return { position, id, record };
}

async function deleteReferenceRecord(target: TableWrite, id: string, precondition?: Precondition): Promise<Position> {
  const { commands, caller, assetType } = target;
  const { position } = await writeRecord(commands, caller, assetType, { keys: [], ids: [id] }, (known) => {
    requireTag(precondition, recordView(assetType, knownIn(known, assetType, id)));
    return [{ type: 'RecordDeleted', data: { id } }];
  });
  return position;
}

function knownIn(known: DecisionRecords, assetType: AssetType, id: string): StoredRecord {
  const record = known.byId(id);
  if (record === undefined) throw unknownRecord(assetType, id);
  return record;
}

function accepted<Event>(decision: Decision<Event>): readonly Event[] {
  if (!decision.ok) throw new ValidationError(decision.errors);
  return decision.events;
}

/** @throws ValidationError when the parent field names no known order (or part of one) */
async function createPartRecord(target: TableWrite, input: RecordInput) {
  const { commands, caller, assetType } = target;
  const id = commands.newId();
  const field = assetType.parent?.field ?? 'order_id';
  const unknown = new ValidationError({ [field]: [unknownParent(field)] });
  const orderId = await orderOf(target, input.fields);
  if (orderId === undefined) throw unknown;
  const add = (order: Order) => () => addPart(order, assetType, input, id);
  const { position, order } = await writeOrder(commands, caller, orderId, add).catch((error: unknown) => {
    throw error instanceof NotFoundError ? unknown : error;
  });
  return { position, id, record: partView(assetType, order, id) };
}

async function updatePartRecord(target: TableWrite, id: string, input: RecordInput, precondition?: Precondition) {
  const { assetType } = target;
  const { position, order } = await writePart(target, id, (current) => {
    requireTag(precondition, partView(assetType, current, id));
    return updatePart(current, assetType, id, input);
  });
  return { position, id, record: partView(assetType, order, id) };
}

/**
 * Deletes a record of a reference table, or a part of an order with the parts that belong to it.
 * @throws NotFoundError; PreconditionFailedError; ConflictError where the order has left the validators' hands
 */
export async function deleteRecord(
  target: TableWrite,
  anyCaseId: string,
  precondition?: Precondition,
): Promise<Position> {
  const { commands, caller, assetType } = target;
  const id = recordId(assetType.name, anyCaseId);
  if (assetType.role === 'reference') return deleteReferenceRecord(target, id, precondition);
  const { assetTypes } = tenantOf(commands, caller.tenant);
  const { position } = await writePart(target, id, (order) => {
    requireTag(precondition, partView(assetType, order, id));
    return decideRemoval(order, id, assetTypes);
  });
  return position;
}

/** @throws NotFoundError */
async function writePart(
  target: TableWrite,
  id: string,
  decide: (order: Order) => OrderDecision,
): Promise<WrittenOrder> {
  const { commands, caller, assetType } = target;
  const record = await getShown(commands, { tenant: caller.tenant, table: assetType.name }, id);
  const orderId = record && (await orderOf(target, JSON.parse(record)));
  if (orderId === undefined) throw unknownRecord(assetType, id);
  return writeOrder(commands, caller, orderId, (order) => () => {
    // It was removed, and the read models, or another request, do not know yet.
    if (!order.parts.has(id)) throw unknownRecord(assetType, id);
    return decide(order);
  });
}

/** The id of the order that a part leads to by its fields and the rows of its parents; undefined for a dead end. */
async function orderOf({ commands, caller, assetType }: TableWrite, fields: Fields): Promise<string | undefined> {
  const { parent } = assetType;
  const { tenant } = caller;
  const id = ownValue(fields, parent?.field ?? '');
  if (parent === undefined || typeof id !== 'string') return undefined;
  const parentType = assetTypeOf(tenantOf(commands, tenant), parent.table);
  if (parentType.role === 'order') return id;
  const record = await getShown(commands, { tenant, table: parent.table }, id);
  return record === undefined ? undefined : orderOf({ commands, caller, assetType: parentType }, JSON.parse(record));
}

const getShown = ({ queries, progress }: Commands, table: TableRef, id: string) =>
  progress.found(table.tenant, () => queries.records.get(table, id));

function partView(assetType: AssetType, order: Order, id: string): RecordView {
  const part = order.parts.get(id);
  if (part === undefined) throw new Error(`Part ${id} is not in its order.`);
  return recordView(assetType, part);
}

/**
 * @param body a JSON object of asset fields; may name its own `id` (a UUID that is not taken)
 * @param key Idempotency-Key: a repetition creates nothing more and gets the same answer
 * @throws ValidationError with every error by field
 */
export async function createRecord(target: TableWrite, body: unknown, key?: string): Promise<WrittenRecord> {
  const { commands, caller, assetType } = target;
  const { tenant } = caller;
  const { name: table, role } = assetType;
  const create = async (own: Caller): Promise<WrittenRecord> => {
    if (role === 'order') return createOrder({ ...target, caller: own }, body);
    const createOne = role === 'part' ? createPartRecord : createReferenceRecord;
    return createOne({ ...target, caller: own }, checkedInput(assetType, 'create', body));
  };
  return once<WrittenRecord>(commands, caller, { table, key, body }, create, async ({ subject: id, position }) => {
    if (id === undefined) return undefined;
    if (role !== 'order') {
      const then = new RecordQueries(commands.rows, commands.directory, position);
      const record = await then.get({ tenant, table }, id);
      return record === undefined ? undefined : { position, id, record: JSON.parse(record) };
    }
    const until = { to: 0, cancellation: caller.deadline };
    const order = (await loadOrder(commands.eventStore, tenant, id, until))?.state;
    const { assetTypes } = tenantOf(commands, tenant);
    return order && { position, ...writtenOrder(assetTypes, assetType, id, order, body) };
  });
}

/**
 * @param body a JSON object of the fields to change; other fields stay
 * @throws NotFoundError for an unknown record; PreconditionFailedError; ValidationError with every error by field
 */
export async function updateRecord(
  target: TableWrite,
  anyCaseId: string,
  body: unknown,
  precondition?: Precondition,
): Promise<WrittenRecord> {
  const { assetType } = target;
  const id = recordId(assetType.name, anyCaseId);
  if (assetType.role === 'order') {
    const before = (order: Order) => requireTag(precondition, orderView(assetType, id, order));
    return updateOrder(target, id, body, before);
  }
  const update = assetType.role === 'part' ? updatePartRecord : updateReferenceRecord;
  return update(target, id, checkedInput(assetType, 'update', body), precondition);
}
