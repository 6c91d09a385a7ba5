/** Events of an order's stream, `order-<tenant>.<order id>`: the order with all its parts. */
import type { Changes, Fields } from '../assetTypes/fieldTypes.js';
import type { EventOf } from '../eventTypes.js';
import type { Approval } from './exportDocument.js';
import type { Problem } from './problems.js';
import type { ExportSnapshot } from './snapshot.js';
import type { OrderStatus } from './status.js';

export type StatusChange = { readonly from: OrderStatus; readonly to: OrderStatus };

/** The status of the order before and after; equal when it did not change. */
type Moved = { readonly status: StatusChange };
type PartName = { readonly table: string; readonly id: string };
/** Fields that are null are left out. */
export type PartFields = PartName & { readonly fields: Fields };
export type PartChanges = PartName & { readonly changes: Changes };
type Reasons = { readonly reasons: readonly string[] };

/** `snapshot` is exactly what was approved: every export of this approval is made from it. */
export type OrderApproved = EventOf<
  'OrderApproved',
  Moved &
    Approval & { readonly snapshot: ExportSnapshot } & {
      /** Why it was approved in spite of its problems, and the first of them. */
      readonly override?: { readonly reason: string; readonly problems: readonly Problem[] };
    }
>;

/** A resend delivered an export that had failed; `reasons` are those of webhooks that still lack it. */
export type OrderExportDelivered = EventOf<
  'OrderExportDelivered',
  Moved & Reasons & { readonly approvalEventId: string; readonly webhookId: string; readonly deliveryId: string }
>;

/** Fields that are null are left out. `table` is the order model. */
type Created = { readonly table: string; readonly fields: Fields; readonly status: OrderStatus };

/** Parts that one request adds, changes and removes; removed ones with the fields that they had. */
export type PartsChange = {
  readonly added: readonly PartFields[];
  readonly changed: readonly PartChanges[];
  readonly removed: readonly PartFields[];
};

export type OrderEvent =
  | EventOf<'OrderCreated', Created>
  /** A type of its own, so that releases that do not know parts here stop at it, and still read all other orders. */
  | EventOf<'OrderCreatedWithParts', Created & { readonly parts: readonly PartFields[] }>
  | EventOf<'OrderChanged', Moved & { readonly changes: Changes }>
  /** A part: an order line, or a consignment, goods, an allowance or charge. */
  | EventOf<'OrderPartAdded', Moved & PartFields>
  | EventOf<'OrderPartChanged', Moved & PartChanges>
  | EventOf<'OrderPartsChanged', Moved & PartsChange>
  /** A status was reported or set (spec §4.9). */
  | EventOf<'OrderStatusChanged', Moved & { readonly errorReason: readonly string[] | null }>
  | OrderApproved
  | EventOf<'OrderRejected', Moved & Reasons>
  /** The last delivery attempt to a webhook failed (spec §3, §6.4): the validators have the order again. */
  | EventOf<'OrderExportFailed', Moved & Reasons & { readonly webhookId: string; readonly deliveryId: string }>
  | OrderExportDelivered
  /** Written by earlier releases only: an export waits for its disabled webhook. */
  | EventOf<'OrderExportHeld', Moved>;
