import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises';
import { mapWithPauses, nextTurn } from '#app/supervision/waiting.js';

test('input waits for one piece of work, however much work there is', async () => {
  const busyFor = (milliseconds: number): void => {
    for (const until = performance.now() + milliseconds; performance.now() < until; );
  };
  const works = Array.from({ length: 20 }, () => mapWithPauses(Array.from({ length: 10 }), () => busyFor(1)));
  let isDone = false;
  const all = Promise.all(works).then(() => {
    isDone = true;
  });
  let turns = 0;
  while (!isDone) {
    await wait(0);
    turns += 1;
  }
  await all;
  // 200 ms of work in pieces of some 4 ms.
  expect(turns).toBeGreaterThan(24);
});

test('callers with little to do share a turn', async () => {
  let left = 1000;
  for (let caller = 0; caller < 1000; caller++) void nextTurn().then(() => (left -= 1));
  let turns = 0;
  for (; left > 0; turns++) await turn();
  expect(turns).toBeLessThan(200);
});
