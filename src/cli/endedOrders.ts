/** Finds the orders that have ended with all their deliveries: `migrate --before` moves their streams into an archive. */
import { parseStream } from '../domain/streams.js';
import type { EventStore, Position, RecordedEvent } from '../ports/eventStore.js';
import { appendsOf, type Selection } from './logProof.js';

/** An order, as far as its end depends on it. */
type Order = {
  status: string;
  /** Time of the last event of the order or of a delivery about it (ISO 8601). */
  lastAt: string;
  /** Position of the last event of the order itself. */
  last: Position;
  isDelivered: boolean;
  readonly deliveries: Set<string>;
  readonly open: Set<string>;
};

/**
 * Selects the streams of orders that are completed, rejected, or submitted and delivered, with those of their deliveries,
 * if nothing has happened to them since that time. A delivery is never without the order that it is made from: otherwise
 * the relay, which reads the new log from its start, would request it again.
 * @param before ISO 8601
 */
export async function endedBefore(
  log: EventStore,
  before: string,
  onProgress: (position: Position, head: Position) => void,
): Promise<Selection> {
  const orders = new Map<string, Order>();
  const orderOf = new Map<string, Order>();
  const missed = new MissedEvents(before);
  const head = await log.head();
  for await (const { events, position } of appendsOf(log, head)) {
    for (const event of events) {
      const { category } = parseStream(event.stream);
      if (category === 'order') notice(orders, event);
      else if (category === 'delivery') noticeDelivery(orders, orderOf, event);
      else if (category === 'webhooks') missed.notice(event);
    }
    onProgress(position, head);
  }
  const selected = new Set<string>();
  for (const [stream, order] of orders) {
    if (order.lastAt >= before || !hasEnded(order) || missed.mayConcern(stream, order.last)) continue;
    selected.add(stream);
    for (const delivery of order.deliveries) selected.add(delivery);
  }
  return (stream) => selected.has(stream);
}

function notice(orders: Map<string, Order>, { stream, data, position, metadata }: RecordedEvent): void {
  const order = orders.get(stream) ?? {
    status: '',
    lastAt: '',
    last: position,
    isDelivered: false,
    deliveries: new Set(),
    open: new Set(),
  };
  orders.set(stream, order);
  const { status } = Object(data);
  order.status = typeof status === 'string' ? status : String(Object(status).to ?? order.status);
  order.last = position;
  if (order.lastAt < metadata.occurredAt) order.lastAt = metadata.occurredAt;
}

/** @param orderOf the orders of deliveries, by stream; is updated */
function noticeDelivery(
  orders: ReadonlyMap<string, Order>,
  orderOf: Map<string, Order>,
  { stream, type, data, metadata }: RecordedEvent,
): void {
  if (type === 'DeliveryRequested') {
    const { tenant } = parseStream(stream);
    const about = orders.get(`order-${tenant}.${Object(data).orderId}`);
    if (about === undefined) return;
    orderOf.set(stream, about);
    about.deliveries.add(stream);
    about.open.add(stream);
  }
  const order = orderOf.get(stream);
  if (order === undefined) return;
  if (order.lastAt < metadata.occurredAt) order.lastAt = metadata.occurredAt;
  if (type === 'DeliverySucceeded' || type === 'DeliveryFailed') order.open.delete(stream);
  if (type === 'DeliverySucceeded') order.isDelivered = true;
}

const hasEnded = ({ status, isDelivered, open }: Order): boolean =>
  open.size === 0 && (status === 'completed' || status === 'rejected' || (status === 'submitted' && isDelivered));

/** What a disabled webhook misses has no deliveries until it is enabled, and a while longer. */
class MissedEvents {
  readonly #before: string;
  /** Since when webhooks miss events, by tenant and id. */
  readonly #since = new Map<string, Map<string, Position>>();

  constructor(before: string) {
    this.#before = before;
  }

  notice({ stream, type, data, position, metadata }: RecordedEvent): void {
    const { tenant } = parseStream(stream);
    const since = this.#since.get(tenant) ?? new Map<string, Position>();
    this.#since.set(tenant, since);
    const id = String(Object(data).id);
    if (type === 'WebhookDisabled' && !since.has(id)) since.set(id, position);
    const isOver = type === 'WebhookEnabled' && metadata.occurredAt < this.#before;
    if (isOver || type === 'WebhookRemoved') since.delete(id);
  }

  /** @param last position of the last event of the order's stream */
  mayConcern(stream: string, last: Position): boolean {
    const since = this.#since.get(parseStream(stream).tenant)?.values() ?? [];
    return [...since].some((position) => position < last);
  }
}
