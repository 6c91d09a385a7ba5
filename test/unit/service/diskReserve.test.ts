import { DiskReserve } from '#app/service/diskReserve.js';

/** A disk whose free space is set by the test. */
function disk(reserve: number) {
  let looks = 0;
  const found = { free: 0, isAway: false };
  const opened = new DiskReserve(reserve, async () => {
    looks += 1;
    if (found.isAway) throw new Error('no disk');
    return found.free;
  });
  return { opened, found, looks: () => looks };
}

const looked = () => new Promise((resolve) => setImmediate(resolve));

test('the free space is looked at once for all that ask within a second', async () => {
  const { opened, found, looks } = disk(100);
  found.free = 70;
  expect(opened.free).toBe(Number.POSITIVE_INFINITY);
  await looked();
  for (let asked = 0; asked < 50; asked += 1) expect(opened.free).toBe(70);
  expect(looks()).toBe(1);
});

test('without a reserve the disk is not looked at, and one that cannot be asked is no reason to refuse', async () => {
  const none = disk(0);
  expect(none.opened.free).toBe(Number.POSITIVE_INFINITY);
  expect(none.looks()).toBe(0);
  const away = disk(100);
  away.found.isAway = true;
  expect(away.opened.free).toBe(Number.POSITIVE_INFINITY);
  await looked();
  expect(away.opened.free).toBe(Number.POSITIVE_INFINITY);
});
