/** Events of an order's stream, `order-<tenant>.<order id>`: the order with all its parts. */
import type { Fields, FieldValue } from '../assetTypes/fieldTypes.js';
import type { EventOf } from '../eventTypes.js';
import type { Approval, ExportSnapshot } from './exportDocument.js';
import type { OrderStatus } from './status.js';

export type Change = { readonly from: FieldValue; readonly to: FieldValue };
export type Changes = { readonly [field: string]: Change };
export type StatusChange = { readonly from: OrderStatus; readonly to: OrderStatus };

/** The status of the order before and after; equal where it did not move. */
type Moved = { readonly status: StatusChange };
type Part = { readonly table: string; readonly id: string };
type Reasons = { readonly reasons: readonly string[] };

/** `snapshot` is what was approved, word for word: every export of this approval is made from it. */
export type OrderApproved = EventOf<'OrderApproved', Moved & Approval & { readonly snapshot: ExportSnapshot }>;

/** The last delivery attempt failed (spec §3, §6.4): the order is back with the validators. */
export type OrderExportFailed = EventOf<
  'OrderExportFailed',
  Moved & Reasons & { readonly webhookId: string; readonly deliveryId: string }
>;

export type OrderEvent =
  /** Fields that are null are left out. `table` is the order model. */
  | EventOf<'OrderCreated', { readonly table: string; readonly fields: Fields; readonly status: OrderStatus }>
  | EventOf<'OrderChanged', Moved & { readonly changes: Changes }>
  /** A part: an order line, or a consignment, goods, an allowance or charge. */
  | EventOf<'OrderPartAdded', Moved & Part & { readonly fields: Fields }>
  | EventOf<'OrderPartChanged', Moved & Part & { readonly changes: Changes }>
  /** A status was reported or set (spec §4.9). */
  | EventOf<'OrderStatusChanged', Moved & { readonly errorReason: readonly string[] | null }>
  | OrderApproved
  | EventOf<'OrderRejected', Moved & Reasons>
  | OrderExportFailed;
