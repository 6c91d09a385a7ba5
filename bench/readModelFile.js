/** A file of read models with one table of places, for the benchmarks that measure it alone. */
import { performance } from 'node:perf_hooks';
import { v7 } from 'uuid';
import { transportModel } from '../dist/domain/assetTypes/transportModel.js';
import { place } from './places.js';

export const BATCH = 1000;
export const ref = { tenant: 'bench', table: 'dyn_location' };
export const at = (n) => `2026-11-21T03:11:47.${String(n % 1_000_000).padStart(6, '0')}Z`;

export async function defineTable(writer) {
  const location = transportModel.find(({ name }) => name === ref.table);
  await writer.begin();
  await writer.defineTable(ref, location);
  await writer.commit(new Map());
}

/** Fills up to `count`; returns the milliseconds of each batch of 1000. */
export async function fill(writer, from, count, ids) {
  const times = [];
  for (let n = from; n < count; n += BATCH) {
    const changes = [];
    for (let i = n; i < Math.min(count, n + BATCH); i++) {
      const id = v7();
      ids.push(id);
      changes.push({ kind: 'insert', id, at: at(i), batchId: 'first', fields: place(i) });
    }
    const start = performance.now();
    await writer.begin();
    await writer.applyToTable(ref, changes, { revision: n, at: at(n) });
    await writer.commit(new Map([['records', n + 1]]));
    times.push(performance.now() - start);
  }
  return times;
}
