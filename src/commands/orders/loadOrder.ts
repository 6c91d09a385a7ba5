/** Loads an order from its stream. */
import type { OrderApproved, OrderEvent } from '../../domain/order/events.js';
import type { Approval } from '../../domain/order/exportDocument.js';
import { evolve, type Order } from '../../domain/order/order.js';
import { orderStream } from '../../domain/streams.js';
import type { EventToAppend, Position, RecordedEvent, Revision } from '../../ports/eventStore.js';
import type { Cancellation } from '../../supervision/cancellation.js';
import { type StreamReads, streamPages } from '../streamPages.js';
import type { Loaded } from '../writeStream.js';

/** An order as it was after an event of its stream. */
type OrderAt = Loaded<Order> & {
  /** Id of that event. */
  readonly eventId: string;
  /** The last one up to that event, without its snapshot, which contains the whole order. */
  readonly approval: Approval | undefined;
};

/** Up to which event; all of them by default. */
type Until = {
  readonly revision?: Revision;
  readonly position?: Position;
  readonly cancellation?: Cancellation | undefined;
};

/** An order as it is, or was after an event; undefined when there is or was none. @throws the cancellation's reason */
export async function loadOrder(
  eventStore: StreamReads,
  tenant: string,
  orderId: string,
  { revision: to, position = Number.MAX_SAFE_INTEGER, cancellation }: Until = {},
): Promise<OrderAt | undefined> {
  let loaded: OrderAt | undefined;
  for await (const events of streamPages(eventStore, orderStream(tenant, orderId), { to, cancellation })) {
    const until = events.filter((event) => event.position <= position);
    loaded = after(loaded, until);
    if (until.length < events.length) break;
  }
  return loaded;
}

function after(before: OrderAt | undefined, events: readonly RecordedEvent[]): OrderAt | undefined {
  const state = orderAfter(before?.state, events);
  const last = events.at(-1);
  if (state === undefined || last === undefined) return before;
  const approved = events.findLast(({ type }) => type === 'OrderApproved') as OrderApproved | undefined;
  return {
    state,
    revision: last.revision,
    lastEventAt: last.metadata.occurredAt,
    eventId: last.id,
    approval:
      approved === undefined
        ? before?.approval
        : { approvedAt: approved.data.approvedAt, approver: approved.data.approver },
  };
}

/** An order after these further events of its stream; undefined when there is none. */
export function orderAfter(
  before: Order | undefined,
  events: readonly (EventToAppend & Partial<Pick<RecordedEvent, 'position'>>)[],
): Order | undefined {
  return events.reduce<Order | undefined>(
    (order, { id, type, data, metadata, position }) =>
      evolve(order, { type, data } as OrderEvent, { id, at: metadata.occurredAt, position }),
    before,
  );
}
