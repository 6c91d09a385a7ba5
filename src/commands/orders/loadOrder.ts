/** Loads an order from its stream. */
import type { OrderApproved, OrderEvent } from '../../domain/order/events.js';
import type { Approval } from '../../domain/order/exportDocument.js';
import { evolve, type Order } from '../../domain/order/order.js';
import { orderStream } from '../../domain/streams.js';
import type { EventToAppend, RecordedEvent, Revision } from '../../ports/eventStore.js';
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

/** Reads orders of one log. */
export class OrderReader {
  readonly #eventStore: StreamReads;

  constructor(eventStore: StreamReads) {
    this.#eventStore = eventStore;
  }

  /** An order as it is now; undefined when there is none. @throws the cancellation's reason */
  load(tenant: string, orderId: string, cancellation?: Cancellation): Promise<OrderAt | undefined> {
    return this.loadAt(tenant, orderId, undefined, cancellation);
  }

  /**
   * An order as it was after the event of this revision; undefined when there was none.
   * @param revision undefined: as it is now, or was at the position
   * @throws the cancellation's reason
   */
  async loadAt(
    tenant: string,
    orderId: string,
    revision: Revision | undefined,
    cancellation?: Cancellation,
    position = Number.MAX_SAFE_INTEGER,
  ): Promise<OrderAt | undefined> {
    let loaded: OrderAt | undefined;
    const stream = orderStream(tenant, orderId);
    for await (const events of streamPages(this.#eventStore, stream, { to: revision, cancellation })) {
      const until = events.filter((event) => event.position <= position);
      loaded = after(loaded, until);
      if (until.length < events.length) break;
    }
    return loaded;
  }
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
