/** Writes the stream of one order, and makes its view and the snapshot that exports are made of. */

import { type AssetType, type RecordView, recordView } from '../../domain/assetTypes/assetType.js';
import { ownValue } from '../../domain/assetTypes/fieldTypes.js';
import type { OrderEvent } from '../../domain/order/events.js';
import type { Order, OrderDecision } from '../../domain/order/order.js';
import type { ExportSnapshot, SnapshotPart } from '../../domain/order/snapshot.js';
import { orderStream } from '../../domain/streams.js';
import type { Position } from '../../ports/eventStore.js';
import type { StoredRecord } from '../../queries/storedRecord.js';
import type { Application } from '../application.js';
import { untilTenantIsShown } from '../catchUp.js';
import { type Caller, ConflictError, NotFoundError, ValidationError } from '../context.js';
import { newOrderId } from '../idempotency.js';
import { assetTypeOf, tenantOf } from '../tables.js';
import { type Appended, beginStream, writeStream } from '../writeStream.js';
import { loadOrder, orderAfter } from './loadOrder.js';

export type WrittenOrder = { readonly position: Position; readonly order: Order };

/**
 * @param decide pure or read-only; may run several times
 * @throws NotFoundError, ValidationError, ConflictError, TryAgainError
 */
export async function writeOrder(
  commands: Application,
  caller: Caller,
  orderId: string,
  decide: (order: Order, at: string) => OrderDecision | Promise<OrderDecision>,
): Promise<WrittenOrder> {
  const written = await writeStream(commands, caller, {
    stream: orderStream(caller.tenant, orderId),
    load: async () => {
      const order = await loadOrder(commands.eventStore, caller.tenant, orderId);
      if (order === undefined) throw new NotFoundError(`There is no order ${orderId}.`);
      // So that the rows have the key, if an event of the order has it.
      if (caller.key !== undefined) await untilTenantIsShown(commands, caller);
      return order;
    },
    decide: async (order: Order, at) => acceptedEvents(await decide(order, at)),
  });
  return orderWith(written, written.state);
}

/** @throws ValidationError when there is an order of this id; KeyUsedError when the same request has created it meanwhile */
export async function writeNewOrder(
  commands: Application,
  caller: Caller,
  orderId: string,
  decision: OrderDecision,
): Promise<WrittenOrder> {
  const stream = orderStream(caller.tenant, orderId);
  const appended = await beginStream(commands, caller, stream, acceptedEvents(decision));
  if (appended === undefined) await newOrderId(commands, caller);
  if (appended === undefined) throw new ValidationError({ id: [`The id ${orderId} is taken.`] });
  return orderWith(appended, undefined);
}

function orderWith({ position, events }: Appended<OrderEvent>, before: Order | undefined): WrittenOrder {
  const order = orderAfter(before, events);
  if (order === undefined) throw new Error('An order has at least one event.');
  return { position, order };
}

function acceptedEvents(decision: OrderDecision): readonly OrderEvent[] {
  switch (decision.kind) {
    case 'accepted':
      return decision.events;
    case 'conflict':
      throw new ConflictError(decision.message);
    case 'invalid':
      throw new ValidationError(decision.errors, 0, decision.advice);
  }
}

export const orderView = (assetType: AssetType, id: string, order: Order): RecordView =>
  recordView(assetType, { id, ...order, fields: { ...order.fields, processing_status: order.status } });

/** By table, then by the value that refers to a record there. */
export type Related = Map<string, Map<string, RecordView>>;

export const relatedIn = (related: Related): ExportSnapshot['related'] =>
  Object.fromEntries([...related].map(([table, records]) => [table, Object.fromEntries(records)]));

/** Where the tables of a snapshot, and the reference records in it, come from. */
export type SnapshotSource = {
  readonly assetTypes: ReadonlyMap<string, AssetType>;
  /** See `DecisionReads.find`. */
  readonly find: (table: string, key: string, values: readonly string[]) => Promise<readonly StoredRecord[]>;
};

/** The order and its parts from the log, and the reference records that they refer to from the read model. */
export async function exportSnapshot(
  commands: Application,
  tenant: string,
  orderId: string,
  order: Order,
): Promise<ExportSnapshot> {
  const { assetTypes } = tenantOf(commands, tenant);
  const find: SnapshotSource['find'] = (table, key, values) =>
    commands.queries.records.find({ tenant, table }, key, values);
  return snapshotOf({ assetTypes, find }, orderId, order);
}

export async function snapshotOf(
  { assetTypes, find }: SnapshotSource,
  orderId: string,
  order: Order,
): Promise<ExportSnapshot> {
  const typeOf = (table: string): AssetType => assetTypeOf({ assetTypes }, table);
  const head = orderView(typeOf(order.table), orderId, order);
  const parts = [...order.parts.values()].map((part) => ({
    table: part.table,
    record: recordView(typeOf(part.table), part),
  }));
  const related: Related = new Map();
  let found: readonly SnapshotPart[] = [{ table: order.table, record: head }, ...parts];
  // A record may refer to others in turn (an item to its unit code). Tables do not refer in circles: two rounds are all.
  while (found.length > 0) found = await findRelated(find, typeOf, found, related);
  return {
    table: order.table,
    order: head,
    parts,
    related: relatedIn(related),
  };
}

/** Values that one query names. */
const VALUES_AT_ONCE = 100;

/** Adds the reference records that these name to `related`. @returns the added ones */
export async function findRelated(
  find: SnapshotSource['find'],
  typeOf: (table: string) => AssetType,
  records: readonly SnapshotPart[],
  related: Related,
): Promise<readonly SnapshotPart[]> {
  const wanted = new Map<string, { table: string; key: string; values: Set<string> }>();
  for (const { table, record } of records) {
    for (const relation of typeOf(table).relationships) {
      const value = record[relation.field];
      if (relation.kind !== 'belongs_to' || typeof value !== 'string' || typeOf(relation.table).role !== 'reference')
        continue;
      if (related.get(relation.table)?.has(value) === true) continue;
      const name = `${relation.table}.${relation.key}`;
      const entry = wanted.get(name) ?? { table: relation.table, key: relation.key, values: new Set() };
      entry.values.add(value);
      wanted.set(name, entry);
    }
  }
  const found: SnapshotPart[] = [];
  for (const { table, key, values } of wanted.values()) {
    const records = related.get(table) ?? new Map<string, RecordView>();
    related.set(table, records);
    for (const some of inGroups([...values])) {
      for (const stored of await find(table, key, some)) {
        const record = recordView(typeOf(table), stored);
        records.set(keyValue(stored, key), record);
        found.push({ table, record });
      }
    }
  }
  return found;
}

export const inGroups = <Value>(values: readonly Value[]): readonly (readonly Value[])[] =>
  Array.from({ length: Math.ceil(values.length / VALUES_AT_ONCE) }, (_, at) =>
    values.slice(at * VALUES_AT_ONCE, (at + 1) * VALUES_AT_ONCE),
  );

/** The value by which others name the record. */
export const keyValue = (record: StoredRecord, key: string): string =>
  key === 'id' ? record.id : String(ownValue(record.fields, key));
