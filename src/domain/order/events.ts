/** The states of an order (spec §3), and the events of its stream, `order-<tenant>.<order id>`: the order with all its parts. */
import type { RecordView } from '../assetTypes/assetType.js';
import type { Changes, Fields } from '../assetTypes/fieldTypes.js';
import type { EventOf } from '../eventTypes.js';

/** The values that the API accepts as `processing_status`. */
export const ORDER_STATUSES = [
  'pending_validation',
  'saved',
  'validated',
  'rejected',
  'submitted',
  'submit_failed',
  'completed',
] as const;

/** Set only by the service: the last delivery attempt of an export failed. */
export const FAILED = 'failed';

export type OrderStatus = (typeof ORDER_STATUSES)[number] | typeof FAILED;

/** Who approved an order. */
export type Approver = {
  readonly id: number;
  readonly first_name: string;
  readonly last_name: string;
  readonly locale: string;
  readonly email: string;
};

export type Approval = { readonly approvedAt: string; readonly approver: Approver };

/**
 * Everything that an export is made of. A record that several lines refer to (items, unit codes) is in it once, so that an
 * order of many lines stays a small event.
 */
export type ExportSnapshot = {
  readonly table: string;
  readonly order: RecordView;
  readonly parts: readonly SnapshotPart[];
  /** By table, then by the value that refers to them. */
  readonly related: { readonly [table: string]: { readonly [key: string]: RecordView } };
};

export type SnapshotPart = { readonly table: string; readonly record: RecordView };

export type StatusChange = { readonly from: OrderStatus; readonly to: OrderStatus };

export const PROBLEM_CODES = ['missing', 'unknown_reference', 'not_positive'] as const;

/** What an order lacks, a reference to a missing record, or a quantity of nothing. */
export type Problem = {
  /** Path of the field in the order as the API shows it, such as `lines.0.item_id`. */
  readonly field: string;
  readonly code: (typeof PROBLEM_CODES)[number];
  readonly message: string;
};

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
    Approval & {
      readonly snapshot: ExportSnapshot;
      /** Why it was approved in spite of its problems, and the first of them. */
      readonly override?: { readonly reason: string; readonly problems: readonly Problem[] };
    }
>;

/** Fields that are null are left out. `table` is the order model. */
type Created = { readonly table: string; readonly fields: Fields; readonly status: OrderStatus };

/** Parts that one request adds, changes and removes; removed ones with the fields that they had. */
export type PartsChange = {
  readonly added: readonly PartFields[];
  readonly changed: readonly PartChanges[];
  readonly removed: readonly PartFields[];
};

/** What one request changes of an order (spec §4.9). Lists of parts have `removed`, even an empty one; single parts have not. */
export type OrderEdit = Moved &
  Partial<PartsChange> & { readonly changes?: Changes; readonly errorReason?: readonly string[] | null };

/** The end of an export to one webhook. */
export type Delivery = { readonly webhookId: string; readonly deliveryId: string };

export type OrderEvent =
  /** With parts it has a type of its own: a process of a release that does not know them there stops at it. */
  /** A type of its own: a process of a release that does not know parts here stops at it. */
  | EventOf<'OrderCreatedWithParts', Created & { readonly parts: readonly PartFields[] }>
  | EventOf<'OrderCreated', Created & { readonly parts?: undefined }>
  | EventOf<'OrderEdited', OrderEdit>
  | OrderApproved
  | EventOf<'OrderRejected', Moved & Reasons>
  /** The last delivery attempt to a webhook failed (spec §3, §6.4): the validators have the order again. */
  | EventOf<'OrderExportFailed', Moved & Reasons & Delivery>
  /** A resend delivered an export that had failed; `reasons` are those of webhooks that still lack it. */
  | EventOf<'OrderExportDelivered', Moved & Reasons & Delivery & { readonly approvalEventId: string }>
  /** Written by earlier releases only: an export waits for its disabled webhook. */
  | EventOf<'OrderExportHeld', Moved>;

/** The upcast: an event of an earlier release, which had a type for each kind of edit, as it is written now. */
export function upcast<Event extends EventOf<string, unknown>>(event: Event): Event {
  switch (event.type) {
    case 'OrderChanged':
    case 'OrderPartsChanged':
    case 'OrderStatusChanged':
      return { ...event, type: 'OrderEdited' };
    case 'OrderPartAdded':
    case 'OrderPartChanged': {
      const { status, ...part } = event.data as OrderEdit;
      const edit = event.type === 'OrderPartAdded' ? { added: [part] } : { changed: [part] };
      return { ...event, type: 'OrderEdited', data: { status, ...edit } };
    }
    default:
      return event;
  }
}

/** What people read as its type: an edit goes by what it edits, under the names from before there was one event for all. */
export function toldAs({ type, data }: EventOf<string, unknown>): string {
  if (type !== 'OrderEdited') return type;
  const { changes, added, changed, removed } = data as OrderEdit;
  if (changes !== undefined) return 'OrderChanged';
  if (removed !== undefined) return 'OrderPartsChanged';
  if (added !== undefined) return 'OrderPartAdded';
  return changed === undefined ? 'OrderStatusChanged' : 'OrderPartChanged';
}
