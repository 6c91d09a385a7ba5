import { tableStream } from '#app/domain/streams.js';
import { activityPage } from '#app/queries/activity.js';
import { where } from '#app/queries/asking.js';
import { LoggedTenant, minute } from '../../support/tenantRows.js';

const id = (n: number): string => `0198c1f2-0000-7000-8000-${String(n).padStart(12, '0')}`;
const items = tableStream('acme', 'dyn_item');
const item = (n: number) => ({ id: id(n), fields: { external_id: `I${n}`, name: 'Box' } });
const batch = (batchId: string, more: object) => ({
  type: 'BatchUpserted',
  data: { batchId, created: [], changed: [], seen: '', ...more },
});

describe('the activity of a tenant', () => {
  let acme: LoggedTenant;
  beforeEach(async () => {
    acme = new LoggedTenant();
    await acme.create();
  });

  type Query = Parameters<typeof activityPage>[2];
  const page = (query: Partial<Query> = {}, tenant = 'acme') =>
    activityPage(acme.rows.reads, tenant, { conditions: [], limit: 25, ...query });
  const told = async (query: Partial<Query> = {}) =>
    (await page(query)).entries.map(({ position, revision, kind }) => `${position}.${revision} ${kind}`);

  test('an entry says who did what, when, on what', async () => {
    await acme.append(items, { events: [{ type: 'RecordCreated', data: item(1) }] });
    const [entry] = (await page()).entries;
    expect(entry).toEqual({
      at: minute(2),
      position: 2,
      revision: 0,
      kind: 'record.created',
      eventId: expect.any(String),
      actor: { kind: 'client', id: 'erp', name: 'ERP' },
      correlationId: 'request-2',
      causationId: 'request-2',
      table: 'dyn_item',
      subject: { kind: 'record', id: id(1) },
      n: expect.any(Number),
    });
    expect(await page({}, 'other')).toEqual({ entries: [] });
  });

  test('the log decides the order, whatever the clocks say; a page goes on before an entry', async () => {
    await acme.append(items, { events: [{ type: 'RecordCreated', data: item(1) }] });
    await acme.append(items, {
      events: [
        { type: 'RecordCreated', data: item(2) },
        { type: 'RecordCreated', data: item(3) },
      ],
    });
    await acme.append(items, { events: [{ type: 'RecordCreated', data: item(4) }], at: minute(0) });
    const known = ['4.3 record.created', '3.2 record.created', '3.1 record.created', '2.0 record.created'];
    known.push('1.0 tenant.created');
    expect(await told()).toEqual(known);
    for (const [index, entry] of (await page()).entries.entries())
      expect(await told({ before: entry })).toEqual(known.slice(index + 1));
    const { entries, next } = await page({ limit: 2 });
    expect(next).toEqual(entries[1]);
    expect(await told({ before: next })).toEqual(known.slice(2));
    expect((await page({ limit: 5 })).next).toBeUndefined();
    expect(await page({ before: { position: 9, revision: 0 } })).toEqual({ entries: [] });
  });

  test('a batch of several events is one entry, with the counts and the batch ids of all', async () => {
    await acme.append(items, { events: [batch('one', { created: [item(1)] }), batch('two', { created: [item(2)] })] });
    const position = await acme.append(items, { events: [batch('two', { created: [item(3)] })] });
    const { entries } = await page({ limit: 2 });
    expect(entries).toMatchObject([
      { position, revision: 2, counts: { created: 1 } },
      { position: 2, revision: 0, counts: { created: 2, updated: 0 }, details: { batch_ids: ['one', 'two'] } },
    ]);
    const isWanted = ({ revision }: { readonly revision: number }) => revision === 0;
    expect(await told({ limit: 2, isWanted })).toEqual(['2.0 table.batch', '1.0 tenant.created']);
    expect(await told({ before: entries[1] })).toEqual(['1.0 tenant.created']);
  });

  test('conditions on fields and times must all hold', async () => {
    const ada = { kind: 'user', id: '7', name: 'Ada' } as const;
    await acme.append(items, { events: [{ type: 'RecordCreated', data: item(7) }], actor: ada });
    await acme.append(items, { events: [{ type: 'RecordCreated', data: item(8) }] });
    const of = (conditions: Parameters<typeof where>[0]) => told({ conditions: where(conditions) });
    expect(await of({ actor_id: '7' })).toEqual(['2.0 record.created']);
    expect(await of({ subject_kind: 'record', subject_id: [id(8), id(9)] })).toEqual(['3.1 record.created']);
    const times = { created_at: { gte: minute(1), lte: minute(2) } };
    expect(await of(times)).toEqual(['2.0 record.created', '1.0 tenant.created']);
    expect(await of({ actor_id: '7', table: 'dyn_party' })).toEqual([]);
  });
});
