/** What an event of an order tells: the status before and after, reasons, warnings, and the changed fields. Pure. */
import { type FieldValue, ownValue } from '../assetTypes/fieldTypes.js';
import { orderEffects, type RowEffect } from '../effects.js';
import type { RecordDifference } from '../referenceTable/differences.js';
import { warningText } from './approval.js';
import type { ExportWarning, OrderEvent, Repeat } from './events.js';

/** A changed field of the order or of one of its parts. */
export type FieldChange = {
  readonly table: string;
  readonly id: string;
  readonly field: string;
  readonly from: FieldValue;
  readonly to: FieldValue;
};

export type ToldOfOrder = {
  /** Status before and after; `statusFrom` is null for the creation; equal if unchanged. */
  readonly statusFrom: string | null;
  readonly statusTo: string;
  readonly reasons: readonly string[];
  /** Only on repeated approvals: earlier exports that may have arrived. */
  readonly repeats?: readonly Repeat[];
  /** Only on approvals and held exports: why the export is not sent. */
  readonly warnings?: readonly ExportWarning[];
  readonly changes: readonly FieldChange[];
};

/** @param orderModel the table of the tenant's orders */
export function toldOfOrder(event: OrderEvent, orderModel: string, orderId: string): ToldOfOrder {
  const isFirst = event.type === 'OrderCreated' || event.type === 'OrderCreatedWithParts';
  const status = isFirst ? { from: null, to: event.data.status } : event.data.status;
  return {
    statusFrom: status.from,
    statusTo: status.to,
    reasons: reasonsOf(event),
    ...(event.type === 'OrderApproved' && event.data.repeats !== undefined ? { repeats: event.data.repeats } : {}),
    ...warned(event),
    changes: orderDifferences(event, orderModel, orderId).flatMap(({ table, id, fields }) =>
      Object.entries(fields).map(([field, { from, to }]) => ({ table, id, field, from, to })),
    ),
  };
}

function warned(event: OrderEvent): Pick<ToldOfOrder, 'warnings'> {
  if (event.type === 'OrderExportHeld') return { warnings: [event.data.warning] };
  return event.type === 'OrderApproved' && event.data.warnings !== undefined ? { warnings: event.data.warnings } : {};
}

function reasonsOf(event: OrderEvent): readonly string[] {
  switch (event.type) {
    case 'OrderStatusChanged':
      return event.data.errorReason ?? [];
    case 'OrderApproved':
      return event.data.override === undefined ? [] : [event.data.override.reason];
    case 'OrderExportHeld':
      return [warningText(event.data.warning)];
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
    const values = valuesOf(effect);
    if (values === undefined) return [];
    const { id, space: table, kind, was, set } = values;
    const names = Object.keys({ ...was, ...set }).filter((name) => id !== orderId || name !== 'processing_status');
    const fields = Object.fromEntries(
      names.map((name) => [name, { from: ownValue(was, name) ?? null, to: ownValue(set, name) ?? null }]),
    );
    const change = kind === 'patch' ? 'update' : kind;
    return names.length === 0 ? [] : [{ change, table, id, fields }];
  });
}

/** The values before and after; undefined where the event is not about them, such as a patch that only tells the status. */
function valuesOf(effect: RowEffect) {
  switch (effect.kind) {
    case 'create':
      return { ...effect, was: {}, set: effect.fields };
    case 'patch':
      return effect.was && { ...effect, was: effect.was };
    case 'delete':
      return effect.was && { ...effect, was: effect.was, set: {} };
    default:
      return undefined;
  }
}
