/** Fields that the order of either model has (spec §2.3, §3). */
import { ORDER_STATUSES } from '../order/status.js';
import type { AssetField } from './assetType.js';
import { date, dateTime, decimal, integer, longText, plainString, reference, string } from './define.js';

/** Status, approval and origin; the service and the status update (spec §4.9) write them. */
export const orderStateFields: readonly AssetField[] = [
  string('processing_status', { oneOf: ORDER_STATUSES, maxLength: 32 }),
  longText('error_reason', { list: true }),
  dateTime('approved_at', { readOnly: true }),
  integer('approved_by', { readOnly: true }),
];

export const orderHeadFields: readonly AssetField[] = [
  string('sales_order_id', { label: 'Sales order id' }),
  date('issue_date'),
  plainString('issue_time', { maxLength: 8 }),
  date('delivery_date'),
  longText('notes'),
  string('customer_reference'),
  decimal('accuracy'),
  reference('order_inquiry_id', { filterable: false, sortable: false }),
];
