/** Loads an order from its stream, decides, appends; decides anew when another was first. */
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import type { OrderDecision } from '../../domain/order/decide.js';
import type { OrderEvent } from '../../domain/order/events.js';
import { evolve, type Order } from '../../domain/order/order.js';
import { orderStream } from '../../domain/streams.js';
import { type Position, type RecordedEvent, WrongExpectedRevisionError } from '../../ports/eventStore.js';
import {
  type Caller,
  type Commands,
  ConflictError,
  lastRevision,
  lastTime,
  MAX_ATTEMPTS,
  NotFoundError,
  notBefore,
  TryAgainError,
  toAppend,
  ValidationError,
} from '../context.js';
import { type RecordView, recordView } from '../recordView.js';

export type WrittenOrder = { readonly position: Position; readonly order: Order };

const fold = (order: Order | undefined, recorded: RecordedEvent): Order =>
  evolve(order, { type: recorded.type, data: recorded.data } as OrderEvent, {
    id: recorded.id,
    at: recorded.metadata.occurredAt,
  });

/** An order after these events of its stream, from the first on; undefined when there are none. */
export const foldOrder = (events: readonly RecordedEvent[]): Order | undefined =>
  events.reduce<Order | undefined>(fold, undefined);

/** An order as its events tell it; undefined when there is none. */
export async function loadOrder(
  commands: Commands,
  tenant: string,
  orderId: string,
): Promise<{ readonly order: Order; readonly revision: number; readonly lastAt: string } | undefined> {
  const events = await commands.eventStore.readStream(orderStream(tenant, orderId));
  const order = foldOrder(events);
  return order === undefined ? undefined : { order, revision: lastRevision(events), lastAt: lastTime(events) };
}

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
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const loaded = await loadOrder(commands, caller.tenant, orderId);
    if (loaded === undefined) throw new NotFoundError(`There is no order ${orderId}.`);
    const at = notBefore(commands.now(), loaded.lastAt);
    const events = acceptedEvents(await decide(loaded.order, at));
    if (events.length === 0) return { position: 0, order: loaded.order };
    const written = await appendOrder(commands, caller, orderId, events, { at, ...loaded });
    if (written !== undefined) return written;
  }
  throw new TryAgainError(`Order ${orderId} is being written by many at once.`);
}

/** undefined when another writer was first. */
export async function appendOrder(
  commands: Commands,
  caller: Caller,
  orderId: string,
  events: readonly OrderEvent[],
  before: { readonly at: string; readonly revision: number; readonly order: Order | undefined },
): Promise<WrittenOrder | undefined> {
  const toStore = toAppend(commands, caller, before.at, events);
  try {
    const expected = before.revision < 0 ? 'no-stream' : before.revision;
    const { position } = await commands.eventStore.append(orderStream(caller.tenant, orderId), toStore, expected);
    const order = events.reduce<Order | undefined>(
      (state, event, index) => evolve(state, event, { id: toStore[index]?.id ?? '', at: before.at }),
      before.order,
    );
    if (order === undefined) throw new Error('An order has at least one event.');
    return { position, order };
  } catch (error) {
    if (error instanceof WrongExpectedRevisionError) return undefined;
    throw error;
  }
}

export function acceptedEvents(decision: OrderDecision): readonly OrderEvent[] {
  if (decision.ok) return decision.events;
  if ('conflict' in decision) throw new ConflictError(decision.conflict);
  throw new ValidationError(decision.errors);
}

export const orderView = (assetType: AssetType, id: string, order: Order): RecordView =>
  recordView(assetType, { id, ...order, fields: { ...order.fields, processing_status: order.status } });
