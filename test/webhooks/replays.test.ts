import { NotFoundError, ValidationError } from '#app/commands/context.js';
import { requestBackfill, resendDelivery, resendFailed, sendTestEvent } from '#app/commands/webhooks/replays.js';
import { deliveryStream } from '#app/domain/streams.js';
import type { ReadModels } from '#app/ports/readSide.js';
import { DELIVERY_QUEUE } from '#app/webhooks/queue.js';
import { approved, callerOf, changed, created, Logged, OTHER, type Requested, TENANT } from './logged.js';

const caller = callerOf(TENANT);
/** Times of past events; each is later than the one before. */
const at = (minute: number): string => `2026-01-01T00:${String(minute).padStart(2, '0')}:00.000000Z`;

describe('replays', () => {
  let logged: Logged;

  beforeEach(async () => {
    logged = await Logged.open();
  });

  afterEach(() => logged.close());

  describe('resending one delivery', () => {
    test('is a new delivery of the same event under the same webhook-id, also when that was a resend', async () => {
      const id = await logged.webhook(['order.created', 'order.approved']);
      logged.relay();
      await logged.append(logged.newOrder(), created, approved);
      const [, sent] = await logged.requested(2);
      await logged.end(String(sent?.deliveryId), 'DeliverySucceeded');
      const first = await resendDelivery(logged.commands, caller, id, String(sent?.deliveryId));
      const second = await resendDelivery(logged.commands, caller, id, first.deliveryId.toUpperCase());
      const third = await resendDelivery(logged.commands, caller, id, String(sent?.deliveryId));
      const { after: _, ...event } = sent ?? { after: '' };
      const resent = { ...event, purpose: 'resend', messageId: sent?.deliveryId };
      const ids = [first, second, third].map(({ deliveryId }) => deliveryId);
      expect(new Set([...ids, sent?.deliveryId]).size).toBe(4);
      expect((await logged.requested(5)).slice(2)).toEqual(ids.map((deliveryId) => ({ ...resent, deliveryId })));
      expect((await logged.taken(5)).slice(2).map((message) => message.id)).toEqual(ids);
    });

    test('is recorded on behalf of who asks for it', async () => {
      const id = await logged.webhook(['order.approved']);
      logged.relay();
      const { deliveryId } = await logged.delivered(id);
      const resent = await resendDelivery(logged.commands, caller, id, deliveryId);
      const [request] = await logged.commands.eventStore.readStream(deliveryStream(TENANT, resent.deliveryId));
      expect(request?.position).toBe(resent.position);
      expect(request?.metadata).toMatchObject(caller);
    });

    test('is refused where webhook or delivery are unknown, or another’s', async () => {
      const id = await logged.webhook(['order.approved']);
      const neighbour = await logged.webhook(['order.created']);
      const foreign = await logged.webhook(['order.approved'], OTHER);
      logged.relay();
      const { deliveryId } = await logged.delivered(id);
      await logged.append(logged.newOrder(OTHER), created, approved);
      const theirs = (await logged.requested(3)).find(({ webhookId }) => webhookId === foreign)?.deliveryId ?? '';
      const before = await logged.head();
      const refused: readonly (readonly [string, string])[] = [
        [neighbour, deliveryId],
        [foreign, theirs],
        [id, theirs],
        [id, logged.commands.newId()],
        [id, '../x'],
        [logged.commands.newId(), deliveryId],
      ];
      for (const [webhookId, delivery] of refused) {
        await expect(resendDelivery(logged.commands, caller, webhookId, delivery)).rejects.toThrow(NotFoundError);
      }
      expect(await logged.head()).toBe(before);
    });
  });

  describe('resending what failed', () => {
    const since = '2020-01-01T00:00:00Z';

    /** Failed deliveries of one order, in order. */
    async function failed(count: number): Promise<{ id: string; deliveries: readonly Requested[] }> {
      const id = await logged.webhook(['order.updated']);
      logged.relay();
      await logged.projections();
      await logged.append(logged.newOrder(), created, ...Array.from({ length: count }, () => changed));
      const deliveries = await logged.requested(count);
      for (const { deliveryId } of deliveries) await logged.end(deliveryId, 'DeliveryFailed');
      return { id, deliveries };
    }

    test('takes every failed delivery, of one order one after the other, over many pages', async () => {
      const { id, deliveries } = await failed(450);
      await expect(resendFailed(logged.commands, caller, id, { since })).resolves.toEqual({ count: 450 });
      const resent = (await logged.requested(900)).slice(450);
      // They are appended at the same time, so in any order; `after` gives theirs.
      const inTurn = new Map(resent.map((each) => [each.after, each]));
      let last: Requested | undefined;
      for (const { deliveryId, sourceEventId } of deliveries) {
        last = inTurn.get(last?.deliveryId);
        expect(last).toMatchObject({ sourceEventId, purpose: 'resend', messageId: deliveryId });
      }
    });

    test('leaves out what was sent again already, unless that failed as well', async () => {
      const { id, deliveries } = await failed(3);
      await resendDelivery(logged.commands, caller, id, String(deliveries[0]?.deliveryId));
      await expect(resendFailed(logged.commands, caller, id, { since })).resolves.toEqual({ count: 2 });
      await expect(resendFailed(logged.commands, caller, id, { since })).resolves.toEqual({ count: 0 });
      const again = (await logged.requested(6))[5];
      await logged.end(String(again?.deliveryId), 'DeliveryFailed');
      await expect(resendFailed(logged.commands, caller, id, { since })).resolves.toEqual({ count: 1 });
      expect((await logged.requested(7))[6]).toMatchObject({ messageId: again?.messageId });
    });

    test('goes by the time of the request, and leaves out tests and other webhooks', async () => {
      const { id, deliveries } = await failed(2);
      const other = await logged.webhook(['order.updated']);
      const trial = await sendTestEvent(logged.commands, caller, id, { event: 'order.approved' });
      await logged.end(trial.deliveryId, 'DeliveryFailed');
      const stream = deliveryStream(TENANT, String(deliveries[1]?.deliveryId));
      const [second] = await logged.commands.eventStore.readStream(stream);
      const border = String(second?.metadata.occurredAt);
      await expect(resendFailed(logged.commands, caller, other, { since })).resolves.toEqual({ count: 0 });
      await expect(resendFailed(logged.commands, caller, id, { since, until: border })).resolves.toEqual({ count: 1 });
      await expect(resendFailed(logged.commands, caller, id, { since: border })).resolves.toEqual({ count: 1 });
    });

    test('cannot be decided while the delivery log is behind', async () => {
      const id = await logged.webhook(['order.updated']);
      const readModels: ReadModels = Object.create(logged.commands.readModels, {
        waitFor: { value: async () => false },
      });
      const before = await logged.head();
      await expect(resendFailed({ ...logged.commands, readModels }, caller, id, { since })).rejects.toMatchObject({
        name: 'TryAgainError',
      });
      expect(await logged.head()).toBe(before);
    });
  });

  test('a test event is a delivery of the kind’s example, whether the webhook subscribes to it or not', async () => {
    const id = await logged.webhook(['order.approved']);
    logged.relay();
    const { deliveryId } = await sendTestEvent(logged.commands, caller, id, { event: 'reference.cleaned_up' });
    const subject = { webhookId: id, kind: 'reference.cleaned_up', orderId: '', sourceEventId: '', sourceRevision: 0 };
    expect(await logged.requested(1)).toEqual([{ ...subject, purpose: 'test', deliveryId }]);
    expect(await logged.taken(1)).toEqual([
      { id: deliveryId, body: { tenant: TENANT, deliveryId, webhookId: id, orderId: '' } },
    ]);
    const again = await resendDelivery(logged.commands, caller, id, deliveryId);
    expect((await logged.requested(2))[1]).toMatchObject({ deliveryId: again.deliveryId, purpose: 'test' });
    expect(await logged.broker.depth(DELIVERY_QUEUE)).toMatchObject({ dead: 0 });
  });

  test.each([
    ['backfill', {}, 'from'],
    ['backfill', { from: 'yesterday' }, 'from'],
    ['backfill', { from: '2026-01-01' }, 'from'],
    ['backfill', { from: '2026-01-01T00:00:00' }, 'from'],
    ['backfill', { from: at(2), to: at(1) }, 'from'],
    ['backfill', { from: at(2), to: at(2) }, 'from'],
    ['backfill', { from: '2999-01-01T00:00:00Z' }, 'from'],
    ['backfill', { from: at(1), to: '2999-01-01T00:00:00Z' }, 'to'],
    ['backfill', { from: at(1), events: [] }, 'events'],
    ['backfill', { from: at(1), events: ['order.eaten'] }, 'events.0'],
    ['backfill', { from: at(1), colour: 'red' }, 'colour'],
    ['backfill', [], 'body'],
    ['resend', {}, 'since'],
    ['resend', { since: 7 }, 'since'],
    ['resend', { since: '2999-01-01T00:00:00Z' }, 'since'],
    ['resend', { since: at(2), until: at(1) }, 'since'],
    ['resend', { since: at(2), until: '2999-01-01T00:00:00Z' }, 'until'],
    ['test', {}, 'event'],
    ['test', { event: 'order.eaten' }, 'event'],
  ])('%s with %j is refused for its %s, and changes nothing', async (what, body, field) => {
    const id = await logged.webhook(['order.approved']);
    const before = await logged.head();
    const run = what === 'backfill' ? requestBackfill : what === 'resend' ? resendFailed : sendTestEvent;
    const refused: unknown = await run(logged.commands, caller, id, body).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ValidationError);
    expect(refused).toMatchObject({
      errors: { [field]: [expect.stringContaining(field === 'body' ? 'body' : field)] },
    });
    expect(await logged.head()).toBe(before);
  });

  test('an unknown or foreign webhook gets none of it', async () => {
    const foreign = await logged.webhook(['order.approved'], OTHER);
    const before = await logged.head();
    for (const id of [foreign, logged.commands.newId(), '__proto__']) {
      const { commands } = logged;
      await expect(resendFailed(commands, caller, id, { since: at(1) })).rejects.toThrow(NotFoundError);
      await expect(requestBackfill(commands, caller, id, { from: at(1) })).rejects.toThrow(NotFoundError);
      await expect(sendTestEvent(commands, caller, id, { event: 'order.approved' })).rejects.toThrow(NotFoundError);
    }
    expect(await logged.head()).toBe(before);
  });
});
