/** Writes the stream of one order, and makes the snapshot that exports are made of. */

import { type RecordView, recordView } from '../../domain/assetTypes/assetType.js';
import type { Tenant } from '../../domain/identity/directory.js';
import type { OrderEvent } from '../../domain/order/events.js';
import { type Order, type OrderDecision, orderAlone } from '../../domain/order/order.js';
import { type ExportSnapshot, isReference, nameIn, type SnapshotPart } from '../../domain/order/snapshot.js';
import { orderStream } from '../../domain/streams.js';
import type { Position } from '../../ports/eventStore.js';
import type { RecordQueries } from '../../queries/records.js';
import type { Application } from '../application.js';
import { untilTenantIsShown } from '../catchUp.js';
import { type Caller, ConflictError, NotFoundError, ValidationError } from '../context.js';
import { newOrderId } from '../idempotency.js';
import { assetTypeOf } from '../tables.js';
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

/** The order and its parts from the log, and the reference records that they refer to from the rows. */
export async function exportSnapshot(
  records: Pick<RecordQueries, 'find'>,
  { name: tenant, assetTypes }: Pick<Tenant, 'name' | 'assetTypes'>,
  orderId: string,
  order: Order,
): Promise<ExportSnapshot> {
  const snapshot = orderAlone(assetTypes, orderId, order);
  const related = new Map<string, Map<string, RecordView>>();
  let found: readonly SnapshotPart[] = [{ table: order.table, record: snapshot.order }, ...snapshot.parts];
  // A record may refer to others in turn (an item to its unit code). Tables do not refer in circles: two rounds are all.
  while (found.length > 0) {
    const wanted = new Map<string, { key: string; values: Set<string> }>();
    for (const { table, record } of found) {
      for (const relation of assetTypeOf({ assetTypes }, table).relationships) {
        const value = nameIn(record, relation.field);
        if (value === '' || !isReference(assetTypes, relation) || related.get(relation.table)?.has(value)) continue;
        const of = wanted.get(relation.table) ?? { key: relation.key, values: new Set() };
        wanted.set(relation.table, of);
        of.values.add(value);
      }
    }
    const next: SnapshotPart[] = [];
    for (const [table, { key, values }] of wanted) {
      const known = related.get(table) ?? new Map<string, RecordView>();
      related.set(table, known);
      for (const stored of await records.find({ tenant, table }, key, [...values])) {
        const record = recordView(assetTypeOf({ assetTypes }, table), stored);
        known.set(nameIn(record, key), record);
        next.push({ table, record });
      }
    }
    found = next;
  }
  const entries = [...related].map(([table, records]) => [table, Object.fromEntries(records)]);
  return { ...snapshot, related: Object.fromEntries(entries) };
}
