import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { openSqlite } from '#app/adapters/openSqlite.js';
import { beginImmediate } from '#app/adapters/readmodels/sqlite/write/transactions.js';
import { upsertBatch } from '#app/commands/referenceTables/synchronize.js';
import { ENTRY } from '../engines/commandLine.js';
import { type Inside, openInside, openTenant } from '../projections/harness.js';
import { Workplace } from './cli.js';

let inside: Inside;
let workplace: Workplace;

beforeEach(async () => {
  workplace = await Workplace.make();
  inside = await openInside();
  await openTenant(inside, 'acme');
  await sync(0, 20);
});
afterEach(async () => {
  await inside.close();
  await workplace.remove();
});

async function sync(from: number, count: number): Promise<void> {
  const items = Array.from({ length: count }, (_, n) => ({ external_id: `p${from + n}`, name: `Party ${from + n}` }));
  await upsertBatch(inside.commands, inside.caller('acme'), inside.assetType('acme', 'dyn_party'), { items });
  await inside.caughtUp();
}

const settings = () => ({ DATA_DIR: inside.directoryPath });
const run = (...args: string[]) => workplace.run(['projections', ...args], settings());
const readModels = () => openSqlite(join(inside.directoryPath, 'readmodels.db'));

it.each([
  [['rebuild', '--projection', 'record'], /Allowed choices are records, order_history, deliveries, activity/],
  [['rebuild', '--tenant', 'acne'], /^There is no tenant acne\. There is: acme\.\n$/],
  [['rebuild', '--tenant', 'acme', '--table', 'dyn_prty'], / in tenant acme\. There is: dyn_party, dyn_item, /],
  [['rebuild', '--table', 'dyn_party'], /^--table needs --tenant/],
  [['verify', '--tenant', 'acne'], /^There is no tenant acne\. There is: acme\.\n$/],
  [['rebuild', '--tenant', 'acme', '--table', 'dyn_party', '--projection', 'deliveries'], /^--table goes with/],
])('what is not there is named, with what there is, and ends with 2: %j', async (args, message) => {
  const { code, stdout, stderr } = await run(...args);
  expect(stderr).toMatch(message);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
});

it('a rebuild says how many events and records it has applied; the list says how far each projection is', async () => {
  const { stdout } = await run('rebuild', '--tenant', 'acme', '--table', 'dyn_party');
  expect(stdout).toMatch(/^records of acme\/dyn_party: 2 events with 20 records in [\d.]+ s, in place now\.\n$/);
  const names = ['records', 'order_history', 'deliveries', 'activity'];
  const reports = await workplace.json(['projections', 'rebuild'], settings());
  expect(reports).toMatchObject(names.map((projection) => ({ projection, behind: 0 })));
  const shown = { head: expect.any(Number), behind: 0, parked: [], tenantsBehind: { names: [], isAll: true } };
  expect(await workplace.json(['projections', 'list'], settings())).toMatchObject(
    names.map((name) => ({ name, ...shown })),
  );
});

describe('verify', () => {
  it('says that what is served is equal to the log, while the service goes on', async () => {
    const { code, stdout } = await run('verify');
    expect(stdout).toMatch(/^records: equal to the log, at position \d+; 20 records in \d+ tables, [\d.]+ s\.\n/);
    expect(stdout).toMatch(/\norder_history: equal to the log.*\ndeliveries: equal to the log/);
    expect(code).toBe(0);
  });

  it('names each entry that is gone from an index, with its record, and ends with 1', async () => {
    await sync(20, 1_000);
    const db = readModels();
    const find = "SELECT id FROM catalog WHERE tenant = 'acme' AND name = 'dyn_party' AND copy = 0";
    const table = db.prepare<[], number>(find).pluck().get();
    db.exec(`DELETE FROM r${table}_t0 WHERE rowid BETWEEN 3 AND 12`);
    db.close();
    const { code, stdout } = await run('verify', '--tenant', 'acme', '--table', 'dyn_party');
    expect(code).toBe(1);
    expect(stdout).toMatch(/^records of acme\/dyn_party: 10 differences from the log, at position \d+;/);
    const line = new RegExp(`^  records/acme/dyn_party, r${table}_t0, [0-9a-f-]{36}: missing\\. .+$`, 'gm');
    expect(stdout.match(line)).toHaveLength(10);

    const result = await workplace.run(['projections', 'verify', '--tenant', 'acme', '--json'], settings());
    const counts = { projection: 'records', tenant: 'acme', records: 1_020, differences: 10 };
    const first = { projection: 'records', tenant: 'acme', table: 'dyn_party', place: `r${table}_t0`, kind: 'missing' };
    expect(JSON.parse(result.stdout)).toMatchObject({
      equal: false,
      more: 0,
      projections: expect.arrayContaining([expect.objectContaining(counts)]),
      differences: Array(10).fill(first),
    });
    // A rebuild puts it right.
    expect(await run('rebuild', '--tenant', 'acme', '--table', 'dyn_party')).toMatchObject({ code: 0 });
    expect(await run('verify', '--tenant', 'acme')).toMatchObject({ code: 0 });
  });
});

describe.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s', (signal, exitCode) => {
  it('stops a rebuild, which says so, and the next one begins at once', async () => {
    for (let from = 20; from < 5_000; from += 500) await sync(from, 500);
    const db = readModels();
    const child = spawn(process.execPath, [ENTRY, 'projections', 'rebuild'], {
      env: { PATH: process.env.PATH ?? '', ...settings() },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const stderr = textOf(child);
    const ended = once(child, 'exit');
    const begun = db.prepare<[], number>('SELECT count(*) FROM rebuilds').pluck();
    while (begun.get() === 0) await wait(1);
    // From here on the rebuild waits for its next slice.
    await beginImmediate(db);
    child.kill(signal);
    while (!stderr().includes('Stopping')) await wait(10);
    db.exec('COMMIT');
    expect(await ended).toEqual([exitCode, null]);
    expect(stderr()).toContain(`Stopped by ${signal}. Unchanged: records, order_history, deliveries, activity.`);
    expect(begun.get()).toBe(0);
    expect(db.prepare('SELECT count(*) FROM catalog WHERE copy <> 0').pluck().get()).toBe(0);
    db.close();
    expect(await run('rebuild')).toMatchObject({ code: 0 });
  });
});

/** What the process has written on standard error so far. */
function textOf(child: ChildProcess): () => string {
  let text = '';
  child.stderr?.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  return () => text;
}
