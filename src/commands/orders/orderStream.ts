/** Loads and writes the stream of one order. */
import type { OrderDecision } from '../../domain/order/decide.js';
import type { OrderEvent } from '../../domain/order/events.js';
import { evolve, type Order } from '../../domain/order/order.js';
import { orderStream } from '../../domain/streams.js';
import type { EventToAppend, Position, RecordedEvent } from '../../ports/eventStore.js';
import type { Application } from '../application.js';
import { type Caller, ConflictError, NotFoundError, ValidationError } from '../context.js';
import { createdBefore } from '../idempotency.js';
import { firstEvent, type PagesOf, type StreamReads, untilShown } from '../logReads.js';
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

/** Reads what the decision on an order needs besides it, and returns the decision; either may throw to refuse. */
export type OrderChange = (order: Order) => Decide | Promise<Decide>;
type Decide = (at: string) => OrderDecision;

/** @throws NotFoundError, ValidationError, ConflictError, TryLaterError */
export async function writeOrder(
  commands: Application,
  caller: Caller,
  orderId: string,
  change: OrderChange,
): Promise<WrittenOrder> {
  const written = await writeStream(commands, caller, {
    stream: orderStream(caller.tenant, orderId),
    load: async (_, { deadline: cancellation }) => {
      const order = await loadOrder(commands.eventStore, caller.tenant, orderId, { cancellation });
      if (order === undefined) throw new NotFoundError(`There is no order ${orderId}.`);
      // So that the rows have the key, if an event of the order has it.
      if (caller.key !== undefined) await untilShown(commands, caller);
      return { ...order, state: { order: order.state, decide: await change(order.state) } };
    },
    decide: (state: { order: Order; decide: Decide }, at) => acceptedEvents(state.decide(at)),
  });
  return orderWith(written, written.state.order);
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
