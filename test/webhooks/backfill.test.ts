/** Backfills in the background: with few deliveries at a time, and over crashes. */
import { requestBackfill } from '#app/commands/webhooks/replays.js';
import { removeWebhook } from '#app/commands/webhooks/settings.js';
import type { WebhookEventKind } from '#app/domain/webhook/events.js';
import type { ReadModels } from '#app/ports/readSide.js';
import { BACKFILL_QUEUE, type BackfillJob } from '#app/webhooks/queue.js';
import { backfillStep } from '#app/webhooks/replays.js';
import { callerOf, changed, created, Logged, type Requested, TENANT } from './logged.js';

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
});
