/** The state of one order, evolved from its events. */
import type { Fields } from '../assetTypes/fieldTypes.js';
import type { Changes, OrderEvent } from './events.js';
import type { OrderStatus } from './status.js';

type Times = { readonly createdAt: string; readonly updatedAt: string };

export type OrderPart = Times & { readonly table: string; readonly id: string; readonly fields: Fields };

export type Order = Times & {
  readonly table: string;
  readonly status: OrderStatus;
  /** The order's own fields, without processing_status. */
  readonly fields: Fields;
  readonly parts: ReadonlyMap<string, OrderPart>;
  /** Event id of the approval in force; undefined once anything else moved the status. */
  readonly approval?: string;
};

const applied = (fields: Fields, changes: Changes): Fields => ({
  ...fields,
  ...Object.fromEntries(Object.entries(changes).map(([name, change]) => [name, change.to])),
});

/** `id` tells approvals apart, `at` is when it happened. */
type Envelope = { readonly id: string; readonly at: string };

/** State after one more event. */
export const evolve = (order: Order | undefined, event: OrderEvent, envelope: Envelope): Order =>
  next(order, event, envelope, (parts) => new Map(parts));

/**
 * State after many events, one after the other; undefined without any. The parts are copied once, not with each event: an
 * order of thousands of lines has as many events.
 */
export function evolveAll(
  before: Order | undefined,
  history: Iterable<Envelope & { readonly event: OrderEvent }>,
): Order | undefined {
  let draft: Map<string, OrderPart> | undefined;
  const inDraft = (parts: Order['parts']): Map<string, OrderPart> => {
    if (draft === undefined || draft !== parts) draft = new Map(parts);
    return draft;
  };
  let order = before;
  for (const { event, ...envelope } of history) order = next(order, event, envelope, inDraft);
  return order;
}

/** @param writable the parts as a map that may be written to */
function next(
  order: Order | undefined,
  event: OrderEvent,
  { id, at }: Envelope,
  writable: (parts: Order['parts']) => Map<string, OrderPart>,
): Order {
  if (event.type === 'OrderCreated') {
    const { table, fields, status } = event.data;
    return { table, fields, status, parts: new Map(), createdAt: at, updatedAt: at };
  }
  if (order === undefined) throw new Error(`${event.type} before OrderCreated.`);
  const { from, to } = event.data.status;
  const moved = from === to ? order : withoutApproval({ ...order, status: to, updatedAt: at });
  switch (event.type) {
    case 'OrderChanged':
      return { ...moved, fields: applied(order.fields, event.data.changes), updatedAt: at };
    case 'OrderPartAdded': {
      const { table, id: partId, fields } = event.data;
      const part = { table, id: partId, fields, createdAt: at, updatedAt: at };
      return { ...moved, parts: writable(order.parts).set(part.id, part) };
    }
    case 'OrderPartChanged': {
      const part = order.parts.get(event.data.id);
      if (part === undefined) throw new Error(`Part ${event.data.id} changed before it was added.`);
      const changed = { ...part, fields: applied(part.fields, event.data.changes), updatedAt: at };
      return { ...moved, parts: writable(order.parts).set(part.id, changed) };
    }
    case 'OrderApproved': {
      const set = { approved_at: event.data.approvedAt, approved_by: event.data.approver.id, error_reason: null };
      return { ...moved, fields: { ...order.fields, ...set }, approval: id, updatedAt: at };
    }
    case 'OrderStatusChanged':
      return { ...moved, fields: { ...order.fields, error_reason: event.data.errorReason }, updatedAt: at };
    case 'OrderRejected':
    case 'OrderExportFailed': {
      const { reasons } = event.data;
      const set = { error_reason: reasons.length > 0 ? reasons : null };
      return { ...moved, fields: { ...order.fields, ...set }, updatedAt: at };
    }
  }
}

const withoutApproval = ({ approval: _, ...order }: Order): Order => order;
