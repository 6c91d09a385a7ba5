/** The sync sessions of a table that there were, read by clients and by people; and taking a whole one back (spec §4.8). */
import { z } from 'zod';
import { dataOf } from '../people.js';
import { ASSETS } from '../tenant.js';
import { useService } from '../useService.js';

const run = useService({ tenants: { acme: 'dyn_stock_order', other: 'dyn_stock_order' } });
const acme = () => run.tenant('acme');

const parties = (from: number, to: number, more: object = {}) =>
  Array.from({ length: to - from }, (_, n) => ({ external_id: `P${from + n}`, name: `Party ${from + n}`, ...more }));

const sync = z.looseObject({ id: z.string(), links: z.object({ operations: z.url() }) });
const page = z.strictObject({ data: z.array(sync), links: z.strictObject({ next: z.url().nullable() }) });

const get = (path: string, options = {}) => acme().send('GET', `${ASSETS}/${path}`, options);
const list = async (table: string, query = '') => page.parse((await get(`${table}/syncs`, { query })).body);
const undone = z.looseObject({
  restored: z.number(),
  deleted: z.number(),
  unchanged: z.number(),
  remaining: z.number(),
  next: z.string().nullable(),
});
/** All of it, one request after the other. @returns the sums, and the rest of the last answer */
const undo = async (table: string, id: unknown, query: Record<string, string> = {}) => {
  const sum = { restored: 0, deleted: 0, unchanged: 0 };
  for (let body = {}; ; ) {
    const answer = await acme().send('POST', `${ASSETS}/${table}/syncs/${id}/undo`, { body, query });
    expect(answer.status).toBe(200);
    const { next, ...counts } = dataOf(undone, answer);
    sum.restored += counts.restored;
    sum.deleted += counts.deleted;
    sum.unchanged += counts.unchanged;
    if (next === null) return { ...counts, ...sum };
    expect(counts.remaining).toBeGreaterThan(0);
    body = { after: next };
  }
};

/** A whole session of these batches. */
async function synchronized(table: string, batches: readonly (readonly object[])[]): Promise<string> {
  const id = await acme().sync(table);
  for (const items of batches) {
    await acme().batch(
      table,
      items.map((item) => ({ ...item, _batch_id: id })),
    );
  }
  await acme().commit(
    table,
    id,
    new Set(batches.flat().map((item) => ('external_id' in item ? item.external_id : ''))).size,
  );
  return id;
}

it('are listed, the newest first: when, by whom, what became of each, and what it has done', async () => {
  expect(await list('dyn_party')).toEqual({ data: [], links: { next: null } });
  const first = await synchronized('dyn_party', [parties(0, 10), parties(10, 15)]);
  const failed = await acme().sync('dyn_party');
  await acme().batch('dyn_party', parties(0, 2, { _batch_id: failed }));
  expect((await acme().postBatch('dyn_party', { items: [{ _batch_id: failed }] })).status).toBe(422);
  const left = await acme().sync('dyn_party');
  await acme().batch('dyn_party', [{ external_id: 'single', name: 'Without a session' }]);
  const second = await synchronized('dyn_party', [parties(2, 12), parties(0, 1, { notes: 'changed' })]);
  const open = await acme().sync('dyn_party');
  const { data, links } = await list('dyn_party');
  expect(links).toEqual({ next: null });
  const actor = { kind: 'client', id: acme().client.client_id, name: 'First API client' };
  const time = expect.stringMatching(/^2.*Z$/);
  const common = { actor, started_at: time, expires_at: time, ended_at: time, reason: null };
  const none = { deleted: 0 };
  const carried = { id: second, deleted: 5 };
  expect(data).toMatchObject([
    { ...common, ...none, id: open, status: 'started', ended_at: null, operation_id: null },
    { ...common, ...carried, status: 'committed', operation_id: expect.stringMatching(/^\d+$/) },
    { ...common, ...none, id: left, status: 'aborted', reason: 'Another sync was started.' },
    { ...common, ...none, id: failed, status: 'aborted', reason: expect.any(String) },
    { ...common, ...none, id: first, status: 'committed' },
  ]);
  const { pathname, search } = new URL(data[1]?.links.operations ?? '');
  const operations = await acme().send('GET', `${pathname}${search}`);
  expect(operations.body).toMatchObject({ data: [{ kind: 'clean_up' }, { updated: 1 }, { seen: 10 }] });
});

describe('by an admin, as an import of a file', () => {
  const table = 'dyn_unit_code';
  const ask = async (path: string, body: object = {}, query = '') => {
    const answer = await acme().platform('POST', `/tables/${table}${path}`, { body, query });
    return { status: answer.status, data: dataOf(z.looseObject({}), answer) };
  };
  const codes = async () => (await acme().list(table, { sort: 'code' })).data.map(({ code, value }) => [code, value]);

  it('checks rows, writes them, and ends with or without a clean-up; the whole is taken back', async () => {
    await acme().batch(table, [
      { code: 'BX', value: 'Box' },
      { code: 'KG', value: 'Kilo' },
    ]);
    const before = await codes();
    const row = (code: string, value: string, id?: unknown) => ({ code, value, ...(id ? { _batch_id: id } : {}) });
    const dry = await ask('/assets/batch', { items: [row('KG', 'Kilogram'), row('LT', 'Litre')] }, 'dry_run=true');
    expect(dry.data).toMatchObject({ created: 1, updated: 1, differences: [{ key: 'LT' }, { key: 'KG' }] });
    expect(await codes()).toEqual(before);

    const { id: kept } = (await ask('/syncs')).data;
    await ask('/assets/batch', { items: [row('KG', 'Kilogram', kept)] });
    expect((await ask(`/syncs/${kept}/commit`, { records: 1, clean_up: false })).data).toMatchObject({ deleted: 0 });
    expect(await codes()).toEqual([
      ['BX', 'Box'],
      ['KG', 'Kilogram'],
    ]);
    const shown = { id: kept, status: 'committed', deleted: 0, operation_id: null };
    expect((await list(table)).data[0]).toMatchObject(shown);

    const { id } = (await ask('/syncs')).data;
    const { operation_id: batch } = (await ask('/assets/batch', { items: [row('LT', 'Litre', id)] })).data;
    expect((await ask(`/syncs/${id}/commit`, { records: 1 })).data).toMatchObject({ deleted: 2 });
    expect(await codes()).toEqual([['LT', 'Litre']]);
    expect(await undo(table, id)).toMatchObject({ restored: 2, deleted: 1, remaining: 0 });
    expect((await ask(`/operations/${batch}/undo`)).data).toMatchObject({ restored: 0, deleted: 0 });
    expect((await ask(`/syncs/${kept}/undo`)).data).toMatchObject({ restored: 1 });
    expect(await codes()).toEqual(before);
  });
});

describe('taking a whole one back', () => {
  const table = 'dyn_party';
  const all = async () => {
    const { data } = await acme().list(table, { perPage: '1000', sort: 'external_id' });
    return data.map(({ created_at: _, updated_at: __, ...record }) => record);
  };

  it('brings the table to what it was: what the commit deleted, what the batches changed and created', async () => {
    await synchronized(table, [parties(0, 40, { notes: 'old' })]);
    const before = await all();
    const later = [
      parties(0, 10, { notes: 'new' }),
      parties(10, 25, { notes: 'old' }),
      parties(40, 43),
      parties(0, 2, { notes: 'newest' }),
    ];
    const id = await synchronized(table, later);
    const dry = await undo(table, id, { dry_run: 'true' });
    expect(dry).toMatchObject({ dry_run: true, restored: 40, deleted: 3, remaining: 0 });
    expect(await all()).not.toEqual(before);
    const counts = { restored: 42, deleted: 3, unchanged: 0, left: [], left_in_all: 0 };
    expect(await undo(table, id)).toMatchObject({ ...counts, remaining: 0 });
    expect(await all()).toEqual(before);
    expect(await undo(table, id)).toMatchObject({ restored: 0, deleted: 0 });
    expect(await all()).toEqual(before);
  });
});
