/** What an event of an order tells: the status before and after, reasons, and the changed fields. Pure. */
import { type Changes, changesOf, clearedFields } from '../assetTypes/fieldTypes.js';
import { orderEffects, type RecordEffect } from '../effects.js';
import type { OrderEvent } from './events.js';
import type { Problem } from './problems.js';

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
  const isFirst = event.type === 'OrderCreated' || event.type === 'OrderCreatedWithParts';
  const status = isFirst ? { from: null, to: event.data.status } : event.data.status;
  return {
    statusFrom: status.from,
    statusTo: status.to,
    reasons: reasonsOf(event),
    problems: event.type === 'OrderApproved' ? (event.data.override?.problems ?? []) : [],
    changes: orderEffects(event, orderId, orderModel).flatMap(changesIn),
  };
}

/** What happened to the fields of the order or of one of its parts. The order's status is told apart. */
function changesIn(effect: RecordEffect): readonly FieldChange[] {
  const { id, space: table, kind } = effect;
  const was = kind === 'create' ? {} : effect.was;
  // An event is not about the values where it does not have those before, such as a patch that only tells the status.
  if (was === undefined) return [];
  const set = kind === 'create' ? effect.fields : kind === 'patch' ? effect.set : undefined;
  const { processing_status: _, ...fields } = set === undefined ? clearedFields(was) : changesOf(was, set);
  return Object.entries(fields).map(([field, { from, to }]) => ({ table, id, field, from, to }));
}

function reasonsOf({ type, data }: OrderEvent): readonly string[] {
  if (type === 'OrderStatusChanged') return data.errorReason ?? [];
  if (type === 'OrderApproved') return data.override === undefined ? [] : [data.override.reason];
  return 'reasons' in data ? data.reasons : [];
}
