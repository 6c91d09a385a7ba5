/** What the EventStoreDB adapter does beyond the contract. Over a protocol double, not a real server, where not said. */
import { randomUUID } from 'node:crypto';
import { openEventStoreDb } from '#app/adapters/eventstore/eventstoredb/store.js';
import type { EventStore, RecordedEvent } from '#app/ports/eventStore.js';
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

  test('it holds a place that it has reached by an event of the server itself, also after that was removed', async () => {
    await store.append('order-1', events(1), 'no-stream');
    double.log.write('$stats', 'any', [systemEvent('stats')]);
    const { position = 0 } = double.log.stream('$stats')[0] ?? {};
    await store.append('order-1', events(1), 0);
    double.log.scavenge(position);
    expect(await store.holds({ position })).toBe(true);
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
});
