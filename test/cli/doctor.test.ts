/** What the doctor finds, and that it finds nothing where all is well. */
import { chmod, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { openSqlite } from '#app/adapters/openSqlite.js';
import { EventStoreDouble } from '../engines/eventStoreDouble.js';
import { type Environment, Workplace } from './cli.js';

const finding = z.strictObject({ problem: z.string(), remedy: z.string().min(10) });
const report = z.strictObject({
  ok: z.boolean(),
  checks: z.array(z.strictObject({ check: z.string(), detail: z.string(), findings: z.array(finding) })),
});
const ALL = ['files', 'keys', 'disk', 'webhooks', 'event log', 'event types and secrets', 'rows', 'broker'];
const NETWORKS = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' };

let healthy: Workplace;
beforeAll(async () => {
  healthy = await Workplace.make();
  await healthy.json(['tenant', 'create', 'acme', '--order-model', 'dyn_stock_order']);
  await healthy.json(['webhook', 'create', '--tenant', 'acme', '--url', 'https://127.0.0.1/hook'], NETWORKS);
  const service = await healthy.start();
  await service.stop();
});
afterAll(() => healthy.remove());

let workplace: Workplace;
beforeEach(async () => {
  workplace = await healthy.copy();
});
afterEach(() => workplace.remove());

const data = (...path: string[]): string => join(workplace.directory, 'data', ...path);

/** Its problems, by their check. */
async function problems(environment: Environment = {}) {
  const { code, stdout, stderr } = await workplace.run(['doctor', '--json'], environment);
  expect(stderr).toBe('');
  const { ok, checks } = report.parse(JSON.parse(stdout));
  const found = checks.flatMap(({ check, findings }) => findings.map(({ problem }) => `${check}: ${problem}`));
  expect({ code, ok }).toEqual({ code: found.length === 0 ? 0 : 1, ok: found.length === 0 });
  return { found, names: checks.map(({ check }) => check) };
}

async function change(sql: string): Promise<void> {
  const db = openSqlite(data('events.db'));
  db.exec(sql);
  db.close();
}

test('where all is well it says so of each check, beside a running service as well', async () => {
  expect(await problems()).toEqual({ found: [], names: ALL });
  await workplace.start();
  expect(await problems()).toEqual({ found: [], names: ALL });
  const { code, stdout } = await workplace.run(['doctor']);
  expect(code).toBe(0);
  expect(stdout.split('\n').filter((line) => line.startsWith('ok '))).toHaveLength(ALL.length);
});

test('files', async () => {
  await chmod(data(), 0o755);
  expect((await problems()).found).toEqual([`files: Others could read or write ${data()}; now only its owner can.`]);
});

test('the key that seals secrets is not that of the log', async () => {
  await rm(data('keys', 'secrets.key'));
  expect((await problems()).found).toEqual([
    expect.stringMatching(/^event types and secrets: No key of this process opens the key that signs tokens/),
    expect.stringMatching(
      /^event types and secrets: No key opens the signing secret of webhook [\w-]+ of tenant acme\.$/,
    ),
  ]);
});

test.each<[string, string, readonly RegExp[]]>([
  [
    'an event that is missing in the middle',
    "DELETE FROM events WHERE revision = 0 AND stream_id = (SELECT stream_id FROM streams WHERE name = 'clients-acme')",
    [/^event log: Events are missing: 1 of \d+\.$/],
  ],
  [
    'an event that this release cannot read',
    "UPDATE event_types SET schema_version = 99 WHERE type = 'UserAdded'",
    [/^event types and secrets: The event log holds what .* UserAdded version 99/],
  ],
])('%s', async (_what, sql, expected) => {
  await workplace.json(['client', 'create', '--tenant', 'acme', '--name', 'Second']);
  await change(sql);
  const found = (await problems()).found.filter((problem) => !problem.startsWith('rows: '));
  expect(found).toEqual(expected.map((each) => expect.stringMatching(each)));
});

test('an index whose page was overwritten', async () => {
  const db = openSqlite(data('events.db'));
  db.pragma('wal_checkpoint(TRUNCATE)');
  const root = Number(db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'events_by_stream'").pluck().get());
  const size = Number(db.pragma('page_size', { simple: true }));
  db.close();
  const file = await open(data('events.db'), 'r+');
  await file.write(Buffer.alloc(size, 0x5a), 0, size, (root - 1) * size);
  await file.close();
  expect((await problems()).found.join('\n')).toMatch(/event log: SQLite says: /);
});

test('rows that stand still, since no service runs', async () => {
  await workplace.json(['tenant', 'create', 'later', '--order-model', 'dyn_stock_order']);
  expect((await problems()).found).toEqual([
    expect.stringMatching(/^rows: Rows stand still at position \d+, \d+ positions behind the log\.$/),
  ]);
});

test('an event store that takes less at once than a body may have', async () => {
  const double = await EventStoreDouble.start();
  const environment = { EVENTSTORE_URL: double.url, DATA_DIR: 'other' };
  const made = await workplace.run(['tenant', 'create', 'acme', '--order-model', 'dyn_stock_order'], environment);
  expect(made.code).toBe(0);
  const { length } = double.log.records;
  const ofSize = async () => (await problems(environment)).found.filter((each) => each.startsWith('append size'));
  expect(await ofSize()).toEqual([]);
  double.log.maxAppendSize = 1_048_576;
  expect(await ofSize()).toEqual([
    expect.stringMatching(/at most 1048576 bytes at once: send less in one request, or .* MaxAppendSize/),
  ]);
  expect(double.log.records).toHaveLength(length);
  await double.dispose();
});

test('an event store that is away; a log that is another one; no log at all', async () => {
  const double = await EventStoreDouble.start();
  const environment = { EVENTSTORE_URL: double.url };
  expect((await problems(environment)).found).toContainEqual(
    expect.stringMatching(/^event types and secrets: The event log at EVENTSTORE_URL is empty, and not the one/),
  );
  await double.dispose();
  expect((await problems(environment)).found.length).toBeGreaterThan(0);
  expect((await problems({ DATA_DIR: 'nowhere' })).found).toEqual([
    `event log: There is no ${join(workplace.directory, 'nowhere', 'events.db')}.`,
  ]);
});
