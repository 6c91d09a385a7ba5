/** Loading and writing the stream of one order. */
import { type AssetType, type RecordView, recordView } from '../../domain/assetTypes/assetType.js';
import { failExport as decideFailure, type ExportFailure, type OrderDecision } from '../../domain/order/decide.js';
import type { OrderEvent } from '../../domain/order/events.js';
import { evolve, type Order } from '../../domain/order/order.js';
import { orderStream } from '../../domain/streams.js';
import type { EventStore, EventToAppend, Position } from '../../ports/eventStore.js';
import { type Caller, type Commands, ConflictError, NotFoundError, ValidationError } from '../context.js';
import { type Appended, appendIfUnchanged, loadStream, NO_STREAM, writeStream } from '../writeStream.js';

export type WrittenOrder = { readonly position: Position; readonly order: Order };

const evolveOrder = (order: Order | undefined, { id, type, data, metadata }: EventToAppend): Order =>
  evolve(order, { type, data } as OrderEvent, { id, at: metadata.occurredAt });

/** An order after these events of its stream, from the first on; undefined when there are none. */
export const orderFromEvents = (events: readonly EventToAppend[]): Order | undefined =>
  events.reduce<Order | undefined>(evolveOrder, undefined);

/** An order as its events tell it; undefined when there is none. */
export const loadOrder = async (
  eventStore: Pick<EventStore, 'readStream'>,
  tenant: string,
  orderId: string,
): Promise<Order | undefined> => (await loadStream(eventStore, orderStream(tenant, orderId), evolveOrder)).state;

/**
 * @param decide pure or reading only; may run several times
 * @throws NotFoundError, ValidationError, ConflictError, TryAgainError
 */
export async function writeOrder(
  commands: Commands,
  caller: Caller,
  orderId: string,
  decide: (order: Order, at: string) => OrderDecision | Promise<OrderDecision>,
): Promise<WrittenOrder> {
  const stream = orderStream(caller.tenant, orderId);
  const written = await writeStream(commands, caller, {
    stream,
    name: `Order ${orderId}`,
    load: async () => {
      const { state, ...end } = await loadStream(commands.eventStore, stream, evolveOrder);
      if (state === undefined) throw new NotFoundError(`There is no order ${orderId}.`);
      return { ...end, state };
    },
    decide: async (order, at) => acceptedEvents(await decide(order, at)),
  });
  return orderWith(written, written.state);
}

/**
 * An export has failed for good (spec §3, §6.4): the order goes to `failed`, with the reasons. Does nothing
 * when the order has moved on since that approval, so it may be called again after a crash.
 */
export async function failExport(
  commands: Commands,
  caller: Caller,
  orderId: string,
  failure: ExportFailure,
): Promise<void> {
  await writeOrder(commands, caller, orderId, (order) => decideFailure(order, failure));
}

/** @throws ValidationError when there is an order of this id */
export async function writeNewOrder(
  commands: Commands,
  caller: Caller,
  orderId: string,
  decision: OrderDecision,
): Promise<WrittenOrder> {
  const stream = orderStream(caller.tenant, orderId);
  const appended = await appendIfUnchanged(commands, caller, stream, NO_STREAM, acceptedEvents(decision));
  if (appended === undefined) throw new ValidationError({ id: [`The id ${orderId} is taken.`] });
  return orderWith(appended, undefined);
}

function orderWith({ position, events }: Appended<OrderEvent>, before: Order | undefined): WrittenOrder {
  const order = events.reduce<Order | undefined>(evolveOrder, before);
  if (order === undefined) throw new Error('An order has at least one event.');
  return { position, order };
}

export function acceptedEvents(decision: OrderDecision): readonly OrderEvent[] {
  switch (decision.kind) {
    case 'accepted':
      return decision.events;
    case 'conflict':
      throw new ConflictError(decision.message);
    case 'invalid':
      throw new ValidationError(decision.errors);
  }
}

export const orderView = (assetType: AssetType, id: string, order: Order): RecordView =>
  recordView(assetType, { id, ...order, fields: { ...order.fields, processing_status: order.status } });
