/** Clean-up, and the synchronisation it ends (spec §4.8). */
import { v7 as uuid } from 'uuid';
import { z } from 'zod';
import { itOfRequests } from '../../onProductionEngines/repetition.js';
import { dataOf } from '../people.js';
import { expectInvalid, expectRefused } from '../refusals.js';
import { useService } from '../useService.js';

const run = useService({ tenants: { acme: 'dyn_stock_order', other: 'dyn_stock_order' } });
const acme = () => run.tenant('acme');

const parties = (from: number, to: number, more: object = {}) =>
  Array.from({ length: to - from }, (_, n) => ({ external_id: `P${from + n}`, name: `Party ${from + n}`, ...more }));
const keys = async (table = 'dyn_party') =>
  (await acme().list(table, { perPage: '1000' })).data.map((record) => record.external_id);

const guardOfAcme = (max_percent: unknown) =>
  acme().platform('PUT', '/tenant/clean-up-guard', { body: { max_percent } });

beforeAll(async () => {
  await guardOfAcme(null);
});

beforeEach(async () => {
  await acme().cleanUp('dyn_party', 'nothing has this batch id');
});

it('§4.8: deletes every record whose _batch_id does not match, and says how many', async () => {
  await acme().batch('dyn_party', parties(0, 300, { _batch_id: 'old' }));
  await acme().batch('dyn_party', parties(200, 250, { _batch_id: 'new' }));
  const answer = await acme().postCleanUp('dyn_party', { batch_id: 'new' });
  expect(answer).toMatchObject({ status: 200, body: { data: { message: expect.any(String), deleted: 250 } } });
  expect(await keys()).toEqual(parties(200, 250).map(({ external_id }) => external_id));
  expect((await acme().getList('dyn_party')).text).not.toContain('_batch_id');
});

it('§4.8, decision: records without a _batch_id do not match, and go as well', async () => {
  const created = await acme().create('dyn_party', { external_id: 'by hand', name: 'Created' });
  await acme().batch('dyn_party', [...parties(0, 3), ...parties(3, 6, { _batch_id: null })]);
  await acme().batch('dyn_party', parties(6, 8, { _batch_id: 'sync' }));
  expect(await acme().cleanUp('dyn_party', 'sync')).toMatchObject({ deleted: 7 });
  expect(await keys()).toEqual(['P6', 'P7']);
  await expectRefused(run.service, 404, () => acme().getRecord('dyn_party', created.id));
  await expectRefused(run.service, 404, () => acme().putRecord('dyn_party', created.id, { name: 'X' }));
});

it('§4.8: the synchronisation workflow leaves exactly the records of that synchronisation', async () => {
  const sync = async (id: string, from: number, to: number) => {
    for (let at = from; at < to; at += 400) {
      await acme().batch('dyn_party', parties(at, Math.min(at + 400, to), { _batch_id: id, notes: 'synced' }));
    }
    return acme().cleanUp('dyn_party', id);
  };
  expect(await sync('monday', 0, 1500)).toMatchObject({ deleted: 0 });
  const before = (await acme().list('dyn_party', { 'filter[external_id]': 'P1234' })).data[0];
  await acme().create('dyn_party', { external_id: 'stray', name: 'Not in the external system' });
  expect(await sync('tuesday', 700, 2100)).toMatchObject({ deleted: 701 });
  expect((await acme().list('dyn_party')).meta.total).toBe(1400);
  expect((await acme().list('dyn_party', { 'filter[external_id]': 'P1234' })).data[0]).toEqual(before);
  expect(await acme().cleanUp('dyn_party', 'tuesday')).toMatchObject({ deleted: 0 });
});

it('§4.8: an update by PUT keeps the _batch_id of a record', async () => {
  await acme().batch('dyn_party', parties(0, 2, { _batch_id: 'sync' }));
  const [one] = (await acme().list('dyn_party')).data;
  await acme().update('dyn_party', one?.id ?? '', { name: 'Renamed' });
  expect(await acme().cleanUp('dyn_party', 'sync')).toMatchObject({ deleted: 0 });
});

it('§4.8: the batch ids are compared exactly', async () => {
  await acme().batch('dyn_party', parties(0, 1, { _batch_id: 'Sync' }));
  await acme().batch('dyn_party', parties(1, 2, { _batch_id: 'sync ' }));
  await acme().batch('dyn_party', parties(2, 3, { _batch_id: 'sync' }));
  await acme().batch('dyn_party', parties(3, 4, { _batch_id: '%' }));
  await acme().batch('dyn_party', parties(4, 5, { _batch_id: 'SYNC' }));
  expect(await acme().cleanUp('dyn_party', 'sync')).toMatchObject({ deleted: 4 });
  expect(await keys()).toEqual(['P2']);
});

it('§4.8: a wrong batch_id deletes everything', async () => {
  await acme().batch('dyn_party', parties(0, 10, { _batch_id: 'sync' }));
  expect(await acme().cleanUp('dyn_party', 'snyc')).toMatchObject({ deleted: 10 });
  expect(await keys()).toEqual([]);
});

it('additive: ?dry_run=true counts what a clean-up would delete, and deletes nothing', async () => {
  await acme().batch('dyn_party', parties(0, 3, { _batch_id: 'sync' }));
  const before = await run.service.logHead();
  const answer = await acme().postCleanUp('dyn_party', { batch_id: 'other' }, { query: { dry_run: 'true' } });
  expect(answer).toMatchObject({ status: 200, body: { data: { deleted: 3, dry_run: true } } });
  const [first] = (await acme().list('dyn_party')).data;
  expect(answer.body).toMatchObject({
    data: {
      differences: [
        { change: 'delete', id: first?.id, key: 'P0', fields: { name: { from: 'Party 0', to: null } } },
        { change: 'delete', key: 'P1' },
        { change: 'delete', key: 'P2' },
      ],
    },
  });
  expect(await run.service.logHead()).toBe(before);
  expect((await acme().list('dyn_party')).meta.total).toBe(3);
});

it('additive: `confirm` names how many records are to be deleted, and with another number nothing is', async () => {
  await acme().batch('dyn_party', parties(0, 3, { _batch_id: 'sync' }));
  for (const confirm of [2, 4, -1, '3', null]) {
    await expectInvalid(run.service, ['confirm'], () => acme().postCleanUp('dyn_party', { batch_id: 'x', confirm }));
  }
  const confirmed = await acme().postCleanUp('dyn_party', { batch_id: 'x', confirm: 3 });
  expect(confirmed).toMatchObject({ status: 200, body: { data: { deleted: 3 } } });
});

it('additive: a guarded tenant confirms what deletes much, or everything; a dry run says how many it is', async () => {
  const guard = guardOfAcme;
  await expectInvalid(run.service, ['max_percent'], () => guard(101));
  expect(await guard(20)).toMatchObject({ status: 200, body: { data: { clean_up_guard: { max_percent: 20 } } } });
  try {
    await acme().batch('dyn_party', parties(0, 10, { _batch_id: 'monday' }));
    await acme().batch('dyn_party', parties(0, 7, { _batch_id: 'tuesday' }));
    const typo = await expectInvalid(run.service, ['batch_id'], () =>
      acme().postCleanUp('dyn_party', { batch_id: 'tusday' }),
    );
    expect(typo.text).toContain('all 10 records');
    await expectInvalid(run.service, ['confirm'], () => acme().postCleanUp('dyn_party', { batch_id: 'tuesday' }));
    const dry = await acme().postCleanUp('dyn_party', { batch_id: 'tuesday' }, { query: { dry_run: 'true' } });
    expect(dry).toMatchObject({ status: 200, body: { data: { deleted: 3, dry_run: true } } });
    expect((await acme().list('dyn_party')).meta.total).toBe(10);
    const confirmed = await acme().postCleanUp('dyn_party', { batch_id: 'tuesday', confirm: 3 });
    expect(confirmed).toMatchObject({ status: 200, body: { data: { deleted: 3 } } });
    await acme().batch('dyn_party', parties(0, 6, { _batch_id: 'wednesday' }));
    expect(await acme().cleanUp('dyn_party', 'wednesday')).toMatchObject({ deleted: 1 });
  } finally {
    expect(await guard(null)).toMatchObject({ status: 200, body: { data: { clean_up_guard: null } } });
  }
  expect(await acme().cleanUp('dyn_party', 'any')).toMatchObject({ deleted: 6 });
});

describe('§4.8: a tenant that is new', () => {
  const fresh = () => run.tenant('other');

  it('deletes all that does not match, whatever the share, and is offered a guard by its first sync session', async () => {
    expect(await fresh().startSync('dyn_party')).toMatchObject({
      body: { data: { advice: expect.stringContaining('guard') } },
    });
    await fresh().batch('dyn_party', parties(0, 301));
    await fresh().batch('dyn_party', parties(0, 100, { _batch_id: 'tuesday' }));
    expect(await fresh().cleanUp('dyn_party', 'tuesday')).toMatchObject({ deleted: 201 });
    expect(await fresh().cleanUp('dyn_party', 'none')).toMatchObject({ deleted: 100 });
    expect(await fresh().startSync('dyn_party')).not.toHaveProperty('body.data.advice');
  });

  it('has a guard when it sets one: more than 100 records and half of the table are confirmed', async () => {
    const guard = (...options: string[]) => run.service.cli('tenant', 'clean-up-guard', fresh().name, ...options);
    expect(await guard('--max-percent', '50', '--min-records', '100')).toMatchObject({ code: 0 });
    await fresh().batch('dyn_party', parties(0, 101));
    await fresh().batch('dyn_party', parties(101, 201, { _batch_id: 'first' }));
    const refused = await expectInvalid(run.service, ['confirm'], () =>
      fresh().postCleanUp('dyn_party', { batch_id: 'first' }),
    );
    expect(refused.text).toContain('101 of 201 records, more than 50 percent');
    expect(refused.text).toContain('send \\"confirm\\": 101');
    const dry = await fresh().postCleanUp('dyn_party', { batch_id: 'first' }, { query: { dry_run: 'true' } });
    expect(dry).toMatchObject({ body: { data: { deleted: 101 } } });
    await expectInvalid(run.service, ['batch_id'], () => fresh().postCleanUp('dyn_party', { batch_id: 'frist' }));
    const id = await fresh().sync('dyn_party');
    await fresh().batch('dyn_party', parties(101, 199, { _batch_id: id }));
    const commit = (more: object) => fresh().commitSync('dyn_party', id, { body: { records: 98, ...more } });
    await expectInvalid(run.service, ['confirm'], () => commit({}));
    expect(await commit({ confirm: 103 })).toMatchObject({ status: 200, body: { data: { deleted: 103 } } });
    expect(await guard('--off')).toMatchObject({ code: 0 });
    expect(await fresh().cleanUp('dyn_party', 'none')).toMatchObject({ deleted: 98 });
  });
});

describe('operations', () => {
  const other = () => run.tenant('other');
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
    for (let n = 0; n < 25; n++) await other().batch('dyn_item', items(1, { _batch_id: `more ${n}` }));
    const first = await pageOf();
    expect(first.data).toHaveLength(25);
    const rest = await pageOf(new URL(first.links.next ?? '').search.slice(1));
    expect(rest).toEqual({ data, links: { next: null } });
  });

  it('are found by time, kind, batch id and who did it, by name as well; their links keep to that', async () => {
    const { data } = await pageOf('kind=clean_up');
    expect(data).toMatchObject([{ kind: 'clean_up', batch_ids: ['typing error'] }]);
    const [{ at = '' }] = z.tuple([z.looseObject({ at: z.string() })]).parse(data);
    const kinds = async (query: string) => (await pageOf(query)).data.map(({ kind }) => kind);
    expect(await kinds(`from=${at}&to=${at}`)).toEqual(['clean_up']);
    expect(await kinds(`to=${at}`)).toEqual(['clean_up', 'batch', 'batch']);
    expect(await kinds(`from=${at}&kind=undo`)).toEqual(['undo']);
    expect(await kinds(`from=${at}&batch_id=monday`)).toEqual([]);
    expect(await kinds(`to=${at}&kind=undo`)).toEqual([]);
    expect(await kinds(`from=${at.slice(0, 10)}&to=${at.slice(0, 10)}&kind=clean_up`)).toEqual(['clean_up']);
    expect(await kinds('to=2020-01-01')).toEqual([]);
    expect(await kinds('batch_id=monday')).toEqual(['batch']);
    for (const actor of [other().client.client_id, 'First API client', 'first api CLIENT']) {
      expect(await kinds(`kind=clean_up&actor=${encodeURIComponent(actor)}`)).toEqual(['clean_up']);
    }
    expect(await kinds('actor=nobody')).toEqual([]);
    const first = await pageOf('kind=batch');
    expect(first.data).toHaveLength(25);
    const next = new URL(first.links.next ?? '').search.slice(1);
    expect(next).toContain('kind=batch');
    expect(await kinds(next)).toEqual(['batch', 'batch']);
    for (const wrong of ['from=yesterday', 'to=2026-13-01', 'kind=sync', 'actor=', 'from=2026-01-01&from=2026-01-02']) {
      await expectRefused(run.service, 400, () => other().getOperations('dyn_item', { query: wrong }));
    }
  });

  it('are read by everybody who signs in, an auditor too, and keep the names of clients and users that are removed', async () => {
    const admin = await other().signIn();
    const body = { name: 'Night job', scopes: ['write:reference_data'] };
    const made = await other().platformData('POST', '/api-clients', body);
    const client = z.looseObject({ client_id: z.string(), client_secret: z.string() }).parse(made);
    const { client_id, client_secret } = client;
    const granted = await other().requestToken({ grant_type: 'client_credentials', client_id, client_secret });
    const { access_token: token } = z.looseObject({ access_token: z.string() }).parse(granted.body);
    await other().postBatch('dyn_unit_code', { items: [{ code: 'PCE', value: 'Piece' }] }, { token });
    expect((await other().platform('DELETE', `/api-clients/${client_id}`)).status).toBe(204);
    const auditor = await other().addPerson('auditor');
    for (const session of [admin, auditor]) {
      for (const query of ['', `actor=${client_id}`, 'actor=night+job', 'kind=batch']) {
        const seen = await other().platform('GET', '/tables/dyn_unit_code/operations', { token: session, query });
        expect(seen).toMatchObject({
          status: 200,
          body: { data: [{ kind: 'batch', actor: { kind: 'client', id: client_id, name: 'Night job' } }] },
        });
      }
    }
    const orders = () => other().platform('GET', '/tables/dyn_stock_order/operations', { token: auditor });
    await expectRefused(run.service, 400, orders);
    const unknown = () => other().platform('GET', '/tables/dyn_nothing/operations', { token: auditor });
    await expectRefused(run.service, 404, unknown);
  });

  it('are refused with a wrong cursor, of Master Data, and without the scope', async () => {
    const get =
      (table: string, options = {}) =>
      () =>
        other().getOperations(table, options);
    await expectRefused(run.service, 400, get('dyn_party', { query: 'cursor=-1' }));
    await expectRefused(run.service, 400, get('dyn_party', { query: 'curser=1' }));
    await expectRefused(run.service, 400, get('dyn_stock_order'));
    const token = await other().token('read:order_data');
    await expectRefused(run.service, 403, get('dyn_party', { token }));
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
  const undo = async (operation: string, body?: object, query = {}) => {
    const answer = await acme().postUndo('dyn_party', operation, { ...(body && { body }), query });
    expect(answer.status).toBe(200);
    return dataOf(z.looseObject({ next: z.string().nullable() }), answer);
  };

  it('brings back what a mistyped clean-up deleted, with its ids, values and batch ids; a dry run only says', async () => {
    await acme().batch('dyn_party', parties(0, 5, { _batch_id: 'monday', notes: 'kept' }));
    await acme().create('dyn_party', { external_id: 'by hand', name: 'Nowhere else' });
    const before = values(await all());
    const operation = await mistyped();
    expect(await undo(operation, undefined, { dry_run: 'true' })).toMatchObject({ restored: 6, dry_run: true });
    expect(await all()).toEqual([]);
    expect(await undo(operation)).toEqual({
      message: expect.any(String),
      restored: 6,
      deleted: 0,
      unchanged: 0,
      left: [],
      left_in_all: 0,
      unavailable: 0,
      remaining: 0,
      next: null,
    });
    expect(values(await all())).toEqual(before);
    expect(await undo(operation)).toMatchObject({ restored: 0, unchanged: 6 });
    expect(await acme().cleanUp('dyn_party', 'monday')).toMatchObject({ deleted: 1 });
  });

  it('works after a synchronisation, too: what came back is left alone and told where it is not as it was', async () => {
    await acme().batch('dyn_party', parties(0, 6, { _batch_id: 'monday', notes: 'old' }));
    const before = new Map((await all()).map(({ external_id, id }) => [external_id, id]));
    const operation = await mistyped();
    await acme().batch('dyn_party', parties(0, 3, { _batch_id: 'tuesday', notes: 'new' }));
    const other = await acme().create('dyn_party', { external_id: 'P3', name: 'X', id: uuid() });
    expect(await undo(operation)).toMatchObject({
      restored: 2,
      left: [
        ...[0, 1, 2].map((n) => ({ id: before.get(`P${n}`), key: `P${n}`, reason: 'changed', fields: ['notes'] })),
        { id: before.get('P3'), key: 'P3', reason: 'key_taken', taken_by: other.id },
      ],
    });
    const notes = (await all()).map(({ external_id, notes }) => `${external_id} ${notes}`).sort();
    expect(notes).toEqual(['P0 new', 'P1 new', 'P2 new', 'P3 null', 'P4 old', 'P5 old']);
  });

  it('takes one request for all of a clean-up, goes on behind `after`, and leaves to a later one what that one deleted', async () => {
    for (const from of [0, 900, 1800]) {
      await acme().batch('dyn_party', parties(from, from + 900, { _batch_id: 'monday' }));
    }
    const before = await acme().list('dyn_party', { perPage: '1000', sort: 'external_id' });
    const operation = await mistyped();
    const dry = await undo(operation, undefined, { dry_run: 'true' });
    expect(dry).toMatchObject({ restored: 2700, remaining: 0, next: null, dry_run: true });
    const ids = before.data.map(({ id }) => id).sort();
    const rest = await undo(operation, { after: ids.at(-1) }, { dry_run: 'true' });
    expect(rest).toMatchObject({ unavailable: null, remaining: 0, next: null });
    expect(rest.restored).toBeLessThan(2700);
    const done = await undo(operation);
    expect(done).toMatchObject({ restored: 2700, left_in_all: 0, unavailable: 0, remaining: 0, next: null });
    const now = await acme().list('dyn_party', { perPage: '1000', sort: 'external_id' });
    expect(now.meta.total).toBe(2700);
    expect(values(now.data)).toEqual(values(before.data));
    const later = await mistyped();
    expect(await undo(operation)).toMatchObject({ restored: 0, unavailable: 2700, remaining: 0 });
    expect(await undo(later)).toMatchObject({ restored: 2700, unavailable: 0 });
  });

  it('of many that were left alone names the first 1,000, and tells how many they are', async () => {
    for (const from of [0, 600]) await acme().batch('dyn_party', parties(from, from + 600, { _batch_id: 'monday' }));
    const operation = await mistyped();
    for (const from of [0, 600]) await acme().batch('dyn_party', parties(from, from + 600, { notes: 'new' }));
    const { left, ...counts } = await undo(operation);
    expect(counts).toMatchObject({ restored: 0, unchanged: 0, left_in_all: 1200, remaining: 0, next: null });
    expect(left).toHaveLength(1000);
  });

  it('by several clients at once brings everything back once', async () => {
    for (const from of [0, 900, 1800]) {
      await acme().batch('dyn_party', parties(from, from + 900, { _batch_id: 'monday' }));
    }
    const operation = await mistyped();
    const answers = await Promise.all([1, 2, 3].map(() => undo(operation)));
    const counted = answers.map(({ restored, unchanged }) => Number(restored) + Number(unchanged));
    expect(counted).toEqual([2700, 2700, 2700]);
    expect(answers.reduce((sum, { restored }) => sum + Number(restored), 0)).toBe(2700);
    expect((await acme().list('dyn_party')).meta.total).toBe(2700);
  });

  it('with an Idempotency-Key is answered as before when it is sent again, and with another body is 422', async () => {
    await acme().batch('dyn_party', parties(0, 5, { _batch_id: 'monday' }));
    const operation = await mistyped();
    const headers = { 'idempotency-key': `undo ${operation}`.replace(' ', '-') };
    const keyed = (body?: object, id = operation) =>
      acme().postUndo('dyn_party', id, { headers, ...(body && { body }) });
    const [one, two] = await Promise.all([keyed(), keyed()]);
    expect(one).toMatchObject({ status: 200, body: { data: { restored: 5, unchanged: 0 } } });
    expect(two.body).toEqual(one.body);
    expect(await keyed()).toMatchObject({ body: one.body, headers: { 'idempotency-replayed': 'true' } });
    expect((await keyed({})).body).toEqual(one.body);
    const last = (await all()).at(-1)?.id;
    await expectInvalid(run.service, ['Idempotency-Key'], () => keyed({ after: last }));
    await expectInvalid(run.service, ['Idempotency-Key'], () => keyed(undefined, '0'));
    const dry = { headers, query: { dry_run: 'true' } };
    await expectRefused(run.service, 400, () => acme().postUndo('dyn_party', operation, dry));
  });

  it('of a batch brings back values and batch ids and deletes what it created; what changed since is told', async () => {
    await acme().batch('dyn_party', parties(0, 5, { _batch_id: 'monday', notes: 'old' }));
    const before = values(await all());
    const { operation_id: batch = '' } = await acme().batch('dyn_party', [
      ...parties(0, 3, { _batch_id: 'tuesday', notes: 'new' }),
      ...parties(3, 6, { _batch_id: 'tuesday', notes: 'old' }),
    ]);
    const [p0, p1] = [...before.values()];
    expect(await undo(batch, undefined, { dry_run: 'true' })).toMatchObject({ restored: 5, deleted: 1, dry_run: true });
    await acme().update('dyn_party', p0?.id ?? '', { notes: 'by hand' });
    const left = [{ id: p0?.id, key: 'P0', reason: 'changed', fields: ['notes'] }];
    expect(await undo(batch)).toMatchObject({ restored: 4, deleted: 1, unchanged: 0, left, next: null });
    expect(await undo(batch)).toMatchObject({ restored: 0, deleted: 0, unchanged: 5, left });
    const now = values(await all());
    expect(now.size).toBe(5);
    expect(now.get(p1?.id ?? '')).toEqual(p1);
    expect(await acme().cleanUp('dyn_party', 'monday')).toMatchObject({ deleted: 1 });
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
      await expectRefused(run.service, 404, () => acme().postUndo('dyn_party', id, { body: {} }));
    }
    expect(await undo(batch)).toMatchObject({ restored: 200, deleted: 200, unchanged: 0 });
    expect((await all()).map((party) => party.notes)).toEqual(Array(200).fill(null));
  });

  it('is refused of what is neither, of an undo, and on Master Data', async () => {
    await acme().create('dyn_party', { external_id: 'by hand', name: 'No operation' });
    const operation = await mistyped();
    const post = (table: string, id: string, body?: object) => () => acme().postUndo(table, id, { body: body ?? {} });
    for (const wrong of ['99999999', '-1', '01', 'x', '9'.repeat(30)]) {
      await expectRefused(run.service, 404, post('dyn_party', wrong));
    }
    await expectRefused(run.service, 409, post('dyn_party', String(Number(operation) - 1)));
    await expectRefused(run.service, 400, post('dyn_stock_order', operation));
    await expectInvalid(run.service, ['after'], post('dyn_party', operation, { after: 'x' }));
    await expectInvalid(run.service, ['all'], post('dyn_party', operation, { all: true }));
    const token = await acme().token('read:reference_data');
    await expectRefused(run.service, 403, () => acme().postUndo('dyn_party', operation, { token }));
  });
});

describe('additive: a sync session', () => {
  const started = async () => {
    const answer = await acme().startSync('dyn_party');
    expect(answer.status).toBe(201);
    return dataOf(z.looseObject({ id: z.string() }), answer).id;
  };
  const commit = (id: string, body: object = {}, query = {}) => acme().commitSync('dyn_party', id, { body, query });

  it('deletes what its batches did not carry, once, shows it before, and can be undone', async () => {
    await acme().batch('dyn_party', parties(0, 5, { _batch_id: 'monday' }));
    const id = await started();
    await acme().batch('dyn_party', parties(0, 2, { _batch_id: id }));
    await acme().batch('dyn_party', parties(2, 3, { _batch_id: id }));
    expect(await commit(id, {}, { dry_run: 'true' })).toMatchObject({
      status: 200,
      body: { data: { deleted: 2, carried: 3, dry_run: true, differences: [{ key: 'P3' }, { key: 'P4' }] } },
    });
    await expectInvalid(run.service, ['records'], () => commit(id));
    await expectInvalid(run.service, ['records'], () => commit(id, { records: 4 }));
    await expectInvalid(run.service, ['confirm'], () => commit(id, { records: 3, confirm: 1 }));
    await acme().batch('dyn_party', parties(0, 1, { _batch_id: id, notes: 'still open' }));
    const committed = await commit(id, { records: 3, confirm: 2 });
    expect(committed).toMatchObject({ status: 200, body: { data: { deleted: 2, operation_id: expect.any(String) } } });
    await acme().create('dyn_party', { external_id: 'by hand', name: 'Since' });
    expect((await commit(id, { records: 3 })).body).toEqual(committed.body);
    expect(await keys('dyn_party')).toEqual(['P0', 'P1', 'P2', 'by hand']);
    const late = { items: parties(7, 8, { _batch_id: id }) };
    await expectRefused(run.service, 409, () => acme().postBatch('dyn_party', late));
    const { operation_id } = dataOf(z.looseObject({ operation_id: z.string() }), committed);
    expect(await acme().postUndo('dyn_party', operation_id)).toMatchObject({ body: { data: { restored: 2 } } });
  });

  it('is committed once, also where many ask at the same time and one carries nothing', async () => {
    await acme().batch('dyn_party', parties(0, 5, { _batch_id: 'monday' }));
    const id = await started();
    await acme().batch('dyn_party', parties(0, 2, { _batch_id: id }));
    const answers = await Promise.all([1, 2, 3, 4].map(() => commit(id, { records: 2 })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(await keys('dyn_party')).toEqual(['P0', 'P1']);
    const empty = await started();
    expect(await commit(empty, { records: 0 })).toMatchObject({ status: 200, body: { data: { deleted: 2 } } });
  });

  it('goes on after a refused batch: what that named is sent again, kept as it is, or deleted knowingly', async () => {
    await acme().batch('dyn_party', parties(0, 6, { _batch_id: 'monday', notes: 'as it was' }));
    const id = await started();
    await acme().batch('dyn_party', parties(0, 2, { _batch_id: id }));
    const noName = { external_id: 'P3', notes: 'now', _batch_id: id };
    const wrong = [...parties(2, 3, { _batch_id: id }), noName, { external_id: 'unknown', _batch_id: id }];
    const refused = await acme().postBatch('dyn_party', { items: wrong });
    expect(refused).toMatchObject({ status: 422, body: { errors: { 'items.1.name': [expect.any(String)] } } });
    expect(refused.text).toContain('(item 1, external_id \\"P3\\")');
    const early = await expectRefused(run.service, 409, () => commit(id, { records: 2 }));
    expect(early.text).toContain('\\"P2\\", \\"P3\\"');
    await acme().batch('dyn_party', parties(2, 3, { _batch_id: id }));
    await expectRefused(run.service, 409, () => commit(id, { records: 3 }));
    expect(await acme().batch('dyn_party', [{ external_id: 'P3', _batch_id: id }])).toMatchObject({ unchanged: 1 });
    expect(await commit(id, { records: 4 })).toMatchObject({ status: 200, body: { data: { deleted: 2 } } });
    const [kept] = (await acme().list('dyn_party', { 'filter[external_id]': 'P3' })).data;
    expect(kept).toMatchObject({ name: 'Party 3', notes: 'as it was' });
    const next = await started();
    const bad = [{ external_id: 'P3', notes: 7, _batch_id: next }];
    expect(await acme().postBatch('dyn_party', { items: bad })).toMatchObject({ status: 422 });
    await acme().batch('dyn_party', parties(0, 3, { _batch_id: next }));
    await expectRefused(run.service, 409, () => commit(next, { records: 3 }));
    expect(await commit(next, { records: 3, confirm: 1 })).toMatchObject({
      status: 200,
      body: { data: { deleted: 1 } },
    });
  });

  it('is refused when another was started, and by a plain clean-up', async () => {
    await acme().batch('dyn_party', parties(0, 3, { _batch_id: 'monday' }));
    const first = await started();
    const second = await started();
    await expectRefused(run.service, 409, () => commit(first, { records: 0 }));
    await expectRefused(run.service, 409, () =>
      acme().postBatch('dyn_party', { items: parties(1, 2, { _batch_id: first }) }),
    );
    await expectInvalid(run.service, ['batch_id'], () => acme().postCleanUp('dyn_party', { batch_id: second }));
    await expectRefused(run.service, 409, () => commit('monday', { records: 3 }));
    await expectRefused(run.service, 400, () => acme().startSync('dyn_stock_order'));
    const token = await acme().token('read:reference_data');
    await expectRefused(run.service, 403, () => acme().startSync('dyn_party', { token }));
    expect((await acme().list('dyn_party')).meta.total).toBe(3);
  });

  it('takes a batch that is sent beside its commit as a whole before it, or not at all', async () => {
    await acme().batch('dyn_party', parties(0, 40, { _batch_id: 'monday' }));
    const id = await started();
    await acme().batch('dyn_party', parties(0, 30, { _batch_id: id }));
    const [late, committed] = await Promise.all([
      acme().postBatch('dyn_party', { items: parties(30, 40, { _batch_id: id }) }),
      commit(id, { records: 30 }),
    ]);
    const total = (await acme().list('dyn_party')).meta.total;
    const wasFirst = late.status === 200;
    expect([committed.status, total]).toEqual(wasFirst ? [422, 40] : [200, 30]);
  });
});

it('§4.8: other tables and other tenants keep their records', async () => {
  const other = run.tenant('other');
  await other.batch('dyn_party', parties(0, 5));
  await acme().batch('dyn_item', [{ external_id: 'I1', name: 'Item' }]);
  await acme().batch('dyn_party', parties(0, 5));
  expect(await acme().cleanUp('dyn_party', 'x')).toMatchObject({ deleted: 5 });
  expect(await keys('dyn_item')).toEqual(['I1']);
  expect((await other.list('dyn_party')).meta.total).toBe(5);
});

it('additive: what a mistyped clean-up deleted has its ids again after the next synchronisation', async () => {
  await acme().batch('dyn_party', parties(0, 30, { _batch_id: 'monday' }));
  const before = (await acme().list('dyn_party', { perPage: '1000' })).data;
  expect(await acme().cleanUp('dyn_party', 'mondya')).toMatchObject({ deleted: 30 });
  await acme().create('dyn_party', { external_id: 'P7', name: 'By hand' });
  await acme().batch('dyn_party', parties(0, 30, { _batch_id: 'tuesday' }));
  const after = (await acme().list('dyn_party', { perPage: '1000' })).data;
  const idsByKey = (records: typeof before) => new Map(records.map(({ external_id, id }) => [external_id, id]));
  expect(idsByKey(after)).toEqual(idsByKey(before));
  expect(after.every(({ created_at }) => before.every((record) => created_at > record.created_at))).toBe(true);
});

it('§4.8: a key that was cleaned up is free again, for a record with a new created_at', async () => {
  const before = await acme().create('dyn_party', { external_id: 'again', name: 'One' });
  await acme().cleanUp('dyn_party', 'x');
  const after = await acme().create('dyn_party', { external_id: 'again', name: 'Two' });
  expect(after.created_at > before.created_at).toBe(true);
  expect(await acme().getRecord('dyn_party', after.id)).toMatchObject({ status: 200, body: { data: after } });
  expect(await acme().batch('dyn_party', [{ external_id: 'again', name: 'Three' }])).toMatchObject({ updated: 1 });
});

it('§4.8: a clean-up counts exactly while others write', async () => {
  await acme().batch('dyn_party', parties(0, 500, { _batch_id: 'old' }));
  const results = await Promise.all([
    acme().batch('dyn_party', parties(0, 200, { _batch_id: 'new' })),
    acme().cleanUp('dyn_party', 'new'),
    acme().batch('dyn_party', parties(400, 600, { _batch_id: 'new' })),
    acme().cleanUp('dyn_party', 'new'),
  ]);
  const deleted = results.reduce((sum, result) => sum + ('deleted' in result ? result.deleted : 0), 0);
  const created = results.reduce((sum, result) => sum + ('created' in result ? result.created : 0), 0);
  expect((await acme().list('dyn_party')).meta.total).toBe(500 + created - deleted);
});

itOfRequests.each([
  ['no batch_id', {}],
  ['null', { batch_id: null }],
  ['an empty text', { batch_id: '' }],
  ['a number', { batch_id: 1 }],
  ['a list', { batch_id: ['sync'] }],
  ['an object', { batch_id: { $ne: 'sync' } }],
  ['256 characters', { batch_id: 'x'.repeat(256) }],
  ['_batch_id in its place', { _batch_id: 'sync' }],
])('§4.8, §7: %s is 422, and nothing is deleted', async (_what, body) => {
  await acme().batch('dyn_party', parties(0, 3));
  const fields = '_batch_id' in body ? ['_batch_id', 'batch_id'] : ['batch_id'];
  await expectInvalid(run.service, fields, () => acme().postCleanUp('dyn_party', body));
  expect((await acme().list('dyn_party')).meta.total).toBe(3);
});

itOfRequests.each(['null', '[]', '"sync"', '1'])(
  '§4.8, §7: the body %s is 422, and nothing is deleted',
  async (raw) => {
    const path = '/api/v1/dynamic-assets/dyn/dyn_party/assets/clean-up';
    await expectInvalid(run.service, ['body'], () => acme().send('POST', path, { raw }));
  },
);

it.each(['dyn_stock_order', 'dyn_order_line'])(
  '§4.8, decision: on the Master Data table %s it is 400 with message and error',
  async (table) => {
    const order = await acme().create('dyn_stock_order', {});
    const answer = await expectRefused(run.service, 400, () => acme().postCleanUp(table, { batch_id: 'x' }));
    expect(answer.body).toEqual({
      message: expect.stringMatching(/cannot be cleaned up/),
      error: expect.stringMatching(/only safe on reference data/),
    });
    expect(await acme().get('dyn_stock_order', order.id)).toEqual(order);
  },
);
