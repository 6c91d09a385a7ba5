/** The result of a decision on an order. */
import type { FieldErrors } from '../assetTypes/fieldErrors.js';
import type { OrderEvent, StatusChange } from './events.js';
import type { Order } from './order.js';
import type { OrderStatus } from './status.js';

/** `invalid` is about the body (422); `conflict` is about the state the order is in (409). */
export type OrderDecision =
  | { readonly kind: 'accepted'; readonly events: readonly OrderEvent[] }
  | { readonly kind: 'invalid'; readonly errors: FieldErrors }
  | { readonly kind: 'conflict'; readonly message: string };

export const refuse = (field: string, message: string): OrderDecision => ({
  kind: 'invalid',
  errors: { [field]: [message] },
});
export const accept = (...events: OrderEvent[]): OrderDecision => ({ kind: 'accepted', events });

export const stay = (order: Order): StatusChange => ({ from: order.status, to: order.status });
export const move = (order: Order, to: OrderStatus): StatusChange => ({ from: order.status, to });
