/** The state of one order, evolved from its events, and what each event tells of it. Pure. */
import { type AssetType, type RecordView, recordView } from '../assetTypes/assetType.js';
import { type Changes, changesOf, clearedFields, type Fields } from '../assetTypes/fieldTypes.js';
import { orderEffects, type RecordEffect } from '../effects.js';
import type { AssetTypes } from './document.js';
import type { Approval, ExportSnapshot, OrderEvent, OrderStatus, Problem } from './events.js';

type Times = { readonly createdAt: string; readonly updatedAt: string };

export type OrderPart = Times & { readonly table: string; readonly id: string; readonly fields: Fields };

export type Order = Times & {
  readonly table: string;
  readonly status: OrderStatus;
  /** The order's own fields, without processing_status. */
  readonly fields: Fields;
  readonly parts: ReadonlyMap<string, OrderPart>;
  /** Event id of the approval in force; undefined once anything but its export has changed the status. */
  readonly approval?: string | undefined;
  /** While the order is `failed`: the webhooks that lack the export of that approval. */
  readonly lackedBy: readonly string[];
  /** The latest approval, in force or not. */
  readonly lastApproval?: Approval;
};

/**
 * The state after one more event: its fields and parts are what the event did to their rows.
 * @param id of the event, by which approvals are told apart
 * @param at its time
 */
export function evolve(
  order: Order | undefined,
  event: OrderEvent,
  { id, at }: { readonly id: string; readonly at: string },
): Order {
  if (event.type === 'OrderCreated' || event.type === 'OrderCreatedWithParts') {
    const { table, status } = event.data;
    const empty = { table, status, fields: {}, parts: new Map(), lackedBy: [], createdAt: at, updatedAt: at };
    return withRows(empty, orderEffects(event, '', table), at);
  }
  if (order === undefined) throw new Error(`${event.type} before OrderCreated.`);
  const { from, to } = event.data.status;
  const moved = from === to ? order : { ...order, status: to, approval: undefined, lackedBy: [] };
  const next = withRows(moved, orderEffects(event, '', order.table), at);
  switch (event.type) {
    case 'OrderApproved': {
      const { approvedAt, approver } = event.data;
      return { ...next, approval: id, lastApproval: { approvedAt, approver } };
    }
    case 'OrderExportFailed':
      return { ...next, approval: order.approval, lackedBy: [...order.lackedBy, event.data.webhookId] };
    case 'OrderExportDelivered': {
      const { approvalEventId: approval, webhookId } = event.data;
      return { ...next, approval, lackedBy: order.lackedBy.filter((each) => each !== webhookId) };
    }
    case 'OrderExportHeld':
      return order;
    default:
      return next;
  }
}

function withRows(order: Order, rows: readonly RecordEffect[], at: string): Order {
  let { fields, updatedAt } = order;
  const parts = new Map(order.parts);
  for (const row of rows) {
    const { space: table, id } = row;
    if (table === order.table) {
      const { processing_status: _, ...own } = { ...fields, ...setBy(row) };
      [fields, updatedAt] = [own, at];
    } else if (row.kind === 'delete') parts.delete(id);
    else {
      const part = row.kind === 'create' ? { table, id, fields: {}, createdAt: at } : parts.get(id);
      if (part === undefined) throw new Error(`Part ${id} changed before it was added.`);
      parts.set(id, { ...part, fields: { ...part.fields, ...setBy(row) }, updatedAt: at });
    }
  }
  return { ...order, fields, parts, updatedAt };
}

const setBy = (row: RecordEffect): Fields => (row.kind === 'create' ? row.fields : row.kind === 'patch' ? row.set : {});

export const orderView = (assetType: Pick<AssetType, 'fields'>, id: string, order: Order): RecordView =>
  recordView(assetType, { id, ...order, fields: { ...order.fields, processing_status: order.status } });

/** The order and its parts, without the records that they name. */
export function bareOrder(assetTypes: AssetTypes, id: string, order: Order): ExportSnapshot {
  const typeOf = (table: string) => assetTypes.get(table) ?? { fields: [] };
  const shown = (part: OrderPart) => ({ table: part.table, record: recordView(typeOf(part.table), part) });
  const parts = [...order.parts.values()].map(shown);
  return { table: order.table, order: orderView(typeOf(order.table), id, order), parts, related: {} };
}

/** A changed field of the order or of one of its parts. */
type FieldChange = { readonly table: string; readonly id: string; readonly field: string } & Changes[string];

export type OrderChange = {
  /** Status before and after; `statusFrom` is null for the creation; equal if unchanged. */
  readonly statusFrom: string | null;
  readonly statusTo: string;
  readonly reasons: readonly string[];
  /** In spite of which it was approved. */
  readonly problems: readonly Problem[];
  readonly changes: readonly FieldChange[];
};

/** @param orderModel the table of the tenant's orders */
export function changeOfOrder(event: OrderEvent, orderModel: string, orderId: string): OrderChange {
  const { status } = event.data;
  const [statusFrom, statusTo] = typeof status === 'string' ? [null, status] : [status.from, status.to];
  const changes = orderEffects(event, orderId, orderModel).flatMap(changesIn);
  const problems = event.type === 'OrderApproved' ? (event.data.override?.problems ?? []) : [];
  return { statusFrom, statusTo, reasons: reasonsOf(event), problems, changes };
}

/** What happened to the fields of the order or of one of its parts. The order's status is told apart. */
function changesIn(effect: RecordEffect): readonly FieldChange[] {
  const { id, space: table, kind } = effect;
  const was = kind === 'create' ? {} : effect.was;
  // An event is not about the values where it does not have those before, such as a patch that only tells the status.
  if (was === undefined) return [];
  const { processing_status: _, ...fields } = kind === 'delete' ? clearedFields(was) : changesOf(was, setBy(effect));
  return Object.entries(fields).map(([field, { from, to }]) => ({ table, id, field, from, to }));
}

function reasonsOf({ type, data }: OrderEvent): readonly string[] {
  if (type === 'OrderApproved') return data.override === undefined ? [] : [data.override.reason];
  return ('reasons' in data ? data.reasons : 'errorReason' in data && data.errorReason) || [];
}
