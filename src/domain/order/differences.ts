/** What an event of an order tells: the status before and after, reasons, warnings, and the changed fields. Pure. */
import type { Fields, FieldValue } from '../assetTypes/fieldTypes.js';
import type { RecordDifference } from '../referenceTable/differences.js';
import { warningText } from './approval.js';
import type { Changes, ExportWarning, OrderEvent, PartChanges, PartFields, Repeat } from './events.js';

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
    changes: changesOf(event, orderModel, orderId),
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

function changesOf(event: OrderEvent, orderModel: string, orderId: string): readonly FieldChange[] {
  switch (event.type) {
    case 'OrderCreated':
      return added(orderModel, orderId, event.data.fields);
    case 'OrderCreatedWithParts':
      return [...added(orderModel, orderId, event.data.fields), ...event.data.parts.flatMap(addedPart)];
    case 'OrderChanged':
      return changed(orderModel, orderId, event.data.changes);
    case 'OrderPartAdded':
      return addedPart(event.data);
    case 'OrderPartChanged':
      return changedPart(event.data);
    case 'OrderPartsChanged':
      return [
        ...event.data.removed.flatMap(removedPart),
        ...event.data.changed.flatMap(changedPart),
        ...event.data.added.flatMap(addedPart),
      ];
    default:
      return [];
  }
}

/** What the event did to the order and its parts, each by itself. */
export function orderDifferences(event: OrderEvent, orderModel: string, orderId: string): readonly RecordDifference[] {
  const byId = new Map<string, FieldChange[]>();
  for (const change of changesOf(event, orderModel, orderId)) {
    const ofRecord = byId.get(change.id);
    if (ofRecord === undefined) byId.set(change.id, [change]);
    else ofRecord.push(change);
  }
  const { created, deleted } = appearing(event, orderId);
  return [...byId].map(([id, changes]) => ({
    change: created.has(id) ? 'create' : deleted.has(id) ? 'delete' : 'update',
    id,
    fields: Object.fromEntries(changes.map(({ field, from, to }) => [field, { from, to }])),
  }));
}

function appearing(event: OrderEvent, orderId: string) {
  const ids = (parts: readonly { readonly id: string }[]) => new Set(parts.map(({ id }) => id));
  switch (event.type) {
    case 'OrderCreated':
      return { created: new Set([orderId]), deleted: ids([]) };
    case 'OrderCreatedWithParts':
      return { created: new Set([orderId, ...ids(event.data.parts)]), deleted: ids([]) };
    case 'OrderPartAdded':
      return { created: ids([event.data]), deleted: ids([]) };
    case 'OrderPartsChanged':
      return { created: ids(event.data.added), deleted: ids(event.data.removed) };
    default:
      return { created: ids([]), deleted: ids([]) };
  }
}

const added = (table: string, id: string, fields: Fields): readonly FieldChange[] =>
  Object.entries(fields).map(([field, to]) => ({ table, id, field, from: null, to }));

const addedPart = ({ table, id, fields }: PartFields): readonly FieldChange[] => added(table, id, fields);

const removedPart = ({ table, id, fields }: PartFields): readonly FieldChange[] =>
  Object.entries(fields).map(([field, from]) => ({ table, id, field, from, to: null }));

const changedPart = ({ table, id, changes }: PartChanges): readonly FieldChange[] => changed(table, id, changes);

const changed = (table: string, id: string, changes: Changes): readonly FieldChange[] =>
  Object.entries(changes).map(([field, { from, to }]) => ({ table, id, field, from, to }));
