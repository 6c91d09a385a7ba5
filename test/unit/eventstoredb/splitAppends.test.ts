import fc from 'fast-check';
import { findTail, runLengths, type StoredEvent, visible } from '#app/adapters/eventstore/eventstoredb/splitAppends.js';
import { append, stored } from './stored.js';

const revisions = (events: readonly { readonly revision: number }[]) => events.map(({ revision }) => revision);

describe('what of a stream may be seen', () => {
  test('events that are appends of their own', () => {
    expect(revisions(visible([stored('order-1', 0), stored('order-1', 1)]))).toEqual([0, 1]);
  });

  test('an append with its last part', () => {
    expect(revisions(visible([...append('a', 0, 3), stored('order-1', 3)]))).toEqual([0, 1, 2, 3]);
  });

  test('nothing of an append whose last part has not come', () => {
    expect(revisions(visible([stored('order-1', 0), ...append('a', 1, 3, { until: 2 })]))).toEqual([0]);
  });

  test('nothing of an append that a later event does not continue', () => {
    const given = [
      ...append('a', 0, 3, { until: 2 }),
      ...append('b', 2, 2),
      ...append('c', 4, 3, { until: 1 }),
      stored('order-1', 5),
    ];
    expect(revisions(visible(given))).toEqual([2, 3, 5]);
  });

  test('the rest of an append, read from inside it', () => {
    expect(revisions(visible(append('a', 0, 4, { from: 2 })))).toEqual([2, 3]);
  });

  test('a split append at the position of its last event, another at its own', () => {
    const given = [...append('a', 0, 2), ...append('b', 2, 2, { split: false })];
    expect(visible(given).map(({ position }) => position)).toEqual([10, 10, 20, 30]);
  });
});

describe('the end of a stream', () => {
  const tailOf = (events: readonly StoredEvent[]) =>
    findTail(async (revision) => (revision === 'end' ? events.at(-1) : events[revision]));

  test.each([
    ['of no stream', [], { stored: -1, visible: -1 }],
    ['of a whole append', append('a', 0, 3), { stored: 2, visible: 2 }],
    [
      'behind one that was given up',
      [...append('a', 0, 2), ...append('b', 2, 3, { until: 2 })],
      { stored: 3, visible: 1 },
    ],
    ['of nothing but one that was given up', append('a', 0, 3, { until: 1 }), { stored: 0, visible: -1 }],
    [
      'behind two that were given up',
      [stored('order-1', 0), ...append('a', 1, 3, { until: 2 }), ...append('b', 3, 9, { until: 4 })],
      { stored: 6, visible: 0 },
    ],
  ])('%s', async (_, events, tail) => {
    expect(await tailOf(events)).toEqual(tail);
  });
});

test('calls hold all sizes in order, none over the limit but one that is larger by itself', () => {
  expect(runLengths([], 10)).toEqual([]);
  expect(runLengths([4, 6, 1, 12, 3, 3], 10)).toEqual([2, 1, 1, 2]);
  fc.assert(
    fc.property(fc.array(fc.nat(30)), (sizes) => {
      const lengths = runLengths(sizes, 20);
      let taken = 0;
      for (const length of lengths) {
        const call = sizes.slice(taken, taken + length);
        taken += length;
        expect(call.length === 1 || call.reduce((sum, size) => sum + size, 0) <= 20).toBe(true);
        expect(length).toBeGreaterThan(0);
      }
      expect(taken).toBe(sizes.length);
    }),
    { seed: 1 },
  );
});
