/** What an order must have to be exported ("all required fields filled", spec §3). */

import type { Fields } from '../assetTypes/fieldTypes.js';
import type { FieldErrors } from '../assetTypes/recordSchema.js';
import type { Order } from './order.js';

const NEEDED: {
  readonly [orderModel: string]: {
    readonly fields: readonly string[];
    readonly part: string;
    readonly partLabel: string;
  };
} = {
  dyn_stock_order: {
    fields: ['buyer_customer_party_id', 'delivery_date'],
    part: 'dyn_order_line',
    partLabel: 'order line',
  },
  dyn_transport_order: { fields: ['buyer_customer_party_id'], part: 'dyn_consignment', partLabel: 'consignment' },
};

/** Errors by field for what is still missing, with `set` applied to the order first; empty when it is complete. */
export function missingForExport(order: Order, set: Fields): FieldErrors {
  const needed = NEEDED[order.table];
  if (needed === undefined) return {};
  const errors: Record<string, readonly string[]> = {};
  for (const field of needed.fields) {
    const value = set[field] === undefined ? order.fields[field] : set[field];
    if ((value ?? '') === '') errors[field] = [`The ${field} field is needed before the order can be validated.`];
  }
  if (![...order.parts.values()].some((part) => part.table === needed.part)) {
    errors[needed.part] = [`The order needs at least one ${needed.partLabel} before it can be validated.`];
  }
  return errors;
}
