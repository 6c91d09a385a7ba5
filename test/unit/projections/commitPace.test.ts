/** A commit waits for more to come, but for no longer than it says, and not while somebody waits for it. */

import type { Backlog } from '#app/projections/backlog.js';
import { CommitPace } from '#app/projections/commitPace.js';

const { signal } = new AbortController();
const few = { isLong: false } as Backlog;
const much = { isLong: true } as Backlog;

let pace: CommitPace;
beforeEach(() => {
  jest.useFakeTimers();
  pace = new CommitPace();
});
afterEach(() => jest.useRealTimers());

/** Milliseconds that it takes, of 200 at most. */
async function gathering(backlog: Backlog, meanwhile: () => void = () => undefined): Promise<number> {
  const startedAt = performance.now();
  let took: number | undefined;
  void pace.gather(backlog, signal).then(() => {
    took = performance.now() - startedAt;
  });
  await jest.advanceTimersByTimeAsync(1);
  meanwhile();
  await jest.advanceTimersByTimeAsync(199);
  return took ?? Number.NaN;
}

test('the first is committed at once, what follows it some milliseconds later', async () => {
  expect(await gathering(few)).toBe(0);
  pace.committed();
  expect(await gathering(few)).toBe(5);
});

test('what takes long is begun at once', async () => {
  pace.committed();
  expect(await gathering(much)).toBe(0);
});

test('it is made at once when somebody begins to wait, and while somebody waits', async () => {
  pace.committed();
  expect(await gathering(few, () => pace.hurry())).toBe(1);
  pace.hurry();
  pace.committed();
  expect(await gathering(few)).toBe(0);
});
