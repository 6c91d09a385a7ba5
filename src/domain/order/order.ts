/** The state of one order, evolved from its events. */
import type { Fields } from '../assetTypes/fieldTypes.js';
import { copied, type Writable } from '../writable.js';
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

/** State after one more event; `id` tells approvals apart, `at` is when it happened. */
export function evolve(
  order: Order | undefined,
  event: OrderEvent,
  { id, at }: { readonly id: string; readonly at: string },
  writable: Writable = copied,
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
