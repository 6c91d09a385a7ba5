import { setTimeout as wait } from 'node:timers/promises';
import { ReadAhead } from '#app/projector/readAhead.js';

const empty = (position: number) => ({ steps: [], position, place: undefined });

test('of slices without events that come all the time only some are added, and the last one always', async () => {
  const backlog = new ReadAhead(0, new AbortController().signal);
  for (let position = 1; position <= 1_000; position++) backlog.addEmpty(empty(position));
  while (backlog.view().slices.at(-1)?.position !== 1_000) await wait(10);
  expect(backlog.view().slices.length).toBeLessThan(100);
});

test('a slice without events does not come after one that was read later', () => {
  const backlog = new ReadAhead(0, new AbortController().signal);
  backlog.addEmpty(empty(1));
  backlog.addEmpty(empty(2));
  backlog.add(empty(3));
  expect(backlog.view().slices.map(({ position }) => position)).toEqual([1, 3]);
});
