import { v5 } from 'uuid';
import { deliveryStream, parseStream } from '#app/domain/streams.js';
import { WEBHOOK_EVENT_KINDS } from '#app/domain/webhook/catalogue.js';
import { BACKFILL_QUEUE, DELIVERY_QUEUE } from '#app/webhooks/queue.js';
import { approved, batch, changed, cleanedUp, created, exportFailed, Logged, OTHER, saved, TENANT } from './logged.js';

describe('the relay', () => {
  let logged: Logged;

  beforeEach(async () => {
    logged = await Logged.open();
  });

  afterEach(() => logged.close());

  const messagesOf = (
    requests: readonly { readonly deliveryId: string; readonly webhookId: string; readonly orderId: string }[],
  ) =>
    requests.map(({ deliveryId, webhookId, orderId }) => ({
      id: deliveryId,
      body: { tenant: TENANT, deliveryId, webhookId, orderId },
    }));

  test('spec §6: each kind of each event that the webhook subscribes to is a delivery, and a message', async () => {
    const webhookId = await logged.webhook(WEBHOOK_EVENT_KINDS);
    const order = logged.newOrder();
    const events = await logged.append(order, created, saved, approved, exportFailed);
    const [upserted, swept] = await logged.append(logged.table(), batch, cleanedUp);
    logged.relay();
    const requests = await logged.requested(9);
    const orderId = parseStream(order).rest;
    const subject = (index: number, kind: string, id: string, after?: string) => ({
      webhookId,
      kind,
      orderId,
      sourceEventId: events[index]?.id,
      sourceRevision: index,
      deliveryId: id,
      ...(after === undefined ? {} : { after }),
    });
    const id = (index: number, kind: string) => v5(`${kind} ${events[index]?.id}`, webhookId);
    const chain = [
      id(0, 'order.created'),
      id(1, 'order.updated'),
      id(1, 'order.status_changed'),
      id(2, 'order.status_changed'),
      v5(String(events[2]?.id), webhookId),
      id(3, 'order.status_changed'),
      id(3, 'order.export_failed'),
    ] as const;
    expect(requests.filter((each) => each.orderId !== '')).toEqual([
      subject(0, 'order.created', chain[0]),
      subject(1, 'order.updated', chain[1], chain[0]),
      subject(1, 'order.status_changed', chain[2], chain[1]),
      subject(2, 'order.status_changed', chain[3], chain[2]),
      subject(2, 'order.approved', chain[4], chain[3]),
      subject(3, 'order.status_changed', chain[5], chain[4]),
      subject(3, 'order.export_failed', chain[6], chain[5]),
    ]);
    expect(requests.filter((each) => each.orderId === '')).toEqual(
      [upserted, swept].map((event, index) => ({
        webhookId,
        kind: index === 0 ? 'reference.batch_upserted' : 'reference.cleaned_up',
        orderId: '',
        table: 'dyn_item',
        sourceEventId: event?.id,
        sourceRevision: index,
        deliveryId: v5(`${index === 0 ? 'reference.batch_upserted' : 'reference.cleaned_up'} ${event?.id}`, webhookId),
      })),
    );
    const messages = await logged.taken(9);
    expect(messages).toEqual(expect.arrayContaining(messagesOf(requests)));
    const [{ deliveryId = '' } = {}] = requests;
    const [request] = await logged.commands.eventStore.readStream(deliveryStream(TENANT, deliveryId));
    expect(request?.metadata).toMatchObject({
      tenant: TENANT,
      actor: { kind: 'system', id: 'webhook-relay' },
      correlationId: 'request',
      causationId: events[0]?.id,
    });
  });

  test('a relay that starts again goes on with the sequence where the one before left it', async () => {
    await logged.webhook(['order.created', 'order.status_changed', 'order.approved']);
    const order = logged.newOrder();
    await logged.append(order, created, changed, approved);
    logged.relay();
    const before = await logged.requested(3);
    await logged.relayed();
    await logged.stop();
    // The webhook gets nothing of the time in between.
    await logged.append(order, changed, changed, exportFailed);
    logged.relay();
    const after = await logged.requested(4);
    expect(after[3]).toMatchObject({ kind: 'order.status_changed', after: before[2]?.deliveryId });
  });

  test('two relays side by side request each delivery once', async () => {
    await logged.webhook(['order.created', 'order.updated']);
    logged.relay();
    logged.relay();
    const orders = Array.from({ length: 30 }, () => logged.newOrder());
    await Promise.all(orders.map((order) => logged.append(order, created, changed)));
    await logged.requested(60);
    await logged.relayed();
    await logged.stop();
    const ids = (await logged.requested(60)).map(({ deliveryId }) => deliveryId);
    expect([ids.length, new Set(ids).size]).toEqual([60, 60]);
  });

  test('spec §6.4: a crash before the messages are published loses and repeats nothing', async () => {
    await logged.webhook(['order.approved']);
    await logged.append(logged.newOrder(), created, approved);
    const crash = new Error('crash');
    const broker = Object.create(logged.broker, {
      publish: { value: () => Promise.reject(crash) },
      checkpoint: { value: (name: string) => logged.broker.checkpoint(name) },
    });
    logged.relay({ broker });
    await logged.requested(1);
    await expect(logged.stop()).rejects.toBe(crash);
    expect(await logged.broker.depth(DELIVERY_QUEUE)).toMatchObject({ ready: 0 });
    logged.relay();
    const [message] = await logged.taken(1);
    const requests = await logged.requested(1);
    expect([message]).toEqual(messagesOf(requests));
    expect(requests).toHaveLength(1);
  });

  test('events of a tenant with very many deliveries are requested apart, and others do not wait for them', async () => {
    const webhooks = Array.from({ length: 10 }, () => logged.webhook(['order.created', 'order.updated']));
    await Promise.all(webhooks);
    await logged.webhook(['order.created'], OTHER);
    const order = logged.newOrder();
    await logged.append(order, created, ...Array.from({ length: 149 }, () => changed));
    const [theirs] = await logged.append(logged.newOrder(OTHER), created);
    logged.relay();
    const first = await logged.requested(1);
    expect(first.map(({ sourceEventId }) => sourceEventId)).toEqual([theirs?.id]);
    await logged.relayed();
    // After a crash the same is left once more.
    const [job] = await logged.taken(1, BACKFILL_QUEUE);
    if (job === undefined) throw new Error('no job');
    await logged.broker.publish(BACKFILL_QUEUE, [job, { ...job, id: 'again' }]);
    logged.ranges();
    const requests = (await logged.requested(1_501)).filter(({ orderId }) => orderId === parseStream(order).rest);
    expect(new Set(requests.map(({ deliveryId }) => deliveryId)).size).toBe(1_500);
    for (const webhook of webhooks) {
      const id = await webhook;
      const inTurn = new Map(requests.filter((each) => each.webhookId === id).map((each) => [each.after, each]));
      let last: (typeof requests)[number] | undefined;
      for (let revision = 0; revision < 150; revision++) {
        last = inTurn.get(last?.deliveryId);
        expect(last?.sourceRevision).toBe(revision);
      }
    }
  });
});
