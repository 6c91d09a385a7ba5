/** Ids of deliveries never change: a relay that repeats its work after an upgrade would send everything again. */
import { firstDeliveryId } from '#app/commands/webhooks/deliveryStream.js';

const W = '0190a000-0000-7000-8000-00000000000a';
const EVENT = '0190a000-0000-7000-8000-0000000000e1';
const FIRST = firstDeliveryId(W, { id: EVENT }, 'order.approved');

test('they follow from the webhook, the event and the kind, as in every release', () => {
  expect(FIRST).toBe('71af0250-1e97-5a4d-b9b3-fdad045892e0');
  expect(firstDeliveryId(W, { id: EVENT }, 'order.status_changed')).toBe('07c7b5df-ce8b-54d5-a68c-2814800250f5');
});
