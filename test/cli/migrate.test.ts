import { existsSync } from 'node:fs';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openEventStoreDb } from '#app/adapters/eventstore/eventstoredb/store.js';
import { openSqliteEventStore } from '#app/adapters/eventstore/sqlite/store.js';
import type { EventStore } from '#app/ports/eventStore.js';
import { event, events, storedSlices } from '../contract/eventStoreFixtures.js';
import { EventStoreDouble } from '../engines/eventStoreDouble.js';
import { Workplace } from './cli.js';

let workplace: Workplace;
let double: EventStoreDouble;
beforeEach(async () => {
  workplace = await Workplace.make();
  double = await EventStoreDouble.start();
});
afterEach(async () => {
  await workplace.remove();
  await double.kill();
});

const inDirectory = (name: string): Promise<EventStore> =>
  openSqliteEventStore({ file: join(workplace.directory, name, 'events.db') });

async function withLog<T>(log: EventStore, use: (log: EventStore) => Promise<T>): Promise<T> {
  try {
    return await use(log);
  } finally {
    await log.close();
  }
}

/** A data directory `data` with some streams: appends of one, of several, and a large one. */
async function makeSource(): Promise<void> {
  const { code } = await workplace.run(['tenant', 'create', 'acme', '--order-model', 'dyn_stock_order']);
  expect(code).toBe(0);
  await withLog(await inDirectory('data'), async (log) => {
    for (let n = 0; n < 40; n++) await log.append(`order-acme.${n % 7}`, events(1 + (n % 3)), 'any');
    await log.append(
      'table-acme.dyn_item',
      Array.from({ length: 5 }, () => event('é'.repeat(200_000))),
      'no-stream',
    );
    await log.append('order-acme.1', [event({ 10: 'ten', 9: 'nine', text: 'Łódź 🚚 \u0000' })], 'any');
  });
}

/** Every event of a log and the appends they came in, without positions. */
const contents = async (log: EventStore) =>
  (await storedSlices(log, { after: 0, maxCount: 1 }))
    .map((slice) => slice.events.map(({ position: _, ...rest }) => rest))
    .filter((append) => append.length > 0);

const migrate = (from: string, to: string) => workplace.run(['migrate', '--from', from, '--to', to]);

test('there and back: the same events in the same appends, with a proof', async () => {
  await makeSource();
  const there = await workplace.json(['migrate', '--from', 'data', '--to', double.url]);
  const back = await workplace.json(['migrate', '--from', double.url, '--to', 'back']);
  const original = await withLog(await inDirectory('data'), contents);
  expect(await withLog(await openEventStoreDb({ url: double.url }), contents)).toEqual(original);
  expect(await withLog(await inDirectory('back'), contents)).toEqual(original);
  const proof = {
    appends: original.length,
    events: original.flat().length,
    copied: original.flat().length,
    streams: new Set(original.flat().map(({ stream }) => stream)).size,
    sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
  };
  expect(there).toEqual({ from: 'data', to: double.url, ...proof });
  expect(back).toEqual({ ...Object(there), from: double.url, to: 'back' });
});

test('without a deleted tenant: of its streams only its own is copied; one that was not deleted is not left out', async () => {
  for (const name of ['acme', 'acme2'])
    await workplace.json(['tenant', 'create', name, '--order-model', 'dyn_stock_order']);
  const command = ['migrate', '--from', 'data', '--to', double.url, '--without', 'acme'];
  expect(await workplace.run(command)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('There is no deleted tenant acme'),
  });
  await workplace.json(['tenant', 'delete', 'acme', '--confirm', 'acme']);
  const original = (await withLog(await inDirectory('data'), contents)).flat();
  const kept = original.filter(({ stream }) => stream === 'tenant-acme' || !/-acme(\.|$)/.test(stream));
  expect(kept.length).toBeLessThan(original.length);
  expect(await workplace.json(command)).toMatchObject({ events: kept.length });
  expect((await withLog(await openEventStoreDb({ url: double.url }), contents)).flat().map(({ id }) => id)).toEqual(
    kept.map(({ id }) => id),
  );
});

test('a target that is not empty is refused, and nothing is written', async () => {
  await makeSource();
  const first = event();
  await withLog(await openEventStoreDb({ url: double.url }), (log) => log.append('order-b.1', [first], 'no-stream'));
  const held = double.log.records.length;
  expect(await migrate('data', double.url)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('The target is not empty: it has ThingHappened'),
  });
  expect(double.log.records).toHaveLength(held);
  const words = await migrate('data', 'copy');
  expect(words.stdout).toMatch(
    /^\d+ events copied from data to copy\.\nBoth hold \d+ events of \d+ appends in \d+ streams.*\n?.*SHA-256 of both: [0-9a-f]{64}\n$/s,
  );
  const { code, stderr } = await migrate('data', 'copy');
  expect(stderr).toContain('The target is not empty');
  expect(code).toBe(1);
  const nothing = await migrate('nothing', 'other');
  expect(nothing).toMatchObject({ code: 1, stderr: expect.stringContaining('no events.db') });
  expect(existsSync(join(workplace.directory, 'nothing'))).toBe(false);
  expect(await migrate('data', './data/')).toMatchObject({ code: 1, stderr: expect.stringContaining('same place') });
});

test('a password is neither taken from the command line nor printed', async () => {
  await makeSource();
  const url = double.url.replace('//', '//ops:changeit@');
  const refused = await migrate('data', url);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('write env:EVENTSTORE_URL') });
  expect(await migrate('data', 'env:TARGET')).toMatchObject({ code: 2 });
  const done = await workplace.run(['migrate', '--from', 'data', '--to', 'env:TARGET'], { TARGET: url });
  expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining(`from data to ${double.url}.`) });
  expect(done.stdout + done.stderr).not.toContain('changeit');
});

test('--erase: the copies on each engine have the same tree, and no erased value', async () => {
  const record = (name: string) => event({ id: 'r', fields: { name, country: 'NL' } }, 'RecordCreated');
  const [stream, fields] = ['table-acme.dyn_party', { name: 'erased' }];
  const erasure = { tenant: 'acme', table: 'dyn_party', id: 'r', stream, until: 0, fields };
  const { code } = await workplace.run(['tenant', 'create', 'acme', '--order-model', 'dyn_stock_order']);
  expect(code).toBe(0);
  await withLog(await inDirectory('data'), async (log) => {
    await log.append(stream, [record('Jansen')], 'no-stream');
    await log.append(stream, [record('Later')], 0);
    await log.append('log-erasures', [event(erasure, 'ErasureRecorded')], 'no-stream');
  });
  const { stdout: note } = await workplace.run(['audit', 'checkpoint']);
  await writeFile(join(workplace.directory, 'kept'), note);
  for (const [from, to] of [
    ['data', double.url],
    [double.url, 'back'],
    ['data', 'erased'],
  ] as const)
    expect(await workplace.run(['migrate', '--from', from, '--to', to, '--erase'])).toMatchObject({ code: 0 });
  const back = JSON.stringify(await withLog(await inDirectory('back'), contents));
  expect(JSON.stringify(await withLog(await openEventStoreDb({ url: double.url }), contents))).toBe(back);
  expect(back).not.toContain('Jansen');
  expect(back).toContain('Later');
  expect((await readFile(join(workplace.directory, 'erased', 'events.db'))).includes('Jansen')).toBe(false);
  for (const copy of ['back', 'erased']) {
    await cp(join(workplace.directory, 'data', 'keys'), join(workplace.directory, copy, 'keys'), { recursive: true });
    const verified = await workplace.run(['audit', 'verify', '--checkpoint', 'kept'], { DATA_DIR: copy });
    expect(verified).toMatchObject({ code: 0, stdout: expect.stringContaining('1 events have lost erased values') });
  }
});
