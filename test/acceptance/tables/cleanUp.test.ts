/** Clean-up, and the synchronisation it ends (spec §4.8). */
import { z } from 'zod';
import { dataOf } from '../people.js';
import { expectInvalid, expectRefused } from '../refusals.js';
import { useService } from '../useService.js';

const { acme, service } = useService({ tenants: { acme: 'dyn_stock_order', other: 'dyn_stock_order' } });

const parties = (from: number, to: number, more: object = {}) =>
  Array.from({ length: to - from }, (_, n) => ({ external_id: `P${from + n}`, name: `Party ${from + n}`, ...more }));
const keys = async (table = 'dyn_party') =>
  (await acme().list(table, { perPage: '1000' })).data.map((record) => record.external_id);

const guardOfAcme = (max_percent: unknown) =>
  acme().platform('PUT', '/tenant', { body: { clean_up_guard: max_percent === null ? null : { max_percent } } });

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
  await expectRefused(service(), 404, () => acme().getRecord('dyn_party', created.id));
  await expectRefused(service(), 404, () => acme().putRecord('dyn_party', created.id, { name: 'X' }));
});

it('§4.8: the synchronisation workflow leaves exactly the records of that synchronisation', async () => {
  const sync = async (id: string, from: number, to: number) => {
    for (let at = from; at < to; at += 40) {
      await acme().batch('dyn_party', parties(at, Math.min(at + 40, to), { _batch_id: id, notes: 'synced' }));
    }
    return acme().cleanUp('dyn_party', id);
  };
  expect(await sync('monday', 0, 150)).toMatchObject({ deleted: 0 });
  const before = (await acme().list('dyn_party', { 'filter[external_id]': 'P123' })).data[0];
  await acme().create('dyn_party', { external_id: 'stray', name: 'Not in the external system' });
  expect(await sync('tuesday', 70, 210)).toMatchObject({ deleted: 71 });
  expect((await acme().list('dyn_party')).meta.total).toBe(140);
  expect((await acme().list('dyn_party', { 'filter[external_id]': 'P123' })).data[0]).toEqual(before);
  expect(await acme().cleanUp('dyn_party', 'tuesday')).toMatchObject({ deleted: 0 });
});

it('§4.8: an update by PUT keeps the _batch_id of a record', async () => {
  await acme().batch('dyn_party', parties(0, 2, { _batch_id: 'sync' }));
  const [one] = (await acme().list('dyn_party')).data;
  await acme().update('dyn_party', one?.id ?? '', { name: 'Renamed' });
  expect(await acme().cleanUp('dyn_party', 'sync')).toMatchObject({ deleted: 0 });
});

it('§4.8: the batch ids are compared exactly', async () => {
  const ids = ['Sync', 'sync ', 'sync', '%', 'SYNC'];
  for (const [n, _batch_id] of ids.entries()) await acme().batch('dyn_party', parties(n, n + 1, { _batch_id }));
  expect(await acme().cleanUp('dyn_party', 'sync')).toMatchObject({ deleted: 4 });
  expect(await keys()).toEqual(['P2']);
});

it('additive: ?dry_run=true counts what a clean-up would delete, and deletes nothing', async () => {
  await acme().batch('dyn_party', parties(0, 3, { _batch_id: 'sync' }));
  const before = await service().logHead();
  const answer = await acme().postCleanUp('dyn_party', { batch_id: 'other' }, { query: { dry_run: 'true' } });
  expect(answer).toMatchObject({
    status: 200,
    body: { data: { deleted: 3, carried: 0, dry_run: true, keys: ['P0', 'P1', 'P2'] } },
  });
  expect(await service().logHead()).toBe(before);
  expect((await acme().list('dyn_party')).meta.total).toBe(3);
});

it('additive: `confirm` names how many records are to be deleted, and with another number nothing is', async () => {
  await acme().batch('dyn_party', parties(0, 3, { _batch_id: 'sync' }));
  for (const confirm of [2, 4, -1, '3', null]) {
    await expectInvalid(service(), ['confirm'], () => acme().postCleanUp('dyn_party', { batch_id: 'x', confirm }));
  }
  const confirmed = await acme().postCleanUp('dyn_party', { batch_id: 'x', confirm: 3 });
  expect(confirmed).toMatchObject({ status: 200, body: { data: { deleted: 3 } } });
});

it('additive: a guarded tenant confirms what deletes much, or everything; a dry run says how many it is', async () => {
  await expectInvalid(service(), ['clean_up_guard.max_percent'], () => guardOfAcme(101));
  expect(await guardOfAcme(20)).toMatchObject({ status: 200, body: { data: { clean_up_guard: { max_percent: 20 } } } });
  try {
    await acme().batch('dyn_party', parties(0, 10, { _batch_id: 'monday' }));
    await acme().batch('dyn_party', parties(0, 7, { _batch_id: 'tuesday' }));
    const typo = await expectInvalid(service(), ['batch_id'], () =>
      acme().postCleanUp('dyn_party', { batch_id: 'tusday' }),
    );
    expect(typo.text).toContain('all 10 records');
    await expectInvalid(service(), ['confirm'], () => acme().postCleanUp('dyn_party', { batch_id: 'tuesday' }));
    const dry = await acme().postCleanUp('dyn_party', { batch_id: 'tuesday' }, { query: { dry_run: 'true' } });
    expect(dry).toMatchObject({ status: 200, body: { data: { deleted: 3, dry_run: true } } });
    expect((await acme().list('dyn_party')).meta.total).toBe(10);
    const confirmed = await acme().postCleanUp('dyn_party', { batch_id: 'tuesday', confirm: 3 });
    expect(confirmed).toMatchObject({ status: 200, body: { data: { deleted: 3 } } });
    await acme().batch('dyn_party', parties(0, 6, { _batch_id: 'wednesday' }));
    expect(await acme().cleanUp('dyn_party', 'wednesday')).toMatchObject({ deleted: 1 });
  } finally {
    expect(await guardOfAcme(null)).toMatchObject({ status: 200, body: { data: { clean_up_guard: null } } });
  }
  expect(await acme().cleanUp('dyn_party', 'any')).toMatchObject({ deleted: 6 });
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
      body: { data: { deleted: 2, carried: 3, dry_run: true, keys: ['P3', 'P4'] } },
    });
    await expectInvalid(service(), ['records'], () => commit(id));
    await expectInvalid(service(), ['records'], () => commit(id, { records: 4 }));
    await expectInvalid(service(), ['confirm'], () => commit(id, { records: 3, confirm: 1 }));
    await acme().batch('dyn_party', parties(0, 1, { _batch_id: id, notes: 'still open' }));
    const committed = await commit(id, { records: 3, confirm: 2 });
    expect(committed).toMatchObject({ status: 200, body: { data: { deleted: 2, operation_id: expect.any(String) } } });
    await acme().create('dyn_party', { external_id: 'by hand', name: 'Since' });
    expect((await commit(id, { records: 3 })).body).toEqual(committed.body);
    expect(await keys('dyn_party')).toEqual(['P0', 'P1', 'P2', 'by hand']);
    const late = { items: parties(7, 8, { _batch_id: id }) };
    await expectRefused(service(), 409, () => acme().postBatch('dyn_party', late));
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

  it('goes on after a refused batch, which is not counted', async () => {
    await acme().batch('dyn_party', parties(0, 4, { _batch_id: 'monday' }));
    const id = await started();
    await acme().batch('dyn_party', parties(0, 2, { _batch_id: id }));
    const noName = [...parties(2, 3, { _batch_id: id }), { external_id: 'new', _batch_id: id }];
    expect(await acme().postBatch('dyn_party', { items: noName })).toMatchObject({ status: 422 });
    await expectInvalid(service(), ['records'], () => commit(id, { records: 4 }));
    await acme().batch('dyn_party', parties(2, 4, { _batch_id: id }));
    expect(await commit(id, { records: 4 })).toMatchObject({ status: 200, body: { data: { deleted: 0 } } });
  });

  it('is refused when another was started, and by a plain clean-up', async () => {
    await acme().batch('dyn_party', parties(0, 3, { _batch_id: 'monday' }));
    const first = await started();
    const second = await started();
    await expectRefused(service(), 409, () => commit(first, { records: 0 }));
    await expectRefused(service(), 409, () =>
      acme().postBatch('dyn_party', { items: parties(1, 2, { _batch_id: first }) }),
    );
    await expectInvalid(service(), ['batch_id'], () => acme().postCleanUp('dyn_party', { batch_id: second }));
    await expectRefused(service(), 409, () => commit('monday', { records: 3 }));
    await expectRefused(service(), 400, () => acme().startSync('dyn_stock_order'));
    const token = await acme().token('read:reference_data');
    await expectRefused(service(), 403, () => acme().startSync('dyn_party', { token }));
    expect((await acme().list('dyn_party')).meta.total).toBe(3);
  });
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

it.each(['dyn_stock_order', 'dyn_order_line'])(
  '§4.8, decision: on the Master Data table %s it is 400 with message and error',
  async (table) => {
    const order = await acme().create('dyn_stock_order', {});
    const answer = await expectRefused(service(), 400, () => acme().postCleanUp(table, { batch_id: 'x' }));
    expect(answer.body).toEqual({
      message: expect.stringMatching(/cannot be cleaned up/),
      error: expect.stringMatching(/only safe on reference data/),
    });
    expect(await acme().get('dyn_stock_order', order.id)).toEqual(order);
  },
);
