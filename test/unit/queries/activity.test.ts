import { packIds } from '#app/domain/referenceTable/events.js';
import { accessStream, orderStream, tableStream, usersStream } from '#app/domain/streams.js';
import { type ActivityQuery, orderRevisionAt } from '#app/queries/activity.js';
import { LoggedTenant, minute } from '../../support/loggedTenant.js';

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
    acme = new LoggedTenant('acme');
    await acme.create();
  });

  const page = (query: Partial<ActivityQuery> = {}) =>
    acme.queries.activity.page('acme', { filters: {}, limit: 25, ...query });
  const told = async (query: Partial<ActivityQuery> = {}) =>
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
    expect(await acme.queries.activity.page('other', { filters: {}, limit: 25 })).toEqual({ entries: [] });
  });

  test('the log decides the order, whatever the clocks say; events of one append share a position', async () => {
    await acme.append(items, { events: [batch('one', { created: [item(1)] }), batch('two', { created: [item(2)] })] });
    await acme.append(items, { events: [{ type: 'RecordCreated', data: item(3) }], at: minute(0) });
    const all = ['3.2 record.created', '2.1 table.batch', '2.0 table.batch', '1.0 tenant.created'];
    expect(await told()).toEqual(all);
    for (const [index, entry] of (await page()).entries.entries()) {
      expect(await told({ before: entry })).toEqual(all.slice(index + 1));
      const { revision } = entry;
      expect(await told({ before: { ...entry, revision: revision + 1 }, limit: 1 })).toEqual([all[index]]);
    }
    expect(await told({ limit: 2 })).toEqual(all.slice(0, 2));
  });

  test('times are found with their bounds', async () => {
    for (const n of [1, 2, 3]) await acme.append(items, { events: [{ type: 'RecordCreated', data: item(n) }] });
    expect(await told({ from: minute(2), to: minute(3) })).toEqual(['3.1 record.created', '2.0 record.created']);
  });

  test('each filter finds what it names, whatever the case of an id; several must all hold', async () => {
    const ada = { kind: 'user', id: '7', name: 'Ada' } as const;
    await acme.append(usersStream('acme'), {
      events: [
        { type: 'UserAdded', data: { id: 7, firstName: 'Ada', lastName: 'L', roles: [], email: 'a@x.example' } },
      ],
    });
    await acme.append(items, { events: [{ type: 'RecordCreated', data: item(7) }], actor: ada });
    const status = { from: 'draft', to: 'draft' };
    const created = { type: 'OrderCreated', data: { table: 'dyn_stock_order', fields: {}, status: 'draft' } };
    const rejected = { type: 'OrderRejected', data: { status, reasons: [] } };
    await acme.append(orderStream('acme', id(9)), { events: [created], actor: ada });
    await acme.append(orderStream('acme', id(9)), { events: [rejected] });
    const by = (filters: ActivityQuery['filters']) => told({ filters });
    expect(await by({ actor: '7' })).toEqual(['4.0 order.created', '3.0 record.created']);
    expect(await by({ kind: 'order.rejected' })).toEqual(['5.1 order.rejected']);
    expect(await by({ table: 'dyn_item' })).toEqual(['3.0 record.created']);
    expect(await by({ orderId: id(9).toUpperCase() })).toEqual(['5.1 order.rejected', '4.0 order.created']);
    expect(await by({ correlationId: 'request-3' })).toEqual(['3.0 record.created']);
    expect(await by({ subject: { kind: 'user', id: '7' } })).toEqual(['2.0 user.added']);
    expect(await by({ actor: '7', table: 'dyn_item' })).toEqual(['3.0 record.created']);
    expect(await by({ actor: '7', kind: 'order.rejected' })).toEqual([]);
  });

  test('the last event of an order up to a position is one of its stream: an export is noted in another', async () => {
    const status = { from: 'draft', to: 'draft' };
    const created = { type: 'OrderCreated', data: { table: 'dyn_stock_order', fields: {}, status: 'draft' } };
    const rejected = { type: 'OrderRejected', data: { status, reasons: [] } };
    await acme.append(orderStream('acme', id(9)), { events: [created] });
    await acme.append(orderStream('acme', id(9)), { events: [rejected] });
    const exported = await acme.append(accessStream('acme'), {
      events: [{ type: 'OrderExported', data: { orderId: id(9) } }],
    });
    const at = (position: number) => orderRevisionAt(acme.rows.reads, 'acme', id(9), position, undefined);
    expect(await Promise.all([1, 2, 3, exported].map(at))).toEqual([undefined, 0, 1, 1]);
  });

  test('what changed a record is found by its id, also where a batch or a clean-up names no single records', async () => {
    const [one, two] = [item(1), item(2)];
    await acme.append(items, { events: [batch('a', { created: [one, two] })] });
    await acme.append(items, { events: [batch('b', { seen: packIds([one.id]) })] });
    await acme.append(items, { events: [batch('c', { changed: [{ id: one.id, set: { name: 'Crate' } }] })] });
    await acme.append(items, { events: [{ type: 'RecordChanged', data: { id: two.id, set: { name: 'Bag' } } }] });
    await acme.append(items, { events: [{ type: 'TableCleanedUp', data: { batchId: 'c', deleted: 1 } }] });
    await acme.append(items, { events: [{ type: 'RecordChanged', data: { id: one.id, set: { name: 'Pallet' } } }] });
    const of = (record: string, query: Partial<ActivityQuery> = {}, table?: string) =>
      told({ filters: { table, subject: { kind: 'record', id: record } }, ...query });
    const ofOne = ['7.5 record.changed', '4.2 table.batch', '2.0 table.batch'];
    expect(await of(one.id)).toEqual(ofOne);
    expect(await of(one.id.toUpperCase(), {}, 'dyn_item')).toEqual(ofOne);
    expect(await of(two.id)).toEqual(['6.4 table.clean_up', '5.3 record.changed', '2.0 table.batch']);
    expect(await of(one.id, { limit: 2 })).toEqual(ofOne.slice(0, 2));
    expect(await of(one.id, { before: { at: '', position: 4, revision: 2 } })).toEqual(ofOne.slice(2));
    expect(await of(one.id, {}, 'dyn_party')).toEqual([]);
    expect(await of(id(3))).toEqual([]);
  });

  test('changes of a part are found among those of several parts, and not those of others', async () => {
    const line = (n: number) => ({ table: 'dyn_order_line', id: id(n), fields: { order_id: id(9) } });
    const status = { from: 'draft', to: 'draft' };
    const order = orderStream('acme', id(9));
    const created = { table: 'dyn_stock_order', fields: {}, status: 'draft', parts: [line(1), line(2)] };
    await acme.append(order, { events: [{ type: 'OrderCreatedWithParts', data: created }] });
    const change = (n: number) => {
      const { table, id } = line(n);
      return { type: 'OrderPartChanged', data: { table, id, status, changes: { quantity: { from: null, to: 2 } } } };
    };
    await acme.append(order, { events: [change(1), change(2)] });
    await acme.append(order, {
      events: [{ type: 'OrderPartsChanged', data: { status, added: [], changed: [], removed: [line(2)] } }],
    });
    const of = (n: number) => told({ filters: { subject: { kind: 'record', id: id(n) } } });
    expect(await of(1)).toEqual(['3.1 order.part_changed', '2.0 order.created']);
    expect(await of(2)).toEqual(['4.3 order.parts_changed', '3.2 order.part_changed', '2.0 order.created']);
  });
});
