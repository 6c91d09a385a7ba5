import type { Commands } from '#app/commands/context.js';
import { tenantEnd } from '#app/commands/logReads.js';
import { orderStream } from '#app/domain/streams.js';

/** @param streams of the log's events, the first at position 1 */
function endIn(
  streams: readonly string[],
  isTold: boolean,
): { readonly end: Promise<number>; readonly read: number[] } {
  const read: number[] = [];
  const all = streams.map((stream, index) => ({ stream, type: 'OrderCreated', data: {}, position: index + 1 }));
  const eventStore = {
    head: async () => all.length,
    readBackwards: async (count: number, before = all.length + 1) => {
      read.push(count);
      const from = Math.max(0, before - 1 - count);
      const events = all.slice(from, before - 1);
      return { events, ...(from > 0 && { next: events[0]?.position }) };
    },
  };
  return { end: tenantEnd({ eventStore, progress: { isTold } } as unknown as Commands, 'acme'), read };
}

const own = orderStream('acme', 'a');
const other = orderStream('other', 'b');
const others = (count: number): readonly string[] => Array.from({ length: count }, () => other);

test("is the tenant's last event of which rows are made, also where others have written since", async () => {
  expect(await endIn([own, own, other, 'part-acme.key'], false).end).toBe(2);
  expect(await endIn([own, ...others(150)], false).end).toBe(1);
  expect(await endIn(others(3), false).end).toBe(0);
});

test('of a tenant that has not written for long, it is behind the latest events, of which no more are read', async () => {
  const { end, read } = endIn([own, ...others(5_000)], false);
  expect(await end).toBe(5_001 - 1_220 + 1);
  expect(read).toEqual([20, 200, 1_000]);
});

test("is the log's end, of which nothing is read, where the process follows the log for all tenants", async () => {
  const { end, read } = endIn([own, other, other], true);
  expect(await end).toBe(3);
  expect(read).toEqual([]);
});
