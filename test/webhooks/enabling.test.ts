/** A webhook that is enabled gets what it missed, and each open delivery one message, however often it is switched. */
import { disableWebhook, enableWebhook, removeWebhook } from '#app/commands/webhooks/settings.js';
import { BACKFILL_QUEUE, DELIVERY_QUEUE } from '#app/webhooks/queue.js';
import { approved, callerOf, changed, created, Logged, type Requested, TENANT } from './logged.js';

const caller = callerOf(TENANT);

describe('enabling a webhook', () => {
  let logged: Logged;

  beforeEach(async () => {
    logged = await Logged.open();
  });

  afterEach(() => logged.close());

  const disable = (id: string) => disableWebhook(logged.commands, caller, id, { cause: 'admin', reason: 'holidays' });
  const enable = (id: string) => enableWebhook(logged.commands, caller, id);
  const of = (id: string, requests: readonly Requested[]) => requests.filter(({ webhookId }) => webhookId === id);
  /** Each delivery with the one before it, by the events that they are about. */
  const chain = (requests: readonly Requested[]) => {
    const events = new Map(requests.map((each) => [each.deliveryId, `${each.kind} ${each.sourceEventId}`]));
    return new Map(requests.map((each) => [events.get(each.deliveryId), events.get(each.after ?? '')]));
  };

  /** Resolves when no work on webhooks is left. */
  async function settled(): Promise<void> {
    await logged.relayed();
    for (;;) {
      const { ready, delayed, inFlight } = await logged.broker.depth(BACKFILL_QUEUE);
      if (ready + delayed + inFlight === 0) return;
      await new Promise(setImmediate);
    }
  }

  test('requests what it missed as if it had been enabled: the same deliveries in the same sequence', async () => {
    const kinds = ['order.created', 'order.updated', 'order.approved'] as const;
    const [id, other] = [await logged.webhook(kinds), await logged.webhook(kinds)];
    const [before, during] = [logged.newOrder(), logged.newOrder()];
    await logged.projections();
    logged.relay();
    await logged.append(before, created);
    await logged.requested(2);
    await disable(id);
    await logged.append(before, changed, approved);
    await logged.append(during, created, changed);
    await logged.relayed();
    expect(of(id, await logged.requested(6))).toHaveLength(1);
    expect(of(other, await logged.requested(6))).toHaveLength(5);

    logged.replays();
    await enable(id);
    await logged.append(before, changed);
    await settled();
    const requests = await logged.requested(12);
    expect(chain(of(id, requests))).toEqual(chain(of(other, requests)));
    expect(of(id, requests).filter(({ purpose }) => purpose !== undefined)).toEqual([]);
    const messages = await logged.taken(13);
    expect(new Set(messages.map(({ body }) => Object(body).deliveryId))).toEqual(
      new Set(requests.map(({ deliveryId }) => deliveryId)),
    );
  });

  test('25 times in a row publishes at most one message for each delivery that waits', async () => {
    const waiting = 150;
    const id = await logged.webhook(['order.created']);
    await logged.projections();
    logged.relay();
    logged.replays();
    for (let n = 0; n < waiting; n++) await logged.append(logged.newOrder(), created);
    await logged.requested(waiting);
    await logged.relayed();
    await logged.taken(waiting);
    for (let n = 0; n < 25; n++) {
      await disable(id);
      await enable(id);
    }
    await settled();
    const { ready, delayed, inFlight } = await logged.broker.depth(DELIVERY_QUEUE);
    expect(ready + delayed + inFlight).toBe(waiting);
  });

  test('publishes nothing while it is disabled again, or after it was removed', async () => {
    const [id, gone] = [await logged.webhook(['order.created']), await logged.webhook(['order.created'])];
    await logged.projections();
    logged.relay();
    await logged.append(logged.newOrder(), created);
    await logged.requested(2);
    await logged.relayed();
    await logged.taken(2);
    for (const each of [id, gone]) {
      await disable(each);
      await enable(each);
    }
    await disable(id);
    await removeWebhook(logged.commands, caller, gone);
    await logged.relayed();
    logged.replays();
    // What it may have missed waits for the next time.
    while ((await logged.broker.depth(BACKFILL_QUEUE)).ready > 0) await new Promise(setImmediate);
    expect(await logged.broker.depth(DELIVERY_QUEUE)).toMatchObject({ ready: 0, delayed: 0, inFlight: 0 });
  });
});
