import type { StoredEvent } from '#app/adapters/eventstore/eventstoredb/splitAppends.js';
import { Assembly } from '#app/adapters/eventstore/eventstoredb/splitAppends.js';
import { append, stored } from './stored.js';

/** Over one stream that holds these events; `readBack` counts the reads. */
function assemblyOver(...streams: (readonly StoredEvent[])[]) {
  const read = jest.fn(async ({ event, part }: StoredEvent) => {
    const events = streams.find(([first]) => first?.event.stream === event.stream) ?? [];
    return events.filter(
      (each) => each.event.revision > event.revision - (part?.count ?? 1) && each.event.revision <= event.revision,
    );
  });
  return { assembly: new Assembly(read), read };
}

async function deliver(assembly: Assembly, events: readonly StoredEvent[]) {
  const whole: (readonly [string, number, number])[][] = [];
  for (const event of events) {
    const completed = await assembly.add(event);
    if (completed !== undefined) {
      whole.push(completed.map(({ stream, revision, position }) => [stream, revision, position] as const));
    }
  }
  return whole;
}

test('events that are appends of their own go through', async () => {
  const { assembly } = assemblyOver();
  expect(await deliver(assembly, [stored('order-1', 0), stored('order-2', 0, undefined, 5)])).toEqual([
    [['order-1', 0, 0]],
    [['order-2', 0, 5]],
  ]);
});

test('an append comes with its last part, at the position of that one, others in between before it', async () => {
  const [one, two, three] = append('a', 0, 3);
  const { assembly, read } = assemblyOver();
  const events = [one, stored('order-2', 0, undefined, 5), two, three].flatMap((each) => each ?? []);
  expect(await deliver(assembly, events)).toEqual([
    [['order-2', 0, 5]],
    [
      ['order-1', 0, 20],
      ['order-1', 1, 20],
      ['order-1', 2, 20],
    ],
  ]);
  expect(read).not.toHaveBeenCalled();
});

test('an append that is not continued is never delivered', async () => {
  const { assembly } = assemblyOver();
  const given = [...append('a', 0, 3, { until: 2 }), ...append('b', 2, 2), ...append('c', 4, 9, { until: 8 })];
  expect(await deliver(assembly, given)).toEqual([
    [
      ['order-1', 2, 30],
      ['order-1', 3, 30],
    ],
  ]);
});

test('parts that came before the subscription began are read back', async () => {
  const whole = append('a', 4, 5);
  const { assembly, read } = assemblyOver(whole);
  expect((await deliver(assembly, whole.slice(3)))[0]).toHaveLength(5);
  expect(read).toHaveBeenCalledTimes(1);
});

test('an append that has lost a part stops the subscription', async () => {
  const { assembly } = assemblyOver();
  await expect(deliver(assembly, append('a', 0, 5, { from: 3 }))).rejects.toThrow('order-1 has lost a part');
});

test('of very many unfinished appends the oldest are read back', async () => {
  const streams = Array.from({ length: 150 }, (_, n) => append(`a${n}`, 0, 2, { stream: `order-${n}` }));
  const { assembly, read } = assemblyOver(...streams);
  const first = streams.flatMap((events) => events.slice(0, 1));
  const last = streams.flatMap((events) => events.slice(1));
  expect(await deliver(assembly, [...first, ...last])).toHaveLength(150);
  expect(read).toHaveBeenCalledTimes(50);
});

test('it is mid-append inside an append of one call only', async () => {
  const { assembly } = assemblyOver();
  const seen: boolean[] = [];
  const given = [...append('a', 0, 2, { split: false }), ...append('b', 2, 2), stored('order-1', 4)];
  for (const event of given) {
    await assembly.add(event);
    seen.push(assembly.midAppend);
  }
  expect(seen).toEqual([true, false, false, false, false]);
});
