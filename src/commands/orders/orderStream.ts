/** Loads and writes the stream of one order, and makes the snapshot that its document is made of. */
import { type RecordView, recordView } from '../../domain/assetTypes/assetType.js';
import type { Tenant } from '../../domain/identity/directory.js';
import type { OrderDecision } from '../../domain/order/decide.js';
import { isReference, nameIn } from '../../domain/order/document.js';
import type { ExportSnapshot, OrderEvent, SnapshotPart } from '../../domain/order/events.js';
import { evolve, type Order, orderAlone } from '../../domain/order/order.js';
import { orderStream } from '../../domain/streams.js';
import type { EventToAppend, Position, RecordedEvent } from '../../ports/eventStore.js';
import type { RecordQueries } from '../../queries/records.js';
import type { Application } from '../application.js';
import { type Caller, ConflictError, NotFoundError, ValidationError } from '../context.js';
import { createdBefore } from '../idempotency.js';
import { firstEvent, type PagesOf, type StreamReads, untilShown } from '../logReads.js';
import { assetTypeOf } from '../tables.js';
import { type Appended, beginStream, type Loaded, loadStream, writeStream } from '../writeStream.js';

/**
 * An order as it is, or was after an event, with the id of that event; undefined when there is or was none.
 * @param until revision or position of the event, the last one by default @throws the cancellation's reason
 */
export async function loadOrder(
  eventStore: StreamReads,
  tenant: string,
  orderId: string,
  { position = Number.MAX_SAFE_INTEGER, ...pages }: PagesOf & { readonly position?: Position | undefined } = {},
): Promise<(Loaded<Order> & { readonly eventId: string }) | undefined> {
  let eventId = '';
  const evolveUntil = (order: Order | undefined, event: RecordedEvent): Order | undefined => {
    if (event.position > position) return order;
    eventId = event.id;
    return evolveOrder(order, event);
  };
  const { state, ...end } = await loadStream(eventStore, orderStream(tenant, orderId), evolveUntil, undefined, pages);
  return state && { ...end, state, eventId };
}

const evolveOrder = (order: Order | undefined, { id, type, data, metadata }: EventToAppend): Order =>
  evolve(order, { type, data } as OrderEvent, { id, at: metadata.occurredAt });

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
    load: async (_, { deadline: cancellation }) => {
      const order = await loadOrder(commands.eventStore, caller.tenant, orderId, { cancellation });
      if (order === undefined) throw new NotFoundError(`There is no order ${orderId}.`);
      // So that the rows have the key, if an event of the order has it.
      if (caller.key !== undefined) await untilShown(commands, caller);
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
  if (appended !== undefined) return orderWith(appended, undefined);
  const first = await firstEvent(commands.eventStore, stream);
  if (first && caller.key && first.metadata.key?.id === caller.key.id) throw createdBefore(first, orderId, caller.key);
  throw new ValidationError({ id: [`The id ${orderId} is taken.`] });
}

function orderWith({ position, events }: Appended<OrderEvent>, before: Order | undefined): WrittenOrder {
  const order = events.reduce<Order | undefined>(evolveOrder, before);
  if (order === undefined) throw new Error('An order has at least one event.');
  return { position, order };
}

function acceptedEvents(decision: OrderDecision): readonly OrderEvent[] {
  if (decision.kind === 'conflict') throw new ConflictError(decision.message);
  if (decision.kind === 'invalid') throw new ValidationError(decision.errors);
  return decision.events;
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
  // A record may refer to others in turn (an item to its unit code). Tables do not refer in circles: two rounds are all.
  let found: readonly SnapshotPart[] = [{ table: order.table, record: snapshot.order }, ...snapshot.parts];
  while (found.length > 0) {
    const next: SnapshotPart[] = [];
    for (const from of new Set(found.map((each) => each.table)))
      for (const relation of assetTypeOf({ assetTypes }, from).relationships) {
        const { table, key, field } = relation;
        const known = related.get(table) ?? new Map<string, RecordView>();
        const names = new Set(found.filter((each) => each.table === from).map(({ record }) => nameIn(record, field)));
        const wanted = [...names].filter((name) => name !== '' && !known.has(name));
        if (wanted.length === 0 || !isReference(assetTypes, relation)) continue;
        related.set(table, known);
        for (const stored of await records.find({ tenant, table }, key, wanted)) {
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
