/** What the events of a tenant make of its rows, and in which slices. */
import { randomUUID } from 'node:crypto';
import { packIds } from '#app/domain/referenceTable/events.js';
import { EventNotAppliedError, slicesOf } from '#app/projections/rows.js';
import { TenantRows } from '../../support/tenantRows.js';

const ITEMS = 'table-acme.dyn_item';
const record = (name: string, id: string = randomUUID()) => ({ id, fields: { external_id: name, name } });
const created = (name: string, id?: string) => ({ type: 'RecordCreated', data: record(name, id) });
const changed = (id: string, set: object) => ({ type: 'RecordChanged', data: { id, set } });
const batch = (batchId: string, names: readonly string[], seen: readonly string[] = []) => ({
  type: 'BatchUpserted',
  data: { batchId, created: names.map((name) => record(name)), changed: [], seen: packIds(seen) },
});
const cleanUp = { type: 'TableCleanedUp', data: { batchId: 'one', deleted: 1 } };
const many = (count: number, of = 'item') => Array.from({ length: count }, (_, n) => `${of} ${n}`);

let acme: TenantRows;
beforeEach(() => {
  acme = new TenantRows();
});

const kinds = () => acme.slices.map(({ writes }) => writes.map(({ kind }) => kind));

test('a change keeps the row that was before, once for all events of an append', async () => {
  const id = randomUUID();
  const made = acme.append(ITEMS, created('tea', id));
  const moved = acme.append(ITEMS, changed(id, { name: 'Tea', brand_name: 'X' }), changed(id, { brand_name: null }));
  await acme.apply();
  const [row] = await acme.shown('dyn_item');
  expect(row).toMatchObject({ id, key: 'tea', from: moved, fields: { external_id: 'tea', name: 'Tea' } });
  expect(row?.created).not.toBe(row?.updated);
  expect(await acme.past('dyn_item', id)).toMatchObject([
    { from: made, to: moved, how: 'changed', fields: { external_id: 'tea', name: 'tea' } },
  ]);
});

test('a batch id that moves makes no version, and is kept by a later change', async () => {
  const id = randomUUID();
  const made = acme.append(ITEMS, created('tea', id));
  acme.append(ITEMS, batch('one', [], [id]));
  acme.append(ITEMS, changed(id, { name: 'Tea' }));
  await acme.apply();
  expect(await acme.shown('dyn_item')).toMatchObject([{ batch: 'one', fields: { name: 'Tea' } }]);
  expect(await acme.past('dyn_item', id)).toMatchObject([{ from: made, batch: 'one' }]);
});

test('a clean-up has a slice of its own, and is its first write', async () => {
  acme.append(ITEMS, batch('one', ['tea']));
  acme.append(ITEMS, created('mint'));
  acme.append(ITEMS, cleanUp);
  acme.append(ITEMS, created('mint'));
  await acme.apply();
  expect(kinds().slice(1)).toEqual([
    ['cleanUp', 'put', 'end'],
    ['put', 'put', 'end'],
  ]);
  expect((await acme.shown('dyn_item')).map(({ key }) => key)).toEqual(['tea', 'mint']);
  const { state } = await acme.rows.rows({ tenant: 'acme', space: 'dyn_item' }, { ids: [], keys: [] });
  expect(state).toMatchObject({ revision: 3, lastEventAt: acme.events.at(-1)?.metadata.occurredAt });
});

test('a slice has about a thousand new rows, fewer that change or are long, or one append, and shows what was made before', async () => {
  await acme.apply();
  const id = randomUUID();
  acme.append(ITEMS, batch('one', many(600)), batch('one', many(601).slice(600)));
  acme.append(ITEMS, created('tea', id));
  acme.append(ITEMS, batch('two', many(500, 'more')));
  acme.append(ITEMS, changed(id, { name: 'Tea' }));
  acme.append(ITEMS, batch('three', many(1_500, 'even more')));
  for (const word of ['one', 'other']) acme.append(ITEMS, ...many(150, word).map((name) => changed(id, { name })));
  for (const end of 'ab') acme.append(ITEMS, changed(id, { name: 'x'.repeat(900_000) + end }));
  await acme.apply();
  expect(acme.slices.slice(1).map(({ position }) => position)).toEqual([3, 5, 6, 7, 8, 9, 10]);
  expect(await acme.shown('dyn_item', 4)).toHaveLength(1_102);
  expect(await acme.past('dyn_item', id)).toHaveLength(5);
});

test('an event that makes nothing moves the position all the same, and is counted', async () => {
  await acme.apply();
  const before = (await acme.rows.progress('acme'))?.logBytes ?? 0;
  acme.append('users-acme', { type: 'SomethingNew', data: { text: 'x'.repeat(1_000) } });
  await acme.apply();
  const { position, logBytes = 0 } = (await acme.rows.progress('acme')) ?? {};
  expect(position).toBe(2);
  expect(logBytes - before).toBeGreaterThan(1_000);
  expect(logBytes - before).toBeLessThan(2_000);
});

test('refused sign-ins count for nobody', async () => {
  await acme.apply();
  const before = await acme.rows.progress('acme');
  acme.append('users-acme', { type: 'SignInRefused', data: { email: 'eva@acme.example' } });
  await acme.apply();
  expect(await acme.rows.progress('acme')).toMatchObject({ position: 2, logBytes: before?.logBytes });
});

test('deliveries are forgotten at the first event of a day, by the times of events, and what comes later is passed over', async () => {
  const id = randomUUID();
  const deliver = (at: string, type: string, data: object) => acme.appendAt(at, `delivery-acme.${id}`, { type, data });
  const subject = {
    webhookId: randomUUID(),
    kind: 'order.approved',
    orderId: '',
    sourceEventId: '',
    sourceRevision: 1,
  };
  deliver('2026-12-01T08:00:00.000Z', 'DeliveryRequested', subject);
  deliver('2026-12-01T09:00:00.000Z', 'DeliveryFailed', { reason: 'no' });
  acme.appendAt('2026-12-31T09:00:00.000Z', ITEMS, created('tea'));
  acme.appendAt('2026-12-31T10:00:00.000Z', ITEMS, created('mint'));
  await acme.apply();
  expect(await acme.shown('deliveries')).toMatchObject([{ id }]);
  acme.appendAt('2027-01-01T00:00:00.000Z', ITEMS, created('milk'));
  deliver('2027-01-01T00:00:01.000Z', 'DeliveryFailed', { reason: 'no' });
  await acme.apply();
  expect(await acme.shown('deliveries')).toEqual([]);
});

test.each([
  ['a change of a record that is not there', changed(randomUUID(), {}), /There is no record .* of dyn_item to change/],
  ['what is malformed', { type: 'RecordCreated', data: {} }, /undefined/],
])('%s is refused behind all that is before it', async (_, event, message) => {
  acme.append(ITEMS, created('tea'));
  acme.append(ITEMS, created('mint'), event);
  acme.append(ITEMS, created('milk'));
  const applied = acme.apply();
  await expect(applied).rejects.toThrow(message);
  await expect(applied).rejects.toBeInstanceOf(EventNotAppliedError);
  await expect(applied).rejects.toMatchObject({ event: acme.events[3] });
  expect((await acme.shown('dyn_item')).map(({ key }) => key)).toEqual(['tea']);
});

test('a record that is created twice, and a table that does not exist, are refused', async () => {
  const id = randomUUID();
  acme.append(ITEMS, created('tea', id), created('mint', id));
  await expect(acme.apply()).rejects.toThrow(`The record ${id} of dyn_item is created a second time.`);
  const other = new TenantRows();
  other.append('table-acme.dyn_none', created('tea'));
  await expect(other.apply()).rejects.toThrow('There is no table dyn_none.');
});

test('nothing counts before a tenant is created', async () => {
  acme = new TenantRows({ isCreated: false });
  acme.append(ITEMS, created('tea'));
  await acme.apply();
  expect(acme.slices).toEqual([]);
  const data = { name: 'acme', displayName: '', orderModel: 'dyn_stock_order' };
  acme.append('tenant-acme', { type: 'TenantCreated', data });
  acme.append(ITEMS, created('mint'));
  await acme.apply();
  expect(acme.slices.map(({ position }) => position)).toEqual([3]);
});

test('spaces of an earlier release get the fields of this one with the next event', async () => {
  await acme.apply();
  const items = acme.rows.stored.get('acme')?.spaces.get('dyn_item');
  if (items === undefined) throw new Error('There are no items.');
  const now = items.assetType;
  items.assetType = { ...now, fields: now.fields.slice(1) };
  acme.append(ITEMS, created('tea'));
  for await (const { writes } of slicesOf('acme', acme.events.slice(1), acme.rows, { deliveryLogDays: 30 }))
    expect(writes.filter(({ kind }) => kind === 'define')).toEqual([{ kind: 'define', assetType: now }]);
});
