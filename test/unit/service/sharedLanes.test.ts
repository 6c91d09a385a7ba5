/** Processes that share the lanes, with what they agree on in memory. */
import { setTimeout as wait } from 'node:timers/promises';
import { pino } from 'pino';
import type { Projectors } from '#app/ports/projectors.js';
import { type Lane, lanesOf } from '#app/projector/lanes.js';
import { shareLanes, shareOf } from '#app/service/sharedLanes.js';

const LANES = 4;

class Meeting {
  readonly #alive = new Set<string>();
  isAway = false;

  join(): Projectors {
    const asked = async () => {
      if (this.isAway) throw new Error('away');
    };
    return {
      settleLanes: async () => LANES,
      beat: (id) => asked().then(() => void this.#alive.add(id)),
      leave: (id) => asked().then(() => void this.#alive.delete(id)),
      alive: () => asked().then(() => [...this.#alive]),
      close: async () => undefined,
    };
  }
}

/** A process, and the lanes that it projects now. */
function projecting(meeting: Meeting) {
  const lanes = new Set<number>();
  let fail: () => void = () => undefined;
  const start = ({ index }: Lane, onFailure: () => void) => {
    lanes.add(index);
    fail = onFailure;
    return { failure: () => undefined, stop: async () => void lanes.delete(index) };
  };
  const { stop, failure } = shareLanes(meeting.join(), LANES, start, pino({ level: 'silent' }));
  return { stop, failure, fail: () => fail(), has: () => [...lanes].sort() };
}

async function becomes<T>(seen: () => T, wanted: T): Promise<void> {
  while (JSON.stringify(seen()) !== JSON.stringify(wanted)) await wait(20);
}

test.each([
  [1, [[1, 2, 3, 4]]],
  [
    2,
    [
      [1, 3],
      [2, 4],
    ],
  ],
  [3, [[1, 4], [2], [3]]],
  [6, [[1], [2], [3], [4], [], []]],
])('four lanes fall to %i processes by turns, each to one', (count, shares) => {
  const ids = Array.from({ length: count }, (_, n) => `p${n}`);
  const found = ids.map((id) => shareOf(lanesOf(LANES), ids, id).map(({ index }) => index + 1));
  expect(found).toEqual(shares);
});

/** The first has had all lanes, and has handed over every other one. */
async function twoProjecting() {
  const meeting = new Meeting();
  const first = projecting(meeting);
  await becomes(first.has, [0, 1, 2, 3]);
  const second = projecting(meeting);
  await becomes(
    () => [first.has(), second.has()],
    [
      [0, 2],
      [1, 3],
    ],
  );
  return { first, second };
}

test('a process hands over what falls to one that joins, and gets it back when that one stops', async () => {
  const { first, second } = await twoProjecting();
  await first.stop();
  expect(first.has()).toEqual([]);
  await becomes(second.has, [0, 1, 2, 3]);
  await second.stop();
});

test('a process whose projector fails lets others try, and goes on with all where there is nobody else', async () => {
  const { first, second } = await twoProjecting();
  first.fail();
  await becomes(() => [first.has(), second.has()], [[], [0, 1, 2, 3]]);
  await second.stop();
  await becomes(first.has, [0, 1, 2, 3]);
  await first.stop();
});

test('a process goes on with its lanes while nobody knows who else projects, and says so', async () => {
  const meeting = new Meeting();
  const only = projecting(meeting);
  await becomes(only.has, [0, 1, 2, 3]);
  meeting.isAway = true;
  await becomes(() => only.failure()?.message, 'away');
  expect(only.has()).toEqual([0, 1, 2, 3]);
  meeting.isAway = false;
  await becomes(only.failure, undefined);
  await only.stop();
  expect(only.has()).toEqual([]);
});
