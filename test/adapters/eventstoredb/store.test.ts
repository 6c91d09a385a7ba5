/** What the EventStoreDB adapter does beyond the contract. Over a protocol double, not a real server, where not said. */
import { randomUUID } from 'node:crypto';
import { openEventStoreDb } from '#app/adapters/eventstore/eventstoredb/store.js';
import type { EventStore, EventToAppend, RecordedEvent } from '#app/ports/eventStore.js';
import { event, events, firstEvents, ids, slicesUntil, storedSlices } from '../../contract/eventStoreFixtures.js';
import { systemEvent } from '../../engines/doubleLog.js';
import type { Dialect } from '../../engines/doubleSubscription.js';
import { EventStoreDouble } from '../../engines/eventStoreDouble.js';

const DIALECTS: readonly Dialect[] = ['23.10', '25.0'];

let double: EventStoreDouble;
let store: EventStore;
let dialect: Dialect | undefined;
beforeEach(async () => {
  double = await EventStoreDouble.start(dialect);
  store = await openEventStoreDb({ url: double.url, timeoutMs: 20_000 });
});
afterEach(async () => {
  await store.close();
  await double.kill();
});

/**
 * Writes an append as earlier releases did where it was larger than one call: in parts, between which others' events may
 * stand.
 * @param from index of the first part
 */
function writeParts(stream: string, given: readonly EventToAppend[], from = 0, to = given.length): void {
  for (const [index, { id, type, data, metadata }] of given.entries()) {
    if (index < from || index >= to) continue;
    const part = { append: given[0]?.id, index, count: given.length, split: true };
    const json = (value: unknown) => Buffer.from(JSON.stringify(value));
    const record = { id, type, contentType: 'application/json', data: json(data) };
    double.log.write(stream, 'any', [{ ...record, metadata: json({ ...metadata, part }) }]);
  }
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

describe('an append that an earlier release wrote in parts', () => {
  test('is seen whole, at the position of its last event, after what others wrote in between', async () => {
    const [given, between] = [events(6), event()];
    const live = firstEvents(store, { after: 0 }, 7);
    writeParts('order-1', given, 0, 3);
    await store.append('order-2', [between], 'no-stream');
    writeParts('order-1', given, 3);
    const position = await store.head();
    for (const seen of [await live, await allEvents()]) {
      expect(ids(seen)).toEqual(ids([between, ...given]));
      expect(seen.slice(1).map((each) => each.position)).toEqual(given.map(() => position));
    }
    const stored = await store.readStream('order-1');
    expect(ids(stored)).toEqual(ids(given));
    expect(stored.every((each) => each.position === position)).toBe(true);
    expect(await store.readStream('order-1', 1, 1)).toEqual(stored.slice(1, 2));
    expect((await store.readSlice('order-1', { from: 0, to: 3, maxCount: 2 })).events).toEqual(stored.slice(0, 2));
    expect(ids(await allBackwards()).toSorted()).toEqual(ids([between, ...given]).toSorted());
    expect(await store.lastAppend('order-1')).toEqual({ revision: 5, position });
    for (const { position: after } of double.log.records) {
      const rest = (await storedSlices(store, { after })).flatMap((slice) => slice.events);
      expect(rest.filter(({ stream }) => stream === 'order-1')).toHaveLength(after < position ? 6 : 0);
    }
  });

  test('and gave up is never seen, and others go on behind it with the revisions they know', async () => {
    const [before, after, later] = [event(), events(2), events(6)];
    await store.append('order-1', [before], 'no-stream');
    writeParts('order-1', events(6), 0, 2);
    writeParts('order-2', events(6), 0, 2);
    expect(ids(await allEvents())).toEqual([before.id]);
    expect(ids(await allBackwards())).toEqual([before.id]);
    expect(await store.readStream('order-2')).toEqual([]);
    expect(await store.readStream('order-2', 0, 0)).toEqual([]);
    expect(await store.lastAppend('order-2')).toBeUndefined();

    await expect(store.append('order-1', [event()], 'no-stream')).rejects.toThrow('is at 0, not');
    await expect(store.append('order-2', [event()], 0)).rejects.toThrow('is at no-stream, not');
    const { revision } = await store.append('order-1', after, 0);
    await store.append('order-1', later, revision);
    await store.append('order-2', [before], 'no-stream');

    expect(ids(await store.readStream('order-1'))).toEqual(ids([before, ...after, ...later]));
    expect(ids(await store.readStream('order-2'))).toEqual([before.id]);
    expect(ids(await allEvents())).toEqual(ids([before, ...after, ...later, before]));
    expect(ids(await allBackwards())).toEqual(ids([before, ...after, ...later, before].reverse()));
  });
});

test('a page of the log that ends inside an append has the whole of it', async () => {
  await store.append('order-1', events(999), 'no-stream');
  await store.append('order-1', events(900), 998);
  const [, second] = (await slicesUntil(store, { after: 0 }, ({ caughtUp }) => caughtUp)).filter(
    (slice) => slice.events.length > 0,
  );
  expect(second?.events).toHaveLength(900);
  expect(second?.position).toBe(await store.head());
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
  });

  test('events of the server itself hold no subscription back', async () => {
    await store.append('order-1', events(1), 'no-stream');
    for (let n = 0; n < 400; n++) double.log.write('$stats', 'any', [{ ...systemEvent('stats'), id: randomUUID() }]);
    const head = await store.head();
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
