/** Ids of deliveries never change: a relay that repeats its work after an upgrade would send everything again. */
import { firstDeliveryId, messageIdOf, resendId } from '#app/commands/webhooks/deliveryIds.js';
import type { RecordedEvent } from '#app/ports/eventStore.js';

const [W, OTHER] = ['0190a000-0000-7000-8000-00000000000a', '0190a000-0000-7000-8000-00000000000b'];
const EVENT = '0190a000-0000-7000-8000-0000000000e1';
const event = (data: unknown) => ({ id: EVENT, type: 'OrderApproved', data }) as RecordedEvent;
const FIRST = firstDeliveryId(W, { id: EVENT }, 'order.approved');

test('they follow from the webhook, the event and the kind, as in every release', () => {
  expect(FIRST).toBe('71af0250-1e97-5a4d-b9b3-fdad045892e0');
  expect(firstDeliveryId(W, { id: EVENT }, 'order.status_changed')).toBe('07c7b5df-ce8b-54d5-a68c-2814800250f5');
  expect(resendId(W, FIRST)).toBe('8eb39c32-8b24-549e-be72-7f5956abb09f');
});

test('a message of an approval names the earlier export that it may repeat, of the same webhook', () => {
  const repeats = [{ webhookId: W, deliveryId: 'earlier' }];
  expect(messageIdOf(W, event({ repeats }), 'order.approved')).toBe(`${FIRST}_repeats_earlier`);
  expect(messageIdOf(OTHER, event({ repeats }), 'order.approved')).not.toContain('_repeats_');
  expect(messageIdOf(W, event({ repeats }), 'order.updated')).toBe(firstDeliveryId(W, { id: EVENT }, 'order.updated'));
});

test.each([undefined, null, {}, { repeats: 'all' }, { repeats: [] }, { repeats: [null] }])(
  'an approval that says %j repeats nothing',
  (data) => expect(messageIdOf(W, event(data), 'order.approved')).toBe(FIRST),
);
