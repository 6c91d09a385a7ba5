/** What the EventStoreDB adapter does beyond the contract. Over a protocol double, not a real server, where not said. */
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { openEventStoreDb } from '#app/adapters/eventstore/eventstoredb/store.js';
import { type EventStore, EventStoreUnavailableError, type RecordedEvent } from '#app/ports/eventStore.js';
import { event, events, firstEvents, ids, slicesUntil, storedSlices } from '../../contract/eventStoreFixtures.js';
import { describeEngine } from '../../engines/describeEngine.js';
import { systemEvent } from '../../engines/doubleLog.js';
import type { Dialect } from '../../engines/doubleSubscription.js';
import { EventStoreDouble } from '../../engines/eventStoreDouble.js';
import { EventStoreDbServer, eventStoreDbServerMissing } from '../../engines/eventstoredb.js';
import { describeOutages } from './outages.js';

const DIALECTS: readonly Dialect[] = ['23.10', '25.0'];

let double: EventStoreDouble;
let store: EventStore;
let dialect: Dialect | undefined;
beforeEach(async () => {
  double = await EventStoreDouble.start(dialect);
  store = await openEventStoreDb({ url: double.url, timeoutMs: 3_000 });
});
afterEach(async () => {
  await store.close();
  await double.kill();
});

const large = () => event('x'.repeat(400_000));
/** An append of three calls. */
const threeCalls = () => Array.from({ length: 6 }, large);
/** Its first part as it is on the server when the writer dies after the first call. */
async function giveUp(stream: string, expected: number | 'no-stream'): Promise<void> {
  const records = double.log.records.length;
  await store.append(stream, threeCalls(), expected);
  const parts = double.log.records.slice(records).filter((record) => record.stream === stream);
  double.log.truncate(stream, (parts[0]?.revision ?? 0) + 2);
}

async function allEvents(): Promise<readonly RecordedEvent[]> {
  return (await storedSlices(store, { after: 0 })).flatMap((slice) => slice.events);
}

/** The same from the end of the log back. */
async function allBackwards(): Promise<readonly RecordedEvent[]> {
  const seen: RecordedEvent[] = [];
  for (let before: number | undefined; ; ) {
    const { events: some, next } = await store.readBackwards(4, before);
    seen.push(...some);
    if (next === undefined) return seen;
    before = next;
  }
}

describe('an append of several calls', () => {
  test('is seen whole, at the position of its last event', async () => {
    const given = threeCalls();
    const live = firstEvents(store, { after: 0 }, 6);
    const { revision, position } = await store.append('order-1', given, 'no-stream');
    expect(revision).toBe(5);
    expect(position).toBe(await store.head());
    for (const seen of [await live, await allEvents(), await store.readStream('order-1')]) {
      expect(ids(seen)).toEqual(ids(given));
      expect(new Set(seen.map((each) => each.position))).toEqual(new Set([position]));
    }
    expect(await store.readStream('order-1', 1, 1)).toEqual((await store.readStream('order-1')).slice(1, 2));
  });

  test('that was given up is never seen, and others go on behind it with the revisions they know', async () => {
    const [before, after, later] = [event(), events(2), threeCalls()];
    await store.append('order-1', [before], 'no-stream');
    await giveUp('order-1', 0);
    await giveUp('order-2', 'no-stream');
    expect(ids(await allEvents())).toEqual([before.id]);
    expect(ids(await allBackwards())).toEqual([before.id]);
    expect(await store.readStream('order-2')).toEqual([]);
    expect(await store.readStream('order-2', 0, 0)).toEqual([]);

    await expect(store.append('order-1', [event()], 'no-stream')).rejects.toMatchObject({ actual: 0 });
    await expect(store.append('order-2', [event()], 0)).rejects.toMatchObject({ actual: 'no-stream' });
    const { revision } = await store.append('order-1', after, 0);
    await store.append('order-1', later, revision);
    await store.append('order-2', later, 'no-stream');

    expect(ids(await store.readStream('order-1'))).toEqual(ids([before, ...after, ...later]));
    expect(ids(await store.readStream('order-2'))).toEqual(ids(later));
    expect(ids(await allEvents())).toEqual(ids([before, ...after, ...later, ...later]));
    expect(ids(await allBackwards())).toEqual(ids([before, ...after, ...later, ...later].reverse()));
  });

  test('that was given up is completed by the same append again', async () => {
    const given = threeCalls();
    await store.append('order-1', given, 'no-stream');
    double.log.truncate('order-1', 2);
    expect(await store.readStream('order-1')).toEqual([]);
    expect((await store.append('order-1', given, 'no-stream')).revision).toBe(5);
    expect(ids(await store.readStream('order-1'))).toEqual(ids(given));
  });

  test('is delivered whole to a subscription that starts again inside it', async () => {
    const given = threeCalls();
    await store.append('order-1', given, 'no-stream');
    const [, , third] = double.log.stream('order-1');
    const slices = await storedSlices(store, { after: third?.position ?? 0 });
    expect(ids(slices.flatMap((slice) => slice.events))).toEqual(ids(given));
  });

  test('conflicts as a whole', async () => {
    await store.append('order-1', events(1), 'no-stream');
    await expect(store.append('order-1', threeCalls(), 'no-stream')).rejects.toMatchObject({ actual: 0 });
    expect(await store.readStream('order-1')).toHaveLength(1);
  });
});

describe('the server is away', () => {
  test('a lost answer is asked for again, and the events are stored once', async () => {
    await store.append('order-0', [event()], 'any');
    double.loseAnswers(2);
    const given = events(2);
    const { revision, position } = await store.append('order-1', given, 'no-stream');
    expect(revision).toBe(1);
    expect(await store.readStream('order-1')).toMatchObject([{ id: given[0]?.id }, { id: given[1]?.id, position }]);
  });

  test('a subscription that has waited long enough says so', async () => {
    await double.kill();
    const impatient = await openEventStoreDb({ url: double.url, timeoutMs: 200, patienceMs: 500 });
    await expect(storedSlices(impatient, { after: 0 })).rejects.toThrow(EventStoreUnavailableError);
    await impatient.close();
  });

  test('hundreds of appends in flight are refused, and the process stays', async () => {
    await store.append('order-0', [event()], 'any');
    const appends = Array.from({ length: 300 }, () => store.append(`order-${randomUUID()}`, [large()], 'no-stream'));
    await double.kill();
    const outcomes = await Promise.allSettled(appends);
    const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
    for (const reason of refused) expect(reason).toBeInstanceOf(EventStoreUnavailableError);
    expect(refused.length).toBeGreaterThan(0);
  });
});

describeOutages('a protocol double, not a real server', () => EventStoreDouble.start());

describeEngine('eventstoredb', 'outages of EventStoreDB', eventStoreDbServerMissing(), () => {
  describeOutages('a real server', () => EventStoreDbServer.start());
});

/** The tests that see the answers in which versions differ. */
const describeDialects = (title: string, tests: () => void): void =>
  describe.each(DIALECTS)(`${title} (%s)`, (each) => {
    beforeAll(() => {
      dialect = each;
    });
    afterAll(() => {
      dialect = undefined;
    });
    tests();
  });

describeDialects('a server that holds other data', () => {
  test('what others wrote is passed over', async () => {
    const given = event();
    const foreign = { ...systemEvent('other'), type: 'Foreign' };
    double.log.write('order-1', 'any', [foreign]);
    double.log.write('theirs-1', 'any', [{ ...foreign, contentType: 'application/octet-stream' }]);
    await store.append('order-1', [given], 0);
    expect(ids(await store.readStream('order-1'))).toEqual([given.id]);
    expect(ids(await allEvents())).toEqual([given.id]);
    expect(ids(await allBackwards())).toEqual([given.id]);
    expect(await store.storedEventTypes()).toEqual([{ type: 'ThingHappened', schemaVersion: 1 }]);
  });

  test('events of the server itself do not move the head, and hold no subscription back', async () => {
    const { position } = await store.append('order-1', events(1), 'no-stream');
    for (let n = 0; n < 40; n++) double.log.write('$stats', 'any', [{ ...systemEvent('stats'), id: randomUUID() }]);
    expect(await store.head()).toBe(position);
    for (let n = 0; n < 400; n++) double.log.write('$stats', 'any', [{ ...systemEvent('stats'), id: randomUUID() }]);
    const head = await store.head();
    expect(head).toBeGreaterThan(position);
    expect((await storedSlices(store, { after: 0, streamPrefixes: ['order-'] })).at(-1)?.position).toBe(head);
  });

  test('a subscription starts rightly after an event that was scavenged', async () => {
    await store.append('order-1', events(1), 'no-stream');
    const { position } = await store.append('order-2', events(1), 'no-stream');
    const next = event();
    await store.append('order-3', [next], 'no-stream');
    double.log.scavenge(position);
    const slices = await storedSlices(store, { after: position });
    expect(ids(slices.flatMap((slice) => slice.events))).toEqual([next.id]);
  });

  test('it does not hold a place inside an event, as those of other logs may be', async () => {
    const { position } = await store.append('order-1', events(1), 'no-stream');
    await store.append('order-1', events(1), 0);
    expect(await store.holds({ position: position + 1, eventId: randomUUID() })).toBe(false);
  });

  test('it holds a place that it has reached by an event of the server itself, also after that was removed', async () => {
    await store.append('order-1', events(1), 'no-stream');
    double.log.write('$stats', 'any', [systemEvent('stats')]);
    const { position = 0 } = double.log.stream('$stats')[0] ?? {};
    await store.append('order-1', events(1), 0);
    double.log.scavenge(position);
    expect(await store.holds({ position })).toBe(true);
  });

  test('a tombstoned stream says so', async () => {
    await store.append('order-1', events(1), 'no-stream');
    double.log.tombstone('order-1');
    await expect(store.append('order-1', events(1), 0)).rejects.toThrow('order-1 was tombstoned');
    await expect(store.readStream('order-1')).rejects.toThrow('order-1 was tombstoned');
  });
});

describeDialects('positions', () => {
  test('move while much is passed over, and only to places from where nothing is missed', async () => {
    for (let n = 0; n < 60; n++) await store.append('other-1', events(50), 'any');
    const wanted = event();
    await store.append('order-1', [wanted], 'no-stream');
    const slices = await slicesUntil(store, { after: 0, streamPrefixes: ['order-'] }, ({ caughtUp }) => caughtUp);
    for (const { position } of [{ position: 0 }, ...slices.slice(0, -1)]) {
      const rest = await storedSlices(store, { after: position, streamPrefixes: ['order-'] });
      const due = slices.some((slice) => slice.position <= position && slice.events.length > 0) ? [] : [wanted.id];
      expect(ids(rest.flatMap((slice) => slice.events))).toEqual(due);
    }
  });

  test('a quiet subscription asks seldom', async () => {
    const ending = new AbortController();
    setTimeout(() => ending.abort(), 1_000);
    for await (const _ of store.subscribe({ after: 0, streamPrefixes: ['order-'], signal: ending.signal })) {
      if (double.subscriptions === 1) await store.append('other-1', [event()], 'any');
    }
    expect(double.subscriptions).toBeLessThanOrEqual(3);
  });

  test('idle subscriptions look at the log once a second, all together', async () => {
    await store.append('order-1', events(1), 'no-stream');
    const ending = new AbortController();
    const following = ['order-', 'table-', undefined].map(async (prefix) => {
      const streamPrefixes = prefix === undefined ? undefined : { streamPrefixes: [prefix] };
      for await (const _ of store.subscribe({ after: 0, ...streamPrefixes, signal: ending.signal }));
    });
    await wait(1_000);
    const before = double.looks;
    await wait(3_000);
    expect(double.looks - before).toBeLessThanOrEqual(4);
    ending.abort();
    await Promise.all(following);
  });

  test('are known to every subscription with each append, whatever its filter, by one reading of the log', async () => {
    const ending = new AbortController();
    const positions = [0, 0, 0];
    const following = positions.map(async (_, index) => {
      const streamPrefixes = [`of-subscription-${index}-`];
      for await (const slice of store.subscribe({ after: 0, streamPrefixes, signal: ending.signal })) {
        positions[index] = slice.position;
      }
    });
    for (let n = 0; n < 30; n += 1) {
      const { position } = await store.append('other-1', [event()], 'any');
      while (Math.min(...positions) < position) await wait(5);
    }
    // One for the way there of each, and one for all; some of the first look twice when the first append comes meanwhile.
    expect(double.subscriptions).toBeLessThanOrEqual(7);
    ending.abort();
    await Promise.all(following);
  });
});
