/** The state of one order, evolved from its events, and the form of decisions on it. */
import { type AssetType, type RecordView, recordView } from '../assetTypes/assetType.js';
import type { FieldErrors } from '../assetTypes/fieldErrors.js';
import type { Fields } from '../assetTypes/fieldTypes.js';
import { orderEffects, type RecordEffect } from '../effects.js';
import type { OrderEvent, StatusChange } from './events.js';
import type { Approval } from './exportDocument.js';
import type { AssetTypes, ExportSnapshot } from './snapshot.js';
import type { OrderStatus } from './status.js';

type Times = { readonly createdAt: string; readonly updatedAt: string };

export type OrderPart = Times & { readonly table: string; readonly id: string; readonly fields: Fields };

export type Order = Times & {
  readonly table: string;
  readonly status: OrderStatus;
  /** The order's own fields, without processing_status. */
  readonly fields: Fields;
  readonly parts: ReadonlyMap<string, OrderPart>;
  /** Event id of the approval in force; undefined once anything else has changed the status. */
  readonly approval?: string | undefined;
  /** The latest approval, in force or not. */
  readonly lastApproval?: Approval;
  /** While the order is `failed`: the approval whose export failed, and the webhooks that lack it. */
  readonly failed?: { readonly approvalEventId: string; readonly webhookIds: readonly string[] } | undefined;
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
    const empty = { table, status, fields: {}, parts: new Map(), createdAt: at, updatedAt: at };
    return withRows(empty, orderEffects(event, '', table), at);
  }
  if (order === undefined) throw new Error(`${event.type} before OrderCreated.`);
  const { from, to } = event.data.status;
  const moved = from === to ? order : { ...order, status: to, approval: undefined, failed: undefined };
  const next = withRows(moved, orderEffects(event, '', order.table), at);
  switch (event.type) {
    case 'OrderApproved': {
      const { approvedAt, approver } = event.data;
      return { ...next, approval: id, lastApproval: { approvedAt, approver } };
    }
    case 'OrderExportFailed': {
      const { approvalEventId = order.approval, webhookIds = [] } = order.failed ?? {};
      if (approvalEventId === undefined) return next;
      return { ...next, failed: { approvalEventId, webhookIds: [...webhookIds, event.data.webhookId] } };
    }
    case 'OrderExportHeld':
      return order;
    case 'OrderExportDelivered': {
      const { approvalEventId, webhookId } = event.data;
      const webhookIds = order.failed?.webhookIds.filter((each) => each !== webhookId) ?? [];
      return to === 'submitted'
        ? { ...next, approval: approvalEventId }
        : { ...next, failed: { approvalEventId, webhookIds } };
    }
    default:
      return next;
  }
}

function withRows(order: Order, rows: readonly RecordEffect[], at: string): Order {
  const ofParts = rows.filter(({ space }) => space !== order.table);
  const parts = new Map(order.parts);
  for (const row of ofParts) {
    if (row.kind === 'delete') parts.delete(row.id);
    else parts.set(row.id, partAfter(parts.get(row.id), row, at));
  }
  // An event has one effect on the order itself, at most.
  const own = rows.find(({ space }) => space === order.table);
  if (own === undefined) return { ...order, parts };
  const { processing_status: _, ...fields } = { ...order.fields, ...setBy(own) };
  return { ...order, fields, parts, updatedAt: at };
}

const setBy = (row: RecordEffect): Fields => (row.kind === 'create' ? row.fields : row.kind === 'patch' ? row.set : {});

function partAfter(part: OrderPart | undefined, row: RecordEffect, at: string): OrderPart {
  const { space: table, id } = row;
  if (row.kind === 'create') return { table, id, fields: row.fields, createdAt: at, updatedAt: at };
  if (part === undefined) throw new Error(`Part ${id} changed before it was added.`);
  return { ...part, fields: { ...part.fields, ...setBy(row) }, updatedAt: at };
}

export const orderView = (assetType: Pick<AssetType, 'fields'>, id: string, order: Order): RecordView =>
  recordView(assetType, { id, ...order, fields: { ...order.fields, processing_status: order.status } });

/** The order and its parts, without the records that they name. */
export function orderAlone(assetTypes: AssetTypes, id: string, order: Order): ExportSnapshot {
  const typeOf = (table: string) => assetTypes.get(table) ?? { fields: [] };
  const parts = [...order.parts.values()].map((part) => ({
    table: part.table,
    record: recordView(typeOf(part.table), part),
  }));
  return { table: order.table, order: orderView(typeOf(order.table), id, order), parts, related: {} };
}

/** `invalid` is about the body (422); `conflict` is about the state the order is in (409). */
export type OrderDecision =
  | { readonly kind: 'accepted'; readonly events: readonly OrderEvent[] }
  | { readonly kind: 'invalid'; readonly errors: FieldErrors; readonly advice?: string }
  | { readonly kind: 'conflict'; readonly message: string };

export const refuse = (field: string, message: string): OrderDecision => ({
  kind: 'invalid',
  errors: { [field]: [message] },
});
export const conflict = (message: string): OrderDecision => ({ kind: 'conflict', message });
export const accept = (...events: OrderEvent[]): OrderDecision => ({ kind: 'accepted', events });

export const stay = (order: Order): StatusChange => ({ from: order.status, to: order.status });
export const move = (order: Order, to: OrderStatus): StatusChange => ({ from: order.status, to });
