/** The state of one order, evolved from its events, and the form of decisions on it. */
import type { FieldErrors } from '../assetTypes/fieldErrors.js';
import { type Fields, ownValue } from '../assetTypes/fieldTypes.js';
import { copied, type Writable } from '../writable.js';
import type { Changes, ExportWarning, OrderEvent, PartChanges, PartFields, Repeat, StatusChange } from './events.js';
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
  readonly approval?: string;
  /** The latest approval, in force or not. */
  readonly lastApproval?: {
    readonly id: string;
    readonly at: string;
    /** In the log; absent for an approval that is not in it yet. */
    readonly position?: number;
    readonly repeats: readonly Repeat[];
    /** Warnings at the time of the approval. */
    readonly warnings: readonly ExportWarning[];
    /** Webhooks that its export has waited for, and when they were disabled. */
    readonly held: readonly { readonly webhookId: string; readonly since: string }[];
  };
  /** While the order is `failed`: the approval whose export failed, and the webhooks that lack it. */
  readonly failed?: { readonly approvalEventId: string; readonly webhookIds: readonly string[] };
};

/** Each field that is set, with its value before. */
export const toChanges = (current: Fields, set: Fields): Changes =>
  Object.fromEntries(Object.entries(set).map(([name, to]) => [name, { from: ownValue(current, name) ?? null, to }]));

const applied = (fields: Fields, changes: Changes): Fields => ({
  ...fields,
  ...Object.fromEntries(Object.entries(changes).map(([name, change]) => [name, change.to])),
});

/**
 * The state after one more event.
 * @param id of the event, by which approvals are told apart
 * @param at its time
 * @param position in the log, if it is there
 */
export function evolve(
  order: Order | undefined,
  event: OrderEvent,
  { id, at, position }: { readonly id: string; readonly at: string; readonly position?: number | undefined },
  writable: Writable = copied,
): Order {
  if (event.type === 'OrderCreated' || event.type === 'OrderCreatedWithParts') {
    const { table, fields, status } = event.data;
    const parts =
      event.type === 'OrderCreated' ? [] : event.data.parts.map((part) => [part.id, newPart(part, at)] as const);
    return { table, fields, status, parts: new Map(parts), createdAt: at, updatedAt: at };
  }
  if (order === undefined) throw new Error(`${event.type} before OrderCreated.`);
  const { from, to } = event.data.status;
  const moved = from === to ? order : withoutApproval({ ...order, status: to, updatedAt: at });
  switch (event.type) {
    case 'OrderChanged':
      return { ...moved, fields: applied(order.fields, event.data.changes), updatedAt: at };
    case 'OrderPartAdded':
      return { ...moved, parts: writable(order.parts).set(event.data.id, newPart(event.data, at)) };
    case 'OrderPartChanged':
      return { ...moved, parts: writable(order.parts).set(event.data.id, changedPart(order, event.data, at)) };
    case 'OrderPartsChanged': {
      const parts = writable(order.parts);
      for (const { id: partId } of event.data.removed) parts.delete(partId);
      for (const part of event.data.changed) parts.set(part.id, changedPart(order, part, at));
      for (const part of event.data.added) parts.set(part.id, newPart(part, at));
      return { ...moved, parts, updatedAt: at };
    }
    case 'OrderApproved': {
      const set = { approved_at: event.data.approvedAt, approved_by: event.data.approver.id, error_reason: null };
      const { repeats = [], warnings = [] } = event.data;
      const placed = position === undefined ? {} : { position };
      const lastApproval = { id, at, ...placed, repeats, warnings, held: [] };
      return { ...moved, fields: { ...order.fields, ...set }, approval: id, lastApproval, updatedAt: at };
    }
    case 'OrderStatusChanged':
      return { ...moved, fields: { ...order.fields, error_reason: event.data.errorReason }, updatedAt: at };
    case 'OrderRejected':
      return { ...moved, ...withReasons(order, event.data.reasons), updatedAt: at };
    case 'OrderExportFailed': {
      const { approvalEventId = order.approval, webhookIds = [] } = order.failed ?? {};
      const failed =
        approvalEventId === undefined
          ? {}
          : { failed: { approvalEventId, webhookIds: [...webhookIds, event.data.webhookId] } };
      return { ...moved, ...failed, ...withReasons(order, event.data.reasons), updatedAt: at };
    }
    case 'OrderExportHeld': {
      const { lastApproval } = order;
      const { webhookId, since } = event.data.warning;
      const held = [...(lastApproval?.held ?? []), { webhookId, since }];
      return lastApproval === undefined ? order : { ...order, lastApproval: { ...lastApproval, held } };
    }
    case 'OrderExportDelivered': {
      const { approvalEventId, webhookId, reasons } = event.data;
      const webhookIds = order.failed?.webhookIds.filter((each) => each !== webhookId) ?? [];
      const export_ = to === 'submitted' ? { approval: approvalEventId } : { failed: { approvalEventId, webhookIds } };
      return { ...moved, ...export_, ...withReasons(order, reasons), updatedAt: at };
    }
  }
}

const newPart = ({ table, id, fields }: PartFields, at: string): OrderPart => ({
  table,
  id,
  fields,
  createdAt: at,
  updatedAt: at,
});

function changedPart({ parts }: Order, { id, changes }: PartChanges, at: string): OrderPart {
  const part = parts.get(id);
  if (part === undefined) throw new Error(`Part ${id} changed before it was added.`);
  return { ...part, fields: applied(part.fields, changes), updatedAt: at };
}

const withReasons = ({ fields }: Order, reasons: readonly string[]): Pick<Order, 'fields'> => ({
  fields: { ...fields, error_reason: reasons.length > 0 ? reasons : null },
});

const withoutApproval = ({ approval: _, failed: __, ...order }: Order): Order => order;

/** `invalid` is about the body (422); `conflict` is about the state the order is in (409). */
export type OrderDecision =
  | { readonly kind: 'accepted'; readonly events: readonly OrderEvent[] }
  | { readonly kind: 'invalid'; readonly errors: FieldErrors; readonly advice?: string }
  | { readonly kind: 'conflict'; readonly message: string };

export const refuse = (field: string, message: string): OrderDecision => ({
  kind: 'invalid',
  errors: { [field]: [message] },
});
export const accept = (...events: OrderEvent[]): OrderDecision => ({ kind: 'accepted', events });

export const stay = (order: Order): StatusChange => ({ from: order.status, to: order.status });
export const move = (order: Order, to: OrderStatus): StatusChange => ({ from: order.status, to });
