/** Events of an order's stream, `order-<tenant>.<order id>`: the order with all its parts. */
import type { Fields, FieldValue } from '../assetTypes/fieldTypes.js';
import type { Approver, ExportSnapshot } from './exportDocument.js';
import type { OrderStatus } from './status.js';

export type Change = { readonly from: FieldValue; readonly to: FieldValue };
export type Changes = { readonly [field: string]: Change };
export type StatusChange = { readonly from: OrderStatus; readonly to: OrderStatus };

export type OrderCreated = {
  readonly type: 'OrderCreated';
  /** Fields that are null are left out. `table` is the order model. */
  readonly data: { readonly table: string; readonly fields: Fields; readonly status: OrderStatus };
};

/** Fields of the order were changed; the status with them where it moved. */
export type OrderChanged = {
  readonly type: 'OrderChanged';
  readonly data: { readonly changes: Changes; readonly status: StatusChange };
};

/** A part: an order line, or a consignment, goods, an allowance or charge. */
export type OrderPartAdded = {
  readonly type: 'OrderPartAdded';
  readonly data: {
    readonly table: string;
    readonly id: string;
    readonly fields: Fields;
    readonly status: StatusChange;
  };
};

export type OrderPartChanged = {
  readonly type: 'OrderPartChanged';
  readonly data: {
    readonly table: string;
    readonly id: string;
    readonly changes: Changes;
    readonly status: StatusChange;
  };
};

/** A status was reported or set (spec §4.9). */
export type OrderStatusChanged = {
  readonly type: 'OrderStatusChanged';
  readonly data: { readonly status: StatusChange; readonly errorReason: readonly string[] | null };
};

export type OrderApproved = {
  readonly type: 'OrderApproved';
  readonly data: {
    readonly status: StatusChange;
    readonly approvedAt: string;
    readonly approver: Approver;
    /** What was approved, word for word: every export of this approval is made from it. */
    readonly snapshot: ExportSnapshot;
  };
};

export type OrderRejected = {
  readonly type: 'OrderRejected';
  readonly data: { readonly status: StatusChange; readonly reasons: readonly string[] };
};

/** The last delivery attempt failed (spec §3, §6.4): the order is back with the validators. */
export type OrderExportFailed = {
  readonly type: 'OrderExportFailed';
  readonly data: {
    readonly status: StatusChange;
    readonly reasons: readonly string[];
    readonly webhookId: string;
    readonly deliveryId: string;
  };
};

export type OrderEvent =
  | OrderCreated
  | OrderChanged
  | OrderPartAdded
  | OrderPartChanged
  | OrderStatusChanged
  | OrderApproved
  | OrderRejected
  | OrderExportFailed;
