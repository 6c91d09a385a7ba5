import { v5 } from 'uuid';
import { newId } from '#app/commands/clock.js';
import { changeWebhook, createWebhook, removeWebhook } from '#app/commands/webhooks/settings.js';
import { deliveryStream, parseStream } from '#app/domain/streams.js';
import { WEBHOOK_EVENT_KINDS } from '#app/domain/webhook/events.js';
import type { EventStore } from '#app/ports/eventStore.js';
import { DELIVERY_QUEUE } from '#app/webhooks/queue.js';
import {
  approved,
  batch,
  callerOf,
  changed,
  cleanedUp,
  created,
  exportFailed,
  type Happened,
  Logged,
  saved,
  TENANT,
} from './logged.js';

const caller = callerOf(TENANT);

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

  test('a relay that starts anew goes on with the sequence where the one before left it', async () => {
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

  describe('on a log that lacks what it had relayed', () => {
    /** A checkpoint from before an older copy of the log was put back. */
    const lost = { name: 'approval-relay', position: 1_000_000, eventId: newId() };

    const published = async (count: number): Promise<readonly string[]> =>
      (await logged.taken(count)).map(({ body }) => String(Object(body).deliveryId));

    test('publishes what is open, requests what is missing, and leaves alone what has ended', async () => {
      await logged.webhook(['order.approved']);
      await logged.append(logged.newOrder(), created, approved);
      await logged.append(logged.newOrder(), created, approved);
      logged.relay();
      const [ended, open] = await logged.requested(2);
      await logged.relayed();
      await logged.stop();
      await logged.taken(2);
      await logged.end(ended?.deliveryId ?? '', 'DeliverySucceeded');
      await logged.append(logged.newOrder(), created, approved);
      await logged.broker.publishWithCheckpoint(DELIVERY_QUEUE, [], lost);

      logged.relay();
      const requests = await logged.requested(3);
      expect(await published(2)).toEqual([open?.deliveryId, requests[2]?.deliveryId]);
      await logged.relayed();
      expect((await logged.broker.checkpoint('approval-relay')).position).toBeLessThan(lost.position);
      // And continues as usual.
      await logged.append(logged.newOrder(), created, approved);
      const [, , , next] = await logged.requested(4);
      expect(await published(1)).toEqual([next?.deliveryId]);
      expect(await logged.broker.depth(DELIVERY_QUEUE)).toMatchObject({ ready: 0, inFlight: 0 });
    });

    test('sends a webhook nothing from before it wanted that kind', async () => {
      const anywhere = async () => undefined;
      const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString().replace('Z', '000Z');
      const then = { ...logged.commands, now: () => ago(60) };
      const wanted = { url: 'https://erp.example.com/', events: ['order.approved'] };
      const { id } = await createWebhook(then, caller, wanted, anywhere);
      await logged.appendAt(ago(30), logged.newOrder(), created);
      await changeWebhook(logged.commands, caller, id, { events: ['order.approved', 'order.created'] }, anywhere);
      await logged.append(logged.newOrder(), created);
      await logged.broker.publishWithCheckpoint(DELIVERY_QUEUE, [], lost);
      logged.relay();
      await published(1);
      expect(await logged.requested(1)).toHaveLength(1);
    });

    test('refuses that of another log, unless it is to take this one', async () => {
      await logged.broker.publishWithCheckpoint(DELIVERY_QUEUE, [], { ...lost, log: newId() });
      logged.relay();
      await expect(logged.stop()).rejects.toThrow('--accept-log');
      logged.relay({ acceptLog: true });
      while ((await logged.broker.checkpoint('approval-relay')).position >= lost.position)
        await new Promise(setImmediate);
    });
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
      publishWithCheckpoint: { value: () => Promise.reject(crash) },
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

  describe('streams that nobody subscribes to', () => {
    /** The log with a record of the subscribed streams; holds back the first slice of each relay until `open`. */
    function watched(): { eventStore: EventStore; prefixes: string[][]; open: () => void } {
      const { eventStore } = logged.commands;
      const prefixes: string[][] = [];
      let open = (): void => undefined;
      const opened = new Promise<void>((resolve) => {
        open = resolve;
      });
      const subscribe: EventStore['subscribe'] = async function* (options) {
        prefixes.push([...(options.streamPrefixes ?? [])].sort());
        await opened;
        yield* eventStore.subscribe(options);
      };
      const watching: EventStore = Object.create(eventStore, {
        subscribe: { value: subscribe },
        append: { value: eventStore.append.bind(eventStore) },
        readSlice: { value: eventStore.readSlice.bind(eventStore) },
        readStream: { value: eventStore.readStream.bind(eventStore) },
        holds: { value: eventStore.holds.bind(eventStore) },
      });
      return { eventStore: watching, prefixes, open };
    }

    const ALWAYS = ['delivery-', 'webhooks-'];

    test.each<[string, readonly Happened[], 'reference.batch_upserted' | 'order.created']>([
      ['table-', [batch], 'reference.batch_upserted'],
      ['order-', [created], 'order.created'],
    ])('are read from the moment that a webhook subscribes: %s, in the same slice', async (prefix, happened, kind) => {
      const { eventStore, prefixes, open } = watched();
      const stream = prefix === 'table-' ? logged.table() : logged.newOrder();
      logged.relay({ eventStore });
      while (prefixes.length === 0) await new Promise(setImmediate);
      const id = await logged.webhook([kind]);
      const [event] = await logged.append(stream, ...happened);
      open();
      const requests = await logged.requested(1);
      expect(requests).toMatchObject([{ webhookId: id, kind, sourceEventId: event?.id }]);
      expect(prefixes).toEqual([ALWAYS, [...ALWAYS, prefix].sort()]);
    });

    test('are read when a webhook changes what it subscribes to, and no longer when the last one is gone', async () => {
      const { eventStore, prefixes, open } = watched();
      open();
      const id = await logged.webhook(['order.approved']);
      logged.relay({ eventStore });
      while (prefixes.length === 0) await new Promise(setImmediate);
      const anywhere = async () => undefined;
      await changeWebhook(logged.commands, caller, id, { events: ['reference.cleaned_up'] }, anywhere);
      await logged.append(logged.table(), cleanedUp);
      await logged.requested(1);
      await removeWebhook(logged.commands, caller, id);
      while (prefixes.length < 3) await new Promise(setImmediate);
      expect(prefixes).toEqual([[...ALWAYS, 'order-'].sort(), [...ALWAYS, 'table-'].sort(), ALWAYS]);
    });
  });
});
