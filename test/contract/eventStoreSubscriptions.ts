import { randomUUID } from 'node:crypto';
import type { EventSlice, EventStore } from '#app/ports/eventStore.js';
import { events, ids, slicesUntil, storedSlices } from './eventStoreFixtures.js';

/** Catch-up subscriptions: order, slices, filter, going live, ending. */
export function describeSubscriptions(store: () => EventStore): void {
  describe('subscription', () => {
    test('delivers what is stored after a position, in the order of the log', async () => {
      const after = await store().head();
      const given = events(30);
      for (const each of given) await store().append(`order-${randomUUID()}`, [each], 'no-stream');
      const slices = await storedSlices(store(), { after, maxCount: 7 });
      const delivered = slices.flatMap((slice) => slice.events);
      expect(ids(delivered)).toEqual(ids(given));
      expect(slices.length).toBeGreaterThan(3);
      expect(slices.at(-1)).toMatchObject({ caughtUp: true, position: await store().head() });
      expect(delivered[0]).toEqual((await store().readStream(delivered[0]?.stream ?? ''))[0]);
    });

    test('goes on with what is appended after it has caught up', async () => {
      const after = await store().head();
      const stream = `order-${randomUUID()}`;
      const given = events(6);
      const [stored, live] = [given.slice(0, 3), given.slice(3)];
      await store().append(stream, stored, 'no-stream');
      const slices = await slicesUntil(store(), { after }, ({ caughtUp }, all) => {
        if (caughtUp && all.length === 3) void store().append(stream, live, 2);
        return all.length === 6;
      });
      expect(ids(slices.flatMap((slice) => slice.events))).toEqual(ids(given));
    });

    test('starts again after a checkpoint without a repeat or a gap', async () => {
      const after = await store().head();
      const given = events(20);
      for (const each of given) await store().append(`order-${randomUUID()}`, [each], 'no-stream');
      const before = await slicesUntil(store(), { after, maxCount: 3 }, (_, all) => all.length >= 9);
      const checkpoint = before.at(-1)?.position ?? 0;
      const rest = await storedSlices(store(), { after: checkpoint });
      expect(ids([...before, ...rest].flatMap((slice) => slice.events))).toEqual(ids(given));
    });

    test.each([{ filtered: false }, { filtered: true }])(
      'never cuts an append (filter: $filtered)',
      async (options) => {
        const after = await store().head();
        const category = `order${randomUUID().slice(0, 8)}-`;
        const sizes = [5, 1, 12, 1, 1, 4, 9];
        for (const size of sizes) await store().append(`${category}${randomUUID()}`, events(size), 'no-stream');
        const reading = { after, maxCount: 2, ...(options.filtered ? { streamPrefixes: [category] } : {}) };
        const slices = (await storedSlices(store(), reading)).filter((slice) => slice.events.length > 0);
        for (const slice of slices) {
          expect(slice.position).toBe(slice.events.at(-1)?.position);
          for (const stream of new Set(slice.events.map((each) => each.stream))) {
            expect(slice.events.filter((each) => each.stream === stream)).toEqual(await store().readStream(stream));
          }
        }
        expect(slices.length).toBeGreaterThan(3);
        expect(slices.flatMap((slice) => slice.events)).toHaveLength(33);
      },
    );
  });

  describeFilter(store);
  describeEnding(store);
}

function describeFilter(store: () => EventStore): void {
  describe('subscription with stream prefixes', () => {
    const run = randomUUID().slice(0, 8);

    test('delivers those streams only, merged in the order of the log', async () => {
      const after = await store().head();
      const streams = [`tenant${run}-a`, `order${run}-a.1`, `users${run}-a`, `order${run}-b.1`, `order${run}-a.2`, run];
      for (let round = 0; round < 5; round++) {
        for (const stream of streams) await store().append(stream, events(2), 'any');
      }
      const delivered = async (...streamPrefixes: string[]) => {
        const slices = await storedSlices(store(), { after, streamPrefixes, maxCount: 4 });
        expect(slices.at(-1)?.position).toBe(await store().head());
        return slices.flatMap((slice) => slice.events);
      };
      const all = (await storedSlices(store(), { after })).flatMap((slice) => slice.events);
      const having = (...prefixes: string[]) =>
        all.filter(({ stream }) => prefixes.some((prefix) => stream.startsWith(prefix)));

      expect(await delivered(`order${run}-`)).toEqual(having(`order${run}-`));
      expect(await delivered(`order${run}-a`)).toEqual(having(`order${run}-a`));
      expect(await delivered(`order${run}`)).toEqual(having(`order${run}`));
      expect(await delivered(`users${run}-`, `order${run}-b.`, `tenant${run}-`)).toEqual(
        having(`users${run}-`, `order${run}-b.`, `tenant${run}-`),
      );
      expect(await delivered(`order${run}-`, `order${run}-a`, `order${run}-`)).toEqual(having(`order${run}-`));
      expect(await delivered(run)).toEqual(having(run));
      expect(await delivered(`nothing${run}-`)).toEqual([]);
      expect(await delivered(`order${run}-%`, `order${run}_`)).toEqual([]);
    });
  });
}

function describeEnding(store: () => EventStore): void {
  describe('ending a subscription', () => {
    test('the signal ends it while it waits', async () => {
      const ending = new AbortController();
      const slices: EventSlice[] = [];
      for await (const slice of store().subscribe({ after: await store().head(), signal: ending.signal })) {
        slices.push(slice);
        setTimeout(() => ending.abort(), 20);
      }
      expect(slices).toHaveLength(1);
    });
  });
}
