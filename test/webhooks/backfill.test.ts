/** Backfills in the background: with few deliveries at a time, and over crashes. */
import { requestBackfill } from '#app/commands/webhooks/resends.js';
import { BACKFILL_QUEUE } from '#app/webhooks/queue.js';
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
    for (let orders = 0; orders < 450; orders++) await logged.appendAt(at(1), logged.newOrder(), created);
    const id = await logged.webhook(['order.created']);
    await logged.projections();
    logged.relay();
    logged.ranges();
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
    await logged.appendAt(at(1), logged.newOrder(), created, ...Array.from({ length: 150 }, () => changed));
    const id = await logged.webhook(['order.created', 'order.updated']);
    await logged.projections();
    logged.relay();
    await requestBackfill(logged.commands, caller, id, { from: at(0) });
    const [job] = await logged.taken(1, BACKFILL_QUEUE);
    if (job === undefined) throw new Error('no job');
    logged.ranges();
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
});
