/** What both order models have. */
import { ORDER_STATUSES } from '../order/status.js';
import type { AssetField } from './assetType.js';
import {
  date,
  dateTime,
  decimal,
  integer,
  longText,
  plainString,
  reference,
  referenceTable,
  string,
} from './define.js';

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

/** The one table that is the same in both (spec §1; fields of the party object, §2.3). */
export const dynParty = referenceTable({
  name: 'dyn_party',
  label: 'Parties',
  description: 'Customer information: buyers, invoiced parties, consignors and consignees.',
  fields: [
    string('account_id'),
    string('name', { required: true }),
    string('language', { maxLength: 10, filterable: false, sortable: false }),
    plainString('website_uri', { label: 'Website URI' }),
    plainString('street_name'),
    plainString('additional_street_name'),
    plainString('address_number'),
    string('city_name'),
    string('postal_zone', { maxLength: 20 }),
    string('country', { maxLength: 2, label: 'Country (ISO 3166-1 alpha-2)' }),
    plainString('contact_name'),
    plainString('contact_telephone'),
    plainString('contact_email'),
    plainString('vat_number', { label: 'VAT number' }),
    longText('notes'),
    // Short names that integrations use in requests (spec §2.1), kept beside the UBL names.
    plainString('street'),
    plainString('city'),
  ],
});
