/**
 * Measures the embedded rows alone: writes, lists, what is asked of the past, and clean-ups.
 *
 *   node bench/rows.js [records = 150000] [directory to keep the rows in]
 */
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { openRowReads } from '../dist/adapters/rows/sqlite/reads.js';
import { openRowWriter } from '../dist/adapters/rows/sqlite/writer.js';
import { transportModel } from '../dist/domain/assetTypes/standardTables.js';
import { listCases } from './listCases.js';
import { place } from './places.js';

const RECORDS = Number(process.argv[2] ?? 150_000);
const directory = process.argv[3] ?? mkdtempSync(join(tmpdir(), 'rows-bench-'));
const isKept = process.argv[3] !== undefined;
const ref = { tenant: 'bench', space: 'dyn_location' };
const BATCH = 1_000;

const now = process.env.CPU ? () => cpu() : () => performance.now();
const quantile = (values, q) =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * q))];
/** Of all threads, in ms: on a machine that others use as well, it says more than the time that passed. */
const cpu = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};
const show = (label, values, unit = 'ms') =>
  console.log(
    `${label.padEnd(56)} p50 ${quantile(values, 0.5).toFixed(2).padStart(8)} ${unit}  p99 ${quantile(values, 0.99).toFixed(2).padStart(8)}  best ${Math.min(...values).toFixed(2)}`,
  );
const at = (n) => new Date(Date.UTC(2026, 0, 1) + n * 10).toISOString().replace('Z', '000Z');
const hex = (n, digits) => n.toString(16).padStart(digits, '0');
/** As UUIDs of version 7: in the order of creation, but for the last part. */
const idOf = (n) =>
  `${hex(0x019a0000 + (n >>> 8), 8)}-${hex(n & 0xff, 4)}-7000-8000-${hex((n * 2654435761) >>> 0, 12)}`;
const rowOf = (n, from, more = {}) => {
  const fields = { ...place(n), ...more };
  return { id: idOf(n), key: fields.external_id, from, created: at(n), updated: at(n), batch: 'first', fields };
};

const writer = openRowWriter({ directory });
const reads = openRowReads({ directory, readers: 2 });
let position = (await writer.progress(ref.tenant))?.position ?? 0;
async function apply(...writes) {
  position += 1;
  const start = now();
  while (!(await writer.apply(ref.tenant, { position, writes })));
  return now() - start;
}
const put = (row, was) => ({ kind: 'put', space: ref.space, row, was });
const times = async (count, work) => {
  const all = [];
  for (let i = 0; i < count; i += 1) {
    const start = now();
    await work(i);
    all.push(now() - start);
  }
  return all;
};
const page = (query) =>
  reads.page(ref, {
    conditions: [],
    sort: [{ field: 'n', direction: 'asc' }],
    offset: 0,
    limit: 25,
    withTotal: true,
    maxCharacters: 4e6,
    ...query,
  });

function asRows({ filters, sort, offset, limit }) {
  const complete = [
    ...sort,
    sort.length === 0 ? { field: 'n', direction: 'asc' } : { field: 'id', direction: sort.at(-1).direction },
  ];
  return { conditions: filters, sort: complete, offset, limit };
}

const fileSize = () =>
  readdirSync(directory).reduce(
    (sum, name) => sum + (existsSync(join(directory, name)) ? statSync(join(directory, name)).size : 0),
    0,
  );

if (position === 0) {
  await apply({
    kind: 'define',
    assetType: transportModel.find(({ name }) => name === ref.space) ?? transportModel[0],
  });
  const filled = [];
  for (let n = 0; n < RECORDS; n += BATCH)
    filled.push(await apply(...Array.from({ length: BATCH }, (_, i) => put(rowOf(n + i, position + 1)))));
  show('batch of 1,000 new, without indexes, the last 100', filled.slice(-100));
  console.log(`filled at ${Math.round((RECORDS * 1000) / filled.reduce((a, b) => a + b, 0))} rows a second`);
}

const idle = async () => {
  for (let quiet = 0; quiet < 5; ) {
    const start = performance.now();
    const { state } = await page({ limit: 0, withTotal: false });
    quiet = state !== undefined && performance.now() - start < 5 ? quiet + 1 : 0;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
};

const only = process.env.ONLY;
const measure = async (label, work) => {
  if (only === undefined || label.includes(only)) await work(label);
};

await measure('lists', async () => {
  for (const round of ['without indexes', 'with indexes']) {
    console.log(`\n== lists ${round}`);
    for (const [label, cases] of Object.entries(listCases(RECORDS))) {
      const all = [];
      for (let i = 0; i < (round === 'without indexes' ? 1 : Math.max(1, Math.ceil(40 / cases.length))); i += 1) {
        // A touched row is another state for what was found before; a changed one drops it.
        if (i % 2 === 0) await apply(put(rowOf(1, position + 1, { name: `Changed ${position}` })));
        for (const query of cases) {
          const start = now();
          await page(asRows(query));
          const took = now() - start;
          all.push(took);
          if (process.env.SLOWEST && took > Number(process.env.SLOWEST))
            console.log('   ', took.toFixed(0), JSON.stringify(query).slice(0, 200));
        }
      }
      show(label, all);
    }
    const start = now();
    await idle();
    console.log(
      `indexes made after ${((now() - start) / 1000).toFixed(1)} s more; files ${(fileSize() / 1e6).toFixed(0)} MB`,
    );
  }
});

await measure('points', async () => {
  show(
    'get by id',
    (await times(3000, (i) => reads.rows(ref, { ids: [idOf((i * 7919) % RECORDS)], keys: [] }))).map((t) => t * 1000),
    'µs',
  );
  show(
    'snapshot of 1,000 keys',
    await times(20, (i) =>
      writer.rows(ref, {
        ids: [],
        keys: Array.from({ length: 1000 }, (_, k) => place((i * 1000 + k) % RECORDS).external_id),
        withFormerIds: true,
      }),
    ),
  );
  show(
    'outsideBatch, count only',
    await times(20, () =>
      page({
        limit: 0,
        sort: [{ field: 'n', direction: 'asc' }],
        conditions: [{ kind: 'outsideBatch', batch: 'first' }],
      }),
    ),
  );
});

await measure('writes', async () => {
  const batches = async (label, work) => {
    const all = [];
    for (let i = 0; i < 20; i += 1) all.push(await apply(...work(i)));
    show(label, all);
  };
  const first = 2_000_000 + position * 1_000;
  await batches('batch of 1,000 new', (i) =>
    Array.from({ length: BATCH }, (_, k) => put(rowOf(first + i * BATCH + k, position + 1))),
  );
  await batches('batch of 1,000 unchanged', (i) => [
    {
      kind: 'touch',
      space: ref.space,
      ids: Array.from({ length: BATCH }, (_, k) => idOf((i * BATCH + k) % RECORDS)),
      batch: `seen ${position}`,
    },
  ]);
  await batches('batch of 1,000 changed', (i) =>
    Array.from({ length: BATCH }, (_, k) => {
      const n = (i * BATCH + k) % RECORDS;
      return put(rowOf(n, position + 1, { city_name: `City ${position} ${n}` }), rowOf(n, 2));
    }),
  );
  const ones = [];
  for (let i = 0; i < 500; i += 1) ones.push((await apply(put(rowOf(first + 100_000 + i, position + 1)))) * 1000);
  show('create one', ones, 'µs');
  const changes = [];
  for (let i = 0; i < 500; i += 1)
    changes.push(
      (await apply(put(rowOf(i + 30_000, position + 1, { city_name: `x${position}` }), rowOf(i + 30_000, 2)))) * 1000,
    );
  show('update one', changes, 'µs');
});

await measure('past', async () => {
  const last = { direction: 'asc', limit: 1000, withTotal: false };
  show('history of one', await times(200, (i) => reads.versions(ref, { id: idOf(i), ...last, direction: 'desc' })));
  show('1,000 changes', await times(20, () => reads.versions(ref, { ended: [0, position], ...last })));
  show('1,000 begun', await times(20, () => reads.versions(ref, { begun: [0, position], ...last })));
  const then = position - 200;
  for (const sort of ['name', 'city_name', 'created_at'])
    show(
      `at=, sorted by ${sort}, with total`,
      await times(3, () => page({ at: then, sort: [sort, 'id'].map((field) => ({ field, direction: 'asc' })) })),
    );
  show(
    'at=, filter of 3+',
    await times(3, () =>
      page({
        at: then,
        conditions: [{ kind: 'contains', field: 'name', anyOf: ['san'] }],
        sort: [{ field: 'n', direction: 'asc' }],
      }),
    ),
  );
});

await measure('clean-up', async () => {
  for (const share of [100, 2]) {
    const kept = Array.from({ length: RECORDS }, (_, n) => n).filter((n) =>
      share === 100 ? n % 100 !== 0 : n % 2 === 0,
    );
    const batch = `kept ${position}`;
    for (let i = 0; i < kept.length; i += BATCH)
      await apply({ kind: 'touch', space: ref.space, ids: kept.slice(i, i + BATCH).map(idOf), batch }).catch(() => 0);
    const { state } = await page({ limit: 0 });
    const took = await apply({ kind: 'cleanUp', space: ref.space, batch, to: position + 1 });
    const left = (await page({ limit: 0 })).state.rows;
    console.log(
      `clean-up of 1/${share}: ${state.rows - left} rows in ${took.toFixed(0)} ms, ${Math.round(((state.rows - left) * 1000) / took)} a second`,
    );
  }
});

console.log(`resident ${(process.memoryUsage().rss / 1e6).toFixed(0)} MB; files ${(fileSize() / 1e6).toFixed(0)} MB`);
await reads.close();
await writer.close();
if (!isKept) rmSync(directory, { recursive: true });
