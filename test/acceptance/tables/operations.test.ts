/** What was done to a table by batches and clean-ups (spec §4.7, §4.8), or to a record by an admin, and taking it back. */
import { v7 as uuid } from 'uuid';
import { z } from 'zod';
import { MAX_SHORT_PAGE } from '#app/domain/limits.js';
import { dataOf } from '../people.js';
import { expectInvalid, expectRefused } from '../refusals.js';
import { ASSETS, type RequestOptions } from '../tenant.js';
import { useService } from '../useService.js';

const { acme, service, tenant } = useService({ tenants: { acme: 'dyn_stock_order', other: 'dyn_stock_order' } });

const parties = (from: number, to: number, more: object = {}) =>
  Array.from({ length: to - from }, (_, n) => ({ external_id: `P${from + n}`, name: `Party ${from + n}`, ...more }));
beforeAll(async () => {
  await acme().platform('PUT', '/tenant', { body: { clean_up_guard: null } });
});

beforeEach(async () => {
  await acme().cleanUp('dyn_party', 'nothing has this batch id');
});

describe('operations', () => {
  const other = () => tenant('other');
  const page = z.strictObject({
    data: z.array(z.looseObject({ operation_id: z.string(), kind: z.string() })),
    links: z.strictObject({ next: z.url().nullable() }),
  });
  const pageOf = async (query?: string) => {
    const answer = await other().getOperations('dyn_item', query === undefined ? {} : { query });
    expect(answer.status).toBe(200);
    return page.parse(answer.body);
  };
  const items = (count: number, more: object = {}) =>
    Array.from({ length: count }, (_, n) => ({ external_id: `I${n}`, name: `Item ${n}`, ...more }));

  it('names who did what and when, by the id that the answer had, the newest first, in pages', async () => {
    expect(await pageOf()).toEqual({ data: [], links: { next: null } });
    const one = await other().batch('dyn_item', items(3, { _batch_id: 'monday' }));
    await other().create('dyn_item', { external_id: 'single', name: 'No operation' });
    const two = await other().batch('dyn_item', [
      ...items(2, { _batch_id: 'tuesday' }),
      { external_id: 'I2', name: 'Changed', _batch_id: 'else' },
    ]);
    expect(await other().batch('dyn_item', items(2))).not.toHaveProperty('operation_id');
    const three = await other().cleanUp('dyn_item', 'typing error');
    expect((await other().postUndo('dyn_item', three.operation_id ?? '')).status).toBe(200);
    const { data } = await pageOf();
    const nothing = { created: 0, updated: 0, seen: 0, deleted: 0, undoes: null };
    const actor = { kind: 'client', id: other().client.client_id, name: 'First API client' };
    const by = { at: expect.any(String), actor };
    expect(data).toEqual([
      {
        ...nothing,
        ...by,
        operation_id: expect.any(String),
        kind: 'undo',
        batch_ids: expect.arrayContaining(['tuesday', 'else']),
        created: 4,
        undoes: three.operation_id,
      },
      {
        ...nothing,
        ...by,
        operation_id: three.operation_id,
        kind: 'clean_up',
        batch_ids: ['typing error'],
        deleted: 4,
      },
      {
        ...nothing,
        ...by,
        operation_id: two.operation_id,
        kind: 'batch',
        batch_ids: ['tuesday', 'else'],
        updated: 1,
        seen: 2,
      },
      { ...nothing, ...by, operation_id: one.operation_id, kind: 'batch', batch_ids: ['monday'], created: 3 },
    ]);
    for (let n = 0; n < MAX_SHORT_PAGE; n++) await other().batch('dyn_item', items(1, { _batch_id: `more ${n}` }));
    const first = await pageOf();
    expect(first.data).toHaveLength(MAX_SHORT_PAGE);
    const rest = await pageOf(new URL(first.links.next ?? '').search.slice(1));
    expect(rest).toEqual({ data, links: { next: null } });
  });

  it('are found by batch id; their links keep to that', async () => {
    expect((await pageOf('batch_id=monday')).data.map(({ kind }) => kind)).toEqual(['batch']);
    for (const wrong of ['kind=batch', 'batch_id=', 'batch_id=a&batch_id=b'])
      await expectRefused(service(), 400, () => other().getOperations('dyn_item', { query: wrong }));
  });
});

describe('a single record', () => {
  const page = (kind: object) => ({
    status: 200,
    body: { data: expect.arrayContaining([expect.objectContaining(kind)]) },
  });

  it('is added, changed as it was seen, and deleted by an admin; an undo of the deletion brings it back', async () => {
    const person = await acme().addPerson('admin');
    const ask = (method: string, path: string, more: RequestOptions = {}) =>
      acme().platform(method, `/tables/dyn_party/${path}`, { token: person, ...more });
    const made = await ask('POST', 'assets', { body: { external_id: 'P1', name: 'Party 1', notes: 'kept' } });
    expect(made.status).toBe(201);
    const { id } = dataOf(z.object({ id: z.string() }), made);
    const path = `assets/${id}`;
    const seen = String(made.headers.etag);
    const changed = await ask('PUT', path, { body: { name: 'Party One' }, headers: { 'if-match': seen } });
    expect(changed).toMatchObject({ status: 200, body: { data: { name: 'Party One', notes: 'kept' } } });
    for (const [method, body] of [['PUT', { name: 'X' }], ['DELETE']] as const)
      await expectRefused(service(), 412, () => ask(method, path, { body, headers: { 'if-match': seen } }));
    const token = await acme().addPerson('validator');
    for (const method of ['PUT', 'DELETE'])
      await expectRefused(service(), 403, () => ask(method, path, { body: method === 'PUT' ? {} : undefined, token }));
    const client = await expectRefused(service(), 405, () => acme().send('DELETE', `${ASSETS}/dyn_party/${path}`));
    expect(client.headers.allow).toBe('GET, HEAD, PUT');

    const since = z.object({ meta: z.object({ next_cursor: z.string() }) });
    const changes = (query = '') => acme().send('GET', `${ASSETS}/dyn_party/changes`, { query });
    const after = since.parse((await changes()).body).meta.next_cursor;
    const gone = await ask('DELETE', path, { headers: { 'if-match': String(changed.headers.etag) } });
    expect(gone).toMatchObject({ status: 204, text: '' });
    await expectRefused(service(), 404, () => ask('DELETE', path));
    await expectRefused(service(), 404, () => acme().getRecord('dyn_party', id));
    expect((await changes(`after=${after}`)).text).toContain(id);
    const history = await ask('GET', `${path}/history`);
    const entry = z.looseObject({ operation_id: z.string() });
    const [newest] = dataOf(z.array(z.unknown()), history);
    expect(newest).toMatchObject({ kind: 'record.deleted', change: 'delete', fields: { notes: { from: 'kept' } } });
    const { operation_id: operation } = entry.parse(newest);
    expect(await ask('GET', 'operations')).toMatchObject(
      page({ operation_id: operation, kind: 'deleted', deleted: 1 }),
    );
    const activity = await acme().platform('GET', '/activity', { query: { record_id: id } });
    expect(activity).toMatchObject(page({ kind: 'record.deleted', table: 'dyn_party', operation_id: operation }));

    expect(await ask('POST', `operations/${operation}/undo`)).toMatchObject({
      body: { data: { restored: 1, left: [] } },
    });
    expect(await acme().get('dyn_party', id)).toMatchObject({ external_id: 'P1', name: 'Party One', notes: 'kept' });
    // A key that comes back has its id, also where both wait together.
    const again = { external_id: 'P1', name: 'Came back' };
    const [, back] = await Promise.all([ask('DELETE', path), ask('POST', 'assets', { body: again })]);
    if (back.status === 422) await acme().create('dyn_party', again);
    expect(await acme().get('dyn_party', id)).toMatchObject(again);
  });
});

describe('undo', () => {
  const all = async () => (await acme().list('dyn_party', { perPage: '1000' })).data;
  const values = (records: Awaited<ReturnType<typeof all>>) =>
    new Map(records.map(({ created_at: _, updated_at: __, ...record }) => [record.id, record]));
  const mistyped = async () => {
    const { operation_id = '' } = await acme().cleanUp('dyn_party', 'a typing error');
    return operation_id;
  };
  const undo = async (operation: string, body?: object) => {
    const answer = await acme().postUndo('dyn_party', operation, { ...(body && { body }) });
    expect(answer.status).toBe(200);
    return dataOf(z.looseObject({ next: z.string().nullable() }), answer);
  };

  it('brings back what a mistyped clean-up deleted, with its ids, values and batch ids', async () => {
    await acme().batch('dyn_party', parties(0, 5, { _batch_id: 'monday', notes: 'kept' }));
    await acme().create('dyn_party', { external_id: 'by hand', name: 'Nowhere else' });
    const before = values(await all());
    const operation = await mistyped();
    expect(await all()).toEqual([]);
    expect(await undo(operation)).toEqual({
      message: expect.any(String),
      restored: 6,
      deleted: 0,
      left: [],
      next: null,
    });
    expect(values(await all())).toEqual(before);
    expect(await undo(operation)).toMatchObject({ restored: 0, left: [] });
    expect(await acme().cleanUp('dyn_party', 'monday')).toMatchObject({ deleted: 1 });
  });

  it('works after a synchronisation, too: what came back is left alone and told where it is not as it was', async () => {
    await acme().batch('dyn_party', parties(0, 6, { _batch_id: 'monday', notes: 'old' }));
    const before = new Map((await all()).map(({ external_id, id }) => [external_id, id]));
    const operation = await mistyped();
    await acme().batch('dyn_party', parties(0, 3, { _batch_id: 'tuesday', notes: 'new' }));
    await acme().create('dyn_party', { external_id: 'P3', name: 'X', id: uuid() });
    expect(await undo(operation)).toMatchObject({
      restored: 2,
      left: [
        ...[0, 1, 2].map((n) => ({ id: before.get(`P${n}`), key: `P${n}`, reason: 'changed' })),
        { id: before.get('P3'), key: 'P3', reason: 'key_taken' },
      ],
    });
    const notes = (await all()).map(({ external_id, notes }) => `${external_id} ${notes}`).sort();
    expect(notes).toEqual(['P0 new', 'P1 new', 'P2 new', 'P3 null', 'P4 old', 'P5 old']);
  });

  it('of a batch brings back values and deletes what it created; what changed since is told', async () => {
    await acme().batch('dyn_party', parties(0, 5, { _batch_id: 'monday', notes: 'old' }));
    const before = values(await all());
    const { operation_id: batch = '' } = await acme().batch('dyn_party', [
      ...parties(0, 3, { _batch_id: 'tuesday', notes: 'new' }),
      ...parties(3, 6, { _batch_id: 'tuesday', notes: 'old' }),
    ]);
    const [p0, p1] = [...before.values()];
    await acme().update('dyn_party', p0?.id ?? '', { notes: 'by hand' });
    const left = [{ id: p0?.id, key: 'P0', reason: 'changed' }];
    expect(await undo(batch)).toMatchObject({ restored: 2, deleted: 1, left, next: null });
    expect(await undo(batch)).toMatchObject({ restored: 0, deleted: 0, left });
    const now = values(await all());
    expect(now.size).toBe(5);
    expect(now.get(p1?.id ?? '')).toEqual(p1);
    const again = await acme().batch('dyn_party', parties(5, 6));
    expect(again).toMatchObject({ created: 1 });
    expect((await undo(again.operation_id ?? '')).deleted).toBe(1);
    const { body } = await acme().getOperations('dyn_party');
    const newest = expect.objectContaining({ kind: 'undo', deleted: 1, undoes: again.operation_id });
    expect(body).toMatchObject({ data: expect.arrayContaining([newest]) });
  });

  it('of a batch that fills several events is asked for by its first, and is of all of them', async () => {
    await acme().batch('dyn_party', parties(0, 200));
    const notes = 'n'.repeat(4_000);
    const { operation_id: batch = '' } = await acme().batch('dyn_party', parties(0, 400, { notes }));
    for (const part of [1, 2]) {
      const id = String(Number(batch) + part);
      await expectRefused(service(), 404, () => acme().postUndo('dyn_party', id, { body: {} }));
    }
    expect(await undo(batch)).toMatchObject({ restored: 200, deleted: 200 });
    expect((await all()).map((party) => party.notes)).toEqual(Array(200).fill(null));
  });

  it('is refused of what is neither, and on Master Data', async () => {
    await acme().create('dyn_party', { external_id: 'by hand', name: 'No operation' });
    const operation = await mistyped();
    const post = (table: string, id: string, body?: object) => () => acme().postUndo(table, id, { body: body ?? {} });
    for (const wrong of ['99999999', '-1', '01', 'x', '9'.repeat(30)]) {
      await expectRefused(service(), 404, post('dyn_party', wrong));
    }
    await expectRefused(service(), 404, post('dyn_party', String(Number(operation) - 1)));
    await expectRefused(service(), 400, post('dyn_stock_order', operation));
    await expectInvalid(service(), ['after'], post('dyn_party', operation, { after: 'x' }));
    await expectInvalid(service(), ['all'], post('dyn_party', operation, { all: true }));
    const token = await acme().token('read:reference_data');
    await expectRefused(service(), 403, () => acme().postUndo('dyn_party', operation, { token }));
  });
});
