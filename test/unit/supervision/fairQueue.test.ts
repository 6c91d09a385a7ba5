import { setImmediate as nextTurn } from 'node:timers/promises';
import { FairQueue } from '#app/supervision/fairQueue.js';

/** Work that ends when it is told to, and what has begun and ended so far. */
function workshop(turns: FairQueue) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const run = (group: string, name: string): Promise<string> =>
    turns.run(group, async () => {
      begun.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
      return name;
    });
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await nextTurn();
  };
  return { begun, run, end };
}

describe('turns', () => {
  test('so many at once, and groups one after the other', async () => {
    const { begun, run, end } = workshop(new FairQueue({ atOnce: 2, waitingOfGroup: 10 }));
    const all = ['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'b2'].map((name) => run(name.slice(0, 1), name));
    await nextTurn();
    expect(begun).toEqual(['a1', 'a2']);
    for (const name of ['a1', 'a2', 'a3', 'b1', 'c1', 'a4', 'b2']) await end(name);
    expect(begun).toEqual(['a1', 'a2', 'a3', 'b1', 'c1', 'a4', 'b2']);
    expect(await Promise.all(all)).toHaveLength(7);
  });

  test('a group that has nothing at work gets a reserved place', async () => {
    const { begun, run, end } = workshop(new FairQueue({ atOnce: 3, reserved: 1, ofGroup: 2, waitingOfGroup: 10 }));
    const all = ['a1', 'b1', 'a2', 'b2', 'c1'].map((name) => run(name.slice(0, 1), name));
    await nextTurn();
    expect(begun).toEqual(['a1', 'b1', 'c1']);
    for (const name of ['c1', 'a1', 'b1', 'a2', 'b2']) await end(name);
    expect(await Promise.all(all)).toHaveLength(5);
  });

  test('work that fails gives its place to the next', async () => {
    const turns = new FairQueue({ atOnce: 1, waitingOfGroup: 3 });
    const failed = turns.run('a', () => Promise.reject(new Error('it failed')));
    const next = turns.run('a', async () => 'done');
    await expect(failed).rejects.toThrow('it failed');
    expect(await next).toBe('done');
    expect(await turns.run('b', async () => 'room again')).toBe('room again');
  });
});
