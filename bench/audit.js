/**
 * Pages of the activity at 10,000,000 entries, a year of a busy tenant, on the embedded engine. The entries are written into
 * the table itself, without its indexes, which are made afterwards: so it takes minutes. It needs some 7 GB of disk.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { openSqlite } from '../dist/adapters/openSqlite.js';
import { ActivityTable } from '../dist/adapters/readmodels/sqlite/activity.js';
import { LIVE } from '../dist/adapters/readmodels/sqlite/ddl.js';
import { openSqliteReadModels } from '../dist/adapters/readmodels/sqlite/store.js';
import { openSqliteReadModelWriter } from '../dist/adapters/readmodels/sqlite/write/writer.js';
import { note, p99 } from './figures.js';

const TENANT = 'bench';
const MOST_MS = 100;
const PAGES = 40;
const AT_ONCE = 50_000;
const YEAR_MS = 365 * 24 * 3_600_000;
const END = Date.parse('2026-11-21T00:00:00.000Z');

const ACTORS = 200;
const TABLES = 20;
const RECORDS = 1_000_000;
const ORDERS = 300_000;

const uuid = (group, n) => `0198c1f2-${String(group).padStart(4, '0')}-7000-8000-${String(n).padStart(12, '0')}`;
const iso = (milliseconds) => new Date(milliseconds).toISOString().replace('Z', '000Z');
/** A number that looks random, the same in each run. */
const scattered = (n, below) => (Math.imul(n + 1, 2_654_435_761) % below) >>> 0;

/** Most is done by one client to records; one entry in a hundred thousand is of a rare kind, table and actor. */
function entryOf(n, count) {
  const isRare = n % 100_000 === 7;
  const actor = isRare
    ? { kind: 'user', id: '7', name: 'Ada Bos' }
    : { kind: 'client', id: uuid(1, n % 5 < 3 ? 0 : scattered(n, ACTORS)), name: 'ERP' };
  const common = {
    at: iso(END - YEAR_MS + Math.floor((n / count) * YEAR_MS)),
    position: n + 1,
    revision: n,
    eventId: uuid(2, n),
    actor,
    correlationId: uuid(3, n),
    causationId: uuid(3, n),
  };
  if (isRare) return { ...common, kind: 'webhook.disabled', subject: { kind: 'webhook', id: uuid(4, n % 5) } };
  if (n % 4 === 0) {
    const orderId = uuid(5, scattered(n, ORDERS));
    const request = { method: 'PUT', path: `/api/v1/dynamic-assets/dyn/dyn_stock_order/assets/${orderId}` };
    return { ...common, kind: 'order.status_changed', table: 'dyn_stock_order', orderId, request };
  }
  const table = `dyn_table_${scattered(n, TABLES)}`;
  const id = uuid(6, scattered(n, RECORDS));
  const request = { method: 'PUT', path: `/api/v1/dynamic-assets/dyn/${table}/assets/${id}` };
  return { ...common, kind: 'record.changed', table, subject: { kind: 'record', id }, fields: ['name'], request };
}

async function fill(file, count) {
  await (await openSqliteReadModelWriter({ file })).close();
  const db = openSqlite(file);
  db.pragma('synchronous = OFF');
  db.pragma('cache_size = -400000');
  const indexes = db
    .prepare("SELECT name, sql FROM sqlite_master WHERE tbl_name = 'activity_entries' AND type = 'index'")
    .all();
  for (const { name } of indexes) db.exec(`DROP INDEX ${name}`);
  const table = new ActivityTable(db, LIVE);
  for (let from = 0; from < count; from += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, n) => entryOf(from + n, count));
    db.transaction(() => table.add(TENANT, some))();
  }
  for (const { sql } of indexes) db.exec(sql);
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
}

export async function measureAudit(directory, count) {
  const file = join(directory, 'readmodels.db');
  const start = performance.now();
  await fill(file, count);
  note(`${count} entries written`, `${((performance.now() - start) / 1000).toFixed(0)} s`);
  note('bytes of an entry, with its indexes', `${Math.round(statSync(file).size / count)}`);
  const readModels = await openSqliteReadModels({ file });
  const measure = async (name, queryOf) => {
    const times = [];
    let found = 0;
    for (let n = 0; n < PAGES; n++) {
      const query = { filters: {}, limit: 25, ...queryOf(n) };
      const began = performance.now();
      const { entries } = await readModels.activity(TENANT, query);
      times.push(performance.now() - began);
      found += entries.length;
    }
    p99(`${name} (${(found / PAGES).toFixed(1)} found)`, times, MOST_MS);
  };
  /** Somewhere among the entries. */
  const some = (n) => entryOf(Math.floor(((n + 0.5) / PAGES) * count), count);
  const before = (n) => ({ before: some(n) });
  // Starts the thread that answers.
  await readModels.activity(TENANT, { filters: {}, limit: 1 });
  try {
    await measure('the newest', () => ({}));
    await measure('behind a cursor anywhere', before);
    await measure('of a day', (n) => ({ to: some(n).at, from: iso(Date.parse(some(n).at) - 86_400_000) }));
    await measure('by the actor of most', (n) => ({ filters: { actor: uuid(1, 0) }, ...before(n) }));
    await measure('by an actor of some', (n) => ({ filters: { actor: uuid(1, n + 1) } }));
    await measure('by a rare actor', () => ({ filters: { actor: '7' } }));
    await measure('of the most frequent kind', (n) => ({ filters: { kind: 'record.changed' }, ...before(n) }));
    await measure('of a rare kind', () => ({ filters: { kind: 'webhook.disabled' } }));
    await measure('of a kind that there is not', () => ({ filters: { kind: 'user.added' } }));
    await measure('of a table', (n) => ({ filters: { table: `dyn_table_${n % TABLES}` }, ...before(n) }));
    await measure('of a record', (n) => ({
      filters: { subject: { kind: 'record', id: uuid(6, scattered(n, RECORDS)) } },
    }));
    await measure('of an order', (n) => ({ filters: { orderId: uuid(5, scattered(n * 4, ORDERS)) } }));
    await measure('of a request', (n) => ({ filters: { correlationId: some(n).correlationId } }));
    await measure('of kind, actor and table', (n) => ({
      filters: { kind: 'record.changed', actor: uuid(1, 0), table: `dyn_table_${n % TABLES}` },
      ...before(n),
    }));
    await measure('of frequent ones that nothing passes together', (n) => ({
      filters: { kind: 'order.status_changed', table: 'dyn_table_3' },
      ...before(n),
    }));
  } finally {
    await readModels.close();
  }
}
