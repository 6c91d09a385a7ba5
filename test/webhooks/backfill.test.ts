import { v5 } from 'uuid';
import { requestBackfill } from '#app/commands/webhooks/replays.js';
import { removeWebhook } from '#app/commands/webhooks/settings.js';
import { webhooksStream } from '#app/domain/streams.js';
import type { WebhookEventKind } from '#app/domain/webhook/events.js';
import type { ReadModels } from '#app/ports/readSide.js';
import { BACKFILL_QUEUE, type BackfillJob } from '#app/webhooks/queue.js';
import { backfillStep } from '#app/webhooks/replays.js';
import {
  approved,
  batch,
  callerOf,
  changed,
  created,
  exportFailed,
  Logged,
  OTHER,
  type Requested,
  saved,
  TENANT,
} from './logged.js';

const caller = callerOf(TENANT);
/** Times of past events; each is later than the one before. */
const at = (minute: number): string => `2026-01-01T00:${String(minute).padStart(2, '0')}:00.000000Z`;

describe('a backfill', () => {
  let logged: Logged;

  beforeEach(async () => {
    logged = await Logged.open();
  });

  afterEach(() => logged.close());

  const replaysOf = (requests: readonly Requested[]) => requests.filter(({ purpose }) => purpose === 'backfill');

  async function backfilled(count: number): Promise<readonly Requested[]> {
    for (let wanted = count; ; wanted++) {
      const found = replaysOf(await logged.requested(wanted));
      if (found.length >= count) return found;
    }
  }

  async function ended(): Promise<void> {
    for (;;) {
      const { ready, delayed, inFlight } = await logged.broker.depth(BACKFILL_QUEUE);
      if (ready + delayed + inFlight === 0) return;
      await new Promise(setImmediate);
    }
  }

  test('sends a range of the log to a webhook made later: from inclusive, to exclusive, of its tenant and kinds', async () => {
    const order = logged.newOrder();
    const [early] = await logged.appendAt(at(1), order, created);
    const [first] = await logged.appendAt(at(2), order, saved);
    const [second] = await logged.appendAt(at(3), order, approved);
    const [late] = await logged.appendAt(at(4), order, exportFailed);
    await logged.appendAt(at(2), logged.newOrder(OTHER), created, approved);
    await logged.appendAt(at(2), logged.table(), batch);
    const id = await logged.webhook(['order.status_changed', 'order.approved']);
    await logged.projections();
    logged.relay();
    logged.replays();
    const { backfillId } = await requestBackfill(logged.commands, caller, id, {
      from: '2026-01-01T01:02:00+01:00',
      to: at(4),
    });
    const requests = await backfilled(3);
    await ended();
    const idOf = (kind: string, eventId = '') => v5(`${backfillId} ${kind} ${eventId}`, id);
    const subject = { webhookId: id, orderId: order.slice(`order-${TENANT}.`.length), purpose: 'backfill' };
    expect(requests).toEqual([
      {
        ...subject,
        kind: 'order.status_changed',
        sourceEventId: first?.id,
        sourceRevision: 1,
        deliveryId: idOf('order.status_changed', first?.id),
        messageId: v5(`order.status_changed ${first?.id}`, id),
      },
      {
        ...subject,
        kind: 'order.status_changed',
        sourceEventId: second?.id,
        sourceRevision: 2,
        deliveryId: idOf('order.status_changed', second?.id),
        messageId: v5(`order.status_changed ${second?.id}`, id),
        after: idOf('order.status_changed', first?.id),
      },
      {
        ...subject,
        kind: 'order.approved',
        sourceEventId: second?.id,
        sourceRevision: 2,
        deliveryId: idOf('order.approved', second?.id),
        messageId: v5(String(second?.id), id),
        after: idOf('order.status_changed', second?.id),
      },
    ]);
    const sources = (await logged.requested(3)).map(({ sourceEventId }) => sourceEventId);
    expect(sources).not.toContain(early?.id);
    expect(sources).not.toContain(late?.id);
    await logged.relayed();
    expect((await logged.taken(3)).map((message) => message.id)).toEqual(requests.map((each) => each.deliveryId));
  });

  test('of other kinds than the webhook’s own, when asked for', async () => {
    const id = await logged.webhook(['order.approved']);
    await logged.appendAt(at(1), logged.newOrder(), created, approved);
    const [upserted] = await logged.appendAt(at(1), logged.table(), batch);
    await logged.projections();
    logged.relay();
    logged.replays();
    const events = ['reference.batch_upserted', 'order.created'];
    await requestBackfill(logged.commands, caller, id, { from: at(0), events });
    const requests = await backfilled(2);
    expect(requests.map(({ kind }) => kind)).toEqual(['order.created', 'reference.batch_upserted']);
    expect(requests[1]).toMatchObject({ orderId: '', table: 'dyn_item', sourceEventId: upserted?.id });
  });

  test('repeats what the webhook was sent under the webhook-id of then, and the next one again', async () => {
    const id = await logged.webhook(['order.approved']);
    await logged.projections();
    logged.relay();
    logged.replays();
    const { deliveryId } = await logged.delivered(id);
    const ids = new Set<string>();
    for (const times of [1, 2]) {
      await requestBackfill(logged.commands, caller, id, { from: at(0) });
      const requests = await backfilled(times);
      expect(requests.at(-1)?.messageId).toBe(deliveryId);
      ids.add(String(requests.at(-1)?.deliveryId));
    }
    expect(ids.size).toBe(2);
  });

  test('of many events goes step by step, and waits while too many of its deliveries are open', async () => {
    const id = await logged.webhook(['order.created']);
    await logged.projections();
    for (let orders = 0; orders < 450; orders++) await logged.appendAt(at(1), logged.newOrder(), created);
    logged.relay();
    logged.replays();
    await requestBackfill(logged.commands, caller, id, { from: at(0) });
    const ending = new Set<string>();
    let most = 0;
    while (ending.size < 450) {
      const open = (await backfilled(ending.size + 1)).filter(({ deliveryId }) => !ending.has(deliveryId));
      most = Math.max(most, open.length);
      for (const { deliveryId } of open.slice(0, 60)) {
        ending.add(deliveryId);
        await logged.end(deliveryId, 'DeliverySucceeded');
      }
    }
    await ended();
    const sources = replaysOf(await logged.requested(450)).map(({ sourceEventId }) => sourceEventId);
    expect([sources.length, new Set(sources).size]).toEqual([450, 450]);
    expect(most).toBeLessThanOrEqual(300);
  });

  test('goes on after its process was stopped, and repeats nothing that a crash made it do twice', async () => {
    const id = await logged.webhook(['order.created', 'order.updated']);
    await logged.projections();
    const order = logged.newOrder();
    await logged.appendAt(at(1), order, created, ...Array.from({ length: 150 }, () => changed));
    logged.relay();
    await requestBackfill(logged.commands, caller, id, { from: at(0) });
    const [job] = await logged.taken(1, BACKFILL_QUEUE);
    if (job === undefined) throw new Error('no job');
    logged.replays();
    // The same message twice, as after a crash between publishing the next step and the end of this one.
    await logged.broker.publish(BACKFILL_QUEUE, [job, { ...job, id: 'again' }]);
    const requests = await backfilled(151);
    await ended();
    expect(await backfilled(151)).toHaveLength(151);
    const inTurn = new Map(requests.map((each) => [each.after, each]));
    let last: Requested | undefined;
    for (let revision = 0; revision <= 150; revision++) {
      last = inTurn.get(last?.deliveryId);
      expect(last?.sourceRevision).toBe(revision);
    }
  });

  describe('step', () => {
    async function job(done = 0): Promise<BackfillJob> {
      const webhookId = await logged.webhook(['order.created']);
      await logged.appendAt(at(1), logged.newOrder(), created);
      const range = { kinds: ['order.created'] as WebhookEventKind[], from: at(0), to: at(9) };
      const ids = { tenant: TENANT, webhookId, eventId: 'e', correlationId: 'c', backfillId: 'b' };
      return {
        task: 'backfill',
        ...ids,
        ...range,
        position: await logged.head(),
        done,
        requested: await logged.head(),
      };
    }

    test('waits longer and longer, up to 10 s, while the delivery log does not show the step before', async () => {
      const waiting = await job();
      const readModels: ReadModels = Object.create(logged.commands.readModels, {
        waitFor: { value: async () => false },
      });
      const deps = { commands: { ...logged.commands, readModels }, broker: logged.broker, cache: logged.cache };
      const { signal } = new AbortController();
      const waits = await Promise.all([0, 1, 5, 50].map((times) => backfillStep(deps, waiting, times, signal)));
      expect(waits).toEqual([100, 200, 3200, 10_000].map((delayMs) => ({ kind: 'retry', delayMs })));
      expect(await logged.requested(0)).toEqual([]);
    });

    test('that is stopped before it has begun is done later, and not taken for done', async () => {
      await logged.projections();
      const outcome = await backfillStep(logged, await job(), 0, AbortSignal.abort());
      expect(outcome).toEqual({ kind: 'retry', delayMs: 0 });
      expect(await logged.broker.depth(BACKFILL_QUEUE)).toMatchObject({ ready: 0 });
    });
  });

  test('ends when its webhook is removed', async () => {
    const id = await logged.webhook(['order.created']);
    await logged.projections();
    await logged.appendAt(at(1), logged.newOrder(), created);
    await requestBackfill(logged.commands, caller, id, { from: at(0) });
    await removeWebhook(logged.commands, caller, id);
    logged.relay();
    await logged.relayed();
    expect(await logged.broker.depth(BACKFILL_QUEUE)).toMatchObject({ ready: 1 });
    logged.replays();
    await ended();
    expect(await logged.requested(0)).toEqual([]);
  });

  test('a message that names no work is put aside', async () => {
    logged.replays();
    await logged.broker.publish(BACKFILL_QUEUE, [{ id: 'nonsense', body: { task: 'dance' } }]);
    while ((await logged.broker.depth(BACKFILL_QUEUE)).dead === 0) await new Promise(setImmediate);
    expect(await logged.broker.deadLetters(BACKFILL_QUEUE, 9)).toMatchObject([{ id: 'nonsense' }]);
  });

  test('is recorded with the kinds of the webhook and to the present by default', async () => {
    const id = await logged.webhook(['order.created', 'order.approved']);
    const from = '2026-01-01T00:00:00.1234560Z';
    const { backfillId, position } = await requestBackfill(logged.commands, caller, id, { from });
    const request = (await logged.commands.eventStore.readStream(webhooksStream(TENANT))).at(-1);
    expect(request).toMatchObject({
      type: 'WebhookBackfillRequested',
      position,
      data: { id, backfillId, kinds: ['order.created', 'order.approved'], from: '2026-01-01T00:00:00.123456Z' },
    });
    expect(request?.data).not.toHaveProperty('to');
  });
});
