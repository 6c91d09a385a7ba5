/** What an order that is approved again may repeat: for each webhook the latest export that its receiver may have. */
import type { Application } from '#app/commands/application.js';
import { earlierExports } from '#app/commands/orders/lifecycle.js';
import { firstDeliveryId, resendId } from '#app/commands/webhooks/deliveryIds.js';
import { requestDelivery } from '#app/commands/webhooks/deliveryStream.js';
import { toAppend } from '#app/commands/writeStream.js';
import type { Webhook } from '#app/domain/identity/directory.js';
import type { Order } from '#app/domain/order/order.js';
import { deliveryStream } from '#app/domain/streams.js';
import type { DeliveryEvent } from '#app/domain/webhook/events.js';
import { metadata } from '../../contract/eventStoreFixtures.js';
import { LogInMemory } from './logInMemory.js';

const { tenant, actor, correlationId, causationId } = metadata;
const caller = { tenant, actor, correlationId, causationId };
const W = 'aaaaaaaa-0000-7000-8000-000000000001';
const APPROVED = 500;
const APPROVAL = { id: 'bbbbbbbb-0000-7000-8000-000000000001', position: APPROVED };
const EARLIER = { webhookId: W, deliveryId: 'the export before the last' };
const FIRST = firstDeliveryId(W, APPROVAL, 'order.approved');
const REPEAT = [{ webhookId: W, deliveryId: FIRST }];

const webhook = (more: Partial<Webhook> = {}) =>
  ({ id: W, events: ['order.approved'], createdPosition: 400, ...more }) as Webhook;

const started: DeliveryEvent = { type: 'DeliveryAttemptStarted', data: { attempt: 1, url: 'https://a.example/' } };
const failed = (status: number | null): readonly DeliveryEvent[] => [
  started,
  { type: 'DeliveryAttemptFailed', data: { attempt: 1, reason: 'no', status, durationMs: 1, responseBody: null } },
  { type: 'DeliveryFailed', data: { attempts: 1, reason: 'no' } },
];
const succeeded: readonly DeliveryEvent[] = [
  started,
  { type: 'DeliverySucceeded', data: { attempt: 1, status: 200, durationMs: 1 } },
];

type Sent = { readonly first?: readonly DeliveryEvent[]; readonly again?: readonly DeliveryEvent[] };

async function given({ first, again }: Sent, webhooks: readonly Webhook[], repeats: readonly (typeof EARLIER)[] = []) {
  const log = new LogInMemory();
  const commands = {
    ...log.commands(),
    directory: { tenant: () => ({ webhooks: new Map(webhooks.map((each) => [each.id, each])) }) },
  } as unknown as Application;
  const deliver = async (deliveryId: string, events: readonly DeliveryEvent[]) => {
    const subject = {
      webhookId: W,
      kind: 'order.approved',
      orderId: 'o',
      sourceEventId: 'e',
      sourceRevision: 1,
    } as const;
    await requestDelivery(commands, caller, deliveryId, subject);
    await commands.eventStore.append(
      deliveryStream(tenant, deliveryId),
      toAppend(commands, caller, commands.now(), events),
      0,
    );
  };
  if (first !== undefined) await deliver(FIRST, first);
  if (again !== undefined) await deliver(resendId(W, FIRST), again);
  const order = { lastApproval: { ...APPROVAL, repeats } } as unknown as Order;
  return earlierExports(commands, tenant, order);
}

test('an order that was never approved repeats nothing', async () => {
  const commands = {
    ...new LogInMemory().commands(),
    directory: { tenant: () => ({ webhooks: new Map([[W, webhook()]]) }) },
  };
  expect(await earlierExports(commands as unknown as Application, tenant, {} as Order)).toEqual([]);
});

test.each<[string, Sent, boolean]>([
  ['it has it', { first: succeeded }, true],
  ['it will be sent it', { first: [] }, true],
  ['nobody knows whether it got it', { first: failed(null) }, true],
  ['it said that it has not', { first: failed(500) }, false],
  ['it got it by a resend', { first: failed(500), again: succeeded }, true],
  ['a resend is under way', { first: failed(500), again: [] }, true],
  ['a resend failed as well', { first: failed(500), again: failed(500) }, false],
])('of a webhook, where %s', async (_what, sent, isRepeat) => {
  expect(await given(sent, [webhook()])).toEqual(isRepeat ? REPEAT : []);
});

test('where the last export did not arrive, the one before it may still be repeated', async () => {
  expect(await given({ first: failed(500) }, [webhook()], [EARLIER])).toEqual([EARLIER]);
  expect(await given({ first: failed(500) }, [webhook()], [{ ...EARLIER, webhookId: 'of another' }])).toEqual([]);
});

test.each([
  ['it wanted approvals then', webhook(), true],
  ['it was made later', webhook({ createdPosition: 600 }), false],
  ['it wants them since later', webhook({ addedKinds: [{ kind: 'order.approved', position: 600 }] }), false],
])('of an approval that no delivery was made of yet, where %s', async (_what, wanting, isRepeat) => {
  expect(await given({}, [wanting])).toEqual(isRepeat ? REPEAT : []);
});

test('a webhook that wants no approvals now repeats none', async () => {
  expect(await given({ first: succeeded }, [webhook({ events: ['order.created'] })])).toEqual([]);
});
