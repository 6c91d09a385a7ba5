/** The follower: rows of all tenants are kept current, and no tenant waits for another. Over a real log, with rows in memory. */
import { setTimeout as wait } from 'node:timers/promises';
import { RowsLostError } from '#app/ports/rowStore.js';
import { rebuild } from '#app/projections/copies.js';
import type { FollowerDeps } from '#app/projections/follower.js';
import { EventNotAppliedError, slicesOf } from '#app/projections/rows.js';
import { dumpOf } from '../support/dumpOf.js';
import { FollowedLog, Following, namesIn } from '../support/followedLog.js';
import { MemoryRows } from '../support/memoryRows.js';

let log: FollowedLog;
let rows: MemoryRows;
let following: Following[];

beforeEach(async () => {
  log = await FollowedLog.open();
  rows = new MemoryRows();
  following = [];
});

afterEach(async () => {
  for (const each of following) await each.stop().catch(() => undefined);
  await log.close();
});

function follow(deps: Partial<FollowerDeps> = {}, writer = rows): Following {
  const started = new Following(log, writer, deps);
  following.push(started);
  return started;
}

/** Rows as a follower makes them that begins now. */
async function madeNow(tenant: string, position: number) {
  const fresh = new MemoryRows();
  const following = follow({}, fresh);
  await following.applied(tenant, position);
  await following.stop();
  return dumpOf(fresh, tenant);
}

const nothing = { signal: new AbortController().signal };

/** Fails at items with this name until it is mended. */
function failingAt(name: string) {
  let isMended = false;
  const failing: FollowerDeps['slicesOf'] = async function* (tenant, events, store) {
    const bad = events.findIndex(({ data }) => !isMended && JSON.stringify(data).includes(name));
    yield* slicesOf(tenant, bad < 0 ? events : events.slice(0, bad), store, { deliveryLogDays: 30 });
    const event = events[bad];
    if (event !== undefined) throw new EventNotAppliedError(event, new Error('It is bad.'));
  };
  return { slicesOf: failing, mend: () => (isMended = true) };
}

test('what is written is shown, and what another follower applied is not applied again', async () => {
  await log.create('acme');
  const first = follow();
  await first.running('acme');
  await first.applied('acme', await log.item('acme', 'One'));
  await first.stop();
  const position = await log.item('acme', 'Two');
  const second = follow();
  await second.applied('acme', position);
  await second.stop();
  expect(namesIn(rows, 'acme')).toEqual(['One', 'Two']);
  expect(await rows.checkpoint()).toMatchObject({ position, log: await log.store.identity() });
  expect(second.news.filter(({ kind }) => kind === 'applied')).toHaveLength(1);
});

test('after a crash, rows that were made further than had been kept are not made a second time', async () => {
  await log.create('acme');
  const first = follow();
  await first.applied('acme', await log.item('acme', 'One'));
  const [tenants, checkpoint] = [await rows.tenants(), await rows.checkpoint()];
  await first.applied('acme', await log.item('acme', 'Two'));
  await first.stop();
  const three = await log.item('acme', 'Three');
  // As an engine has them that keeps positions with the checkpoint.
  rows.tenants = async () => tenants;
  if (checkpoint !== undefined) await rows.keep(checkpoint);
  const second = follow();
  await second.applied('acme', three);
  await second.applied('acme', await log.item('acme', 'Four'));
  expect(namesIn(rows, 'acme')).toEqual(['One', 'Two', 'Three', 'Four']);
  expect(second.news.filter(({ kind }) => kind === 'parked')).toEqual([]);
});

test('a kill at any moment is made good from the checkpoint', async () => {
  await log.create('acme');
  for (let n = 0; n < 20; n += 1) await log.item('acme', `Item ${n}`);
  const position = await log.cleanUp('acme', 20);
  let left = 0;
  for (;;) {
    const killed = new Error('Killed.');
    let applied = 0;
    const mortal = new MemoryRows({ cleanedUpAtOnce: 7 });
    for (const [name, stored] of rows.stored) mortal.stored.set(name, stored);
    const apply = mortal.apply.bind(mortal);
    mortal.apply = async (...slice) => {
      applied += 1;
      if (applied > left) throw killed;
      return apply(...slice);
    };
    const kept = await rows.checkpoint();
    if (kept !== undefined) await mortal.keep(kept);
    const each = follow({}, mortal);
    const ended = await Promise.race([each.ended.catch((error: unknown) => error), each.applied('acme', position)]);
    rows = mortal;
    if (ended !== killed) break;
    left = 1;
  }
  expect(await dumpOf(rows, 'acme')).toEqual(await madeNow('acme', position));
});

test('a tenant that cannot keep up is read by itself, and then with the others again', async () => {
  await log.create('slow');
  await log.create('quick');
  let isSlow = true;
  const apply = rows.apply.bind(rows);
  rows.apply = async (tenant, slice) => {
    if (tenant !== 'slow' || slice.position <= 3 || !isSlow) return apply(tenant, slice);
    await wait(1);
    return false;
  };
  const started = follow({ readAhead: { all: 500, ofTenant: 100 } });
  await Promise.all([started.running('slow'), started.running('quick')]);
  let position = 0;
  for (let n = 0; n < 30; n += 1) position = await log.items('slow', 20);
  for (let n = 0; n < 30; n += 1) await started.applied('quick', await log.item('quick', `Item ${n}`));
  expect(rows.stored.get('slow')?.position).toBeLessThan(position);
  isSlow = false;
  await started.applied('slow', position);
  await started.applied('slow', await log.item('slow', 'Last'));
  expect(namesIn(rows, 'slow')).toHaveLength(601);
});

test('an event that cannot be applied parks its tenant alone; a retry and a start try it again', async () => {
  await log.create('acme');
  await log.create('other');
  const { slicesOf: failing, mend } = failingAt('Bad');
  const first = follow({ slicesOf: failing });
  const good = await log.item('acme', 'Good');
  const bad = await log.item('acme', 'Bad');
  await log.item('acme', 'Later');
  await first.parked('acme');
  await first.applied('other', await log.item('other', 'One'));
  const parked = { position: bad, eventType: 'RecordCreated', error: 'It is bad.' };
  expect(await rows.progress('acme')).toMatchObject({ state: 'parked', position: good, parked });
  expect(namesIn(rows, 'acme')).toEqual(['Good']);
  expect(first.follower.retry('acme')).toBe(true);
  await first.until(() => first.news.filter(({ kind }) => kind === 'parked').length === 2);
  expect(first.follower.retry('other')).toBe(false);
  await first.stop();
  expect(await rows.checkpoint()).toMatchObject({ position: await log.store.head() });

  const second = follow({ slicesOf: failing });
  await second.parked('acme');
  mend();
  expect(second.follower.retry('acme')).toBe(true);
  await second.running('acme');
  await second.applied('acme', await log.item('acme', 'Last'));
  expect(namesIn(rows, 'acme')).toEqual(['Good', 'Bad', 'Later', 'Last']);
  expect(await rows.progress('acme')).toMatchObject({ state: 'running' });
});

test('tenants whose rows are lost are filled by themselves, and not shown before', async () => {
  await log.create('acme');
  await log.create('gone');
  await log.create('other');
  for (let n = 0; n < 10; n += 1) await log.item('acme', `Item ${n}`);
  await log.delete('gone');
  const first = follow();
  await first.applied('acme', await log.item('acme', 'Last'));
  await first.running('acme');
  await first.running('other');
  await first.until(({ kind }) => kind === 'deleted');
  await first.stop();
  expect([...rows.stored.keys()]).toEqual(['acme', 'other']);
  await rows.remove('acme');

  const second = follow();
  await second.applied('acme', await log.item('acme', 'Found by its next event'));
  await second.running('acme');
  expect(second.news.filter(({ kind }) => kind === 'filling')).toEqual([{ kind: 'filling', tenant: 'acme' }]);
  expect(namesIn(rows, 'acme')).toHaveLength(12);
  expect([...rows.stored.keys()].sort()).toEqual(['acme', 'other']);
});

test('a tenant whose rows are lost again while it is read by itself is read from the beginning once more', async () => {
  await log.create('acme');
  for (let n = 0; n < 20; n += 1) await log.item('acme', `Item ${n}`);
  const position = await log.item('acme', 'Last');
  // Event by event, and slower than the look for what is lost.
  const { store } = log;
  const oneByOne: FollowerDeps['eventStore'] = {
    subscribe: (options) => store.subscribe({ ...options, maxCount: 1 }),
    readStream: store.readStream.bind(store),
    head: store.head.bind(store),
    identity: store.identity.bind(store),
    holds: store.holds.bind(store),
  };
  const slowly: FollowerDeps['slicesOf'] = async function* (tenant, events, store) {
    await wait(100);
    yield* slicesOf(tenant, events, store, { deliveryLogDays: 30 });
  };
  let losses = 0;
  rows.keep = async () => {
    losses += 1;
    if (losses > 2) return [];
    await rows.remove('acme');
    return [new RowsLostError('acme', 'They are gone.')];
  };
  const following = follow({ eventStore: oneByOne, slicesOf: slowly, readAhead: { all: 0, ofTenant: 0 } });
  await following.until((news) => news.kind === 'applied' && news.position === position && losses > 2);
  await following.running('acme');
  expect(namesIn(rows, 'acme')).toHaveLength(21);
});

test('a loss that is told of when the rows are filled already parks nobody', async () => {
  await log.create('acme');
  await log.item('acme', 'First');
  const following = follow();
  const position = await log.item('acme', 'Last');
  await following.until((news) => news.kind === 'applied' && news.position === position);
  const losses = [new RowsLostError('acme', 'They were gone.')];
  rows.keep = async () => losses.splice(0);
  const told = await following.until((news) => news.kind === 'filling' && news.reason === 'They were gone.');
  const since = () => following.news.slice(following.news.indexOf(told));
  const ended = await following.until((news) => since().includes(news) && /running|parked/.test(news.kind));
  expect(ended.kind).toBe('running');
  expect(namesIn(rows, 'acme')).toEqual(['First', 'Last']);
});

test('rows are rebuilt while they are read and written', async () => {
  await log.create('acme');
  for (let n = 0; n < 50; n += 1) await log.items('acme', 20);
  const started = follow();
  await started.running('acme');
  const before = rows.stored.get('acme');
  let position = 0;
  const writing = (async () => {
    for (let n = 0; n < 20; n += 1) position = await log.item('acme', `While rebuilt ${n}`);
  })();
  const seen: number[] = [];
  await rebuild(started.follower, 'acme', { ...nothing, onProgress: (done) => seen.push(done) });
  await writing;
  await started.applied('acme', position);
  expect(rows.stored.get('acme')).not.toBe(before);
  expect(await dumpOf(rows, 'acme')).toEqual(await madeNow('acme', position));
  expect(seen.length).toBeGreaterThan(0);
});

test('a rebuild ends the parking where the event can be applied, and changes nothing where it cannot', async () => {
  await log.create('acme');
  const { slicesOf: failing, mend } = failingAt('Bad');
  const started = follow({ slicesOf: failing });
  const position = await log.item('acme', 'Good');
  await log.item('acme', 'Bad');
  await started.parked('acme');
  await expect(rebuild(started.follower, 'acme', nothing)).rejects.toThrow('It is bad.');
  expect(await rows.progress('acme')).toMatchObject({ state: 'parked', position });
  mend();
  await rebuild(started.follower, 'acme', nothing);
  await started.applied('acme', await log.item('acme', 'Last'));
  expect(namesIn(rows, 'acme')).toEqual(['Good', 'Bad', 'Last']);
  expect(await rows.progress('acme')).toMatchObject({ state: 'running' });
});
