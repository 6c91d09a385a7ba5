/** What an event of an order tells: the status before and after, reasons, and the changed fields. Pure. */
import { changesOf, clearedFields, type FieldValue } from '../assetTypes/fieldTypes.js';
import { orderEffects } from '../effects.js';
import type { RecordDifference } from '../referenceTable/differences.js';
import type { OrderEvent } from './events.js';
import type { Problem } from './problems.js';

/** A changed field of the order or of one of its parts. */
export type FieldChange = {
  readonly table: string;
  readonly id: string;
  readonly field: string;
  readonly from: FieldValue;
  readonly to: FieldValue;
};

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
    changes: orderDifferences(event, orderModel, orderId).flatMap(({ table, id, fields }) =>
      Object.entries(fields).map(([field, { from, to }]) => ({ table, id, field, from, to })),
    ),
  };
}

function reasonsOf(event: OrderEvent): readonly string[] {
  switch (event.type) {
    case 'OrderStatusChanged':
      return event.data.errorReason ?? [];
    case 'OrderApproved':
      return event.data.override === undefined ? [] : [event.data.override.reason];
    case 'OrderRejected':
    case 'OrderExportFailed':
    case 'OrderExportDelivered':
      return event.data.reasons;
    default:
      return [];
  }
}

type OrderDifference = RecordDifference & { readonly table: string };

/** What the event did to the fields of the order and of its parts, each by itself. The order's status is told apart. */
export function orderDifferences(event: OrderEvent, orderModel: string, orderId: string): readonly OrderDifference[] {
  return orderEffects(event, orderId, orderModel).flatMap((effect) => {
    const { id, space: table, kind } = effect;
    const was = kind === 'create' ? {} : effect.was;
    // An event is not about the values where it does not have those before, such as a patch that only tells the status.
    if (was === undefined) return [];
    const set = kind === 'create' ? effect.fields : kind === 'patch' ? effect.set : undefined;
    const { processing_status: _, ...fields } = set === undefined ? clearedFields(was) : changesOf(was, set);
    return Object.keys(fields).length === 0 ? [] : [{ change: kind === 'patch' ? 'update' : kind, table, id, fields }];
  });
}
