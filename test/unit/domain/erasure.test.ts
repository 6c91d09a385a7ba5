/** Which values of earlier events are no longer shown after an erasure. */
import { ERASED, type ErasedRecord, Erasures, erasedValue } from '#app/domain/erasure.js';
import { standardTables } from '#app/domain/identity/tenantTables.js';

const tenant = 'acme';
const [ONE, TWO, ORDER, LINE] = [1, 2, 3, 4].map((n) => `0198c1f2-0000-7000-8000-00000000000${n}`) as [
  string,
  string,
  string,
  string,
];
const TABLE = 'table-acme.dyn_party';
const OF_ORDER = `order-acme.${ORDER}`;
const user = { kind: 'user', id: '7', name: 'Eva Smit' };

const event = (stream: string, type: string, data: unknown, place = { revision: 0, position: 10 }) => ({
  stream,
  type,
  data,
  ...place,
  metadata: { tenant, actor: { kind: 'client', id: 'c', name: 'ERP' } },
});
const of = (table: string, id: string, stream: string, until: number, fields: ErasedRecord['fields']) => ({
  tenant,
  table,
  id,
  stream,
  until,
  fields,
});
const after = (...erased: readonly (ErasedRecord | { tenant: string; userId: number })[]): Erasures => {
  const erasures = new Erasures();
  for (const [index, data] of erased.entries()) erasures.add({ data }, 100 + index);
  return erasures;
};
const NAME = { name: ERASED, city_name: null };
const party = (until = 5) => of('dyn_party', ONE, TABLE, until, NAME);
const shown = (erasures: Erasures, ...given: Parameters<typeof event>) => erasures.redact(event(...given)).data;

test('a created record loses its values, and a text that must not be null says that it was erased', () => {
  const data = { id: ONE, fields: { external_id: 'K1', name: 'Jansen', city_name: 'Utrecht' } };
  expect(shown(after(party()), TABLE, 'RecordCreated', data)).toEqual({
    id: ONE,
    fields: { external_id: 'K1', name: ERASED },
  });
});

test('a change keeps the names of its fields', () => {
  const data = { id: ONE, set: { city_name: 'Utrecht', country: 'NL' } };
  expect(shown(after(party()), TABLE, 'RecordChanged', data)).toEqual({
    id: ONE,
    set: { city_name: null, country: 'NL' },
  });
  expect(shown(after(party()), TABLE, 'RecordChanged', { ...data, was: ['Gent', 'BE'] })).toEqual({
    id: ONE,
    set: { city_name: null, country: 'NL' },
    was: [null, 'BE'],
  });
});

test('a batch loses the values of one record alone, and those that it replaced', () => {
  const changed = (id: string) => ({ id, set: { country: 'NL', name: 'New' }, was: ['BE', 'Old'] });
  const created = { id: TWO, fields: { name: 'Other' } };
  const data = { created: [created], changed: [changed(ONE), changed(TWO)], seen: '' };
  expect(shown(after(party()), TABLE, 'BatchUpserted', data)).toEqual({
    created: [created],
    changed: [{ id: ONE, set: { country: 'NL', name: ERASED }, was: ['BE', ERASED] }, changed(TWO)],
    seen: '',
  });
});

test('what was written later, and what another record or tenant has, is the same event', () => {
  const data = { id: ONE, set: { name: 'Later' } };
  const erasures = after(party(5));
  const later = event(TABLE, 'RecordChanged', data, { revision: 6, position: 200 });
  const others = event(TABLE, 'RecordChanged', { id: TWO, set: { name: 'Other' } });
  const foreign = {
    ...event('table-other.dyn_party', 'RecordChanged', data),
    metadata: { tenant: 'other', actor: user },
  };
  for (const each of [later, others, foreign]) expect(erasures.redact(each)).toBe(each);
});

test('an erased unique key is the mark of the first erasure behind it, so that keys stay unique', () => {
  const key = (mark: string, until: number) => of('dyn_party', ONE, TABLE, until, { external_id: mark });
  const erasures = after(key('erased-1', 3), key('erased-2', 8));
  const data = { id: ONE, set: { external_id: 'K1' } };
  expect(shown(erasures, TABLE, 'RecordChanged', data, { revision: 2, position: 1 })).toMatchObject({
    set: { external_id: 'erased-1' },
  });
  expect(shown(erasures, TABLE, 'RecordChanged', data, { revision: 4, position: 1 })).toMatchObject({
    set: { external_id: 'erased-2' },
  });
});

test('an order and its parts lose their values, before and after a change, and the reasons', () => {
  const erasures = after(
    of('dyn_stock_order', ORDER, OF_ORDER, 9, { notes: null, error_reason: null }),
    of('dyn_order_line', LINE, OF_ORDER, 9, { description: null }),
  );
  const status = { from: 'new', to: 'new' };
  expect(
    shown(erasures, OF_ORDER, 'OrderChanged', { status, changes: { notes: { from: null, to: 'Ring Eva' } } }),
  ).toEqual({
    status,
    changes: { notes: { from: null, to: null } },
  });
  const line = { table: 'dyn_order_line', id: LINE, fields: { quantity: 1, description: 'For Eva' } };
  expect(
    shown(erasures, OF_ORDER, 'OrderPartsChanged', { status, added: [line], changed: [], removed: [line] }),
  ).toMatchObject({
    added: [{ fields: { quantity: 1 } }],
    removed: [{ fields: { quantity: 1 } }],
  });
  expect(shown(erasures, OF_ORDER, 'OrderRejected', { status, reasons: ['Eva moved'] })).toEqual({
    status,
    reasons: [],
  });
});

test('an approval that was made before loses the copy of the record; one that was made later keeps it', () => {
  const record = { id: ONE, name: 'Jansen', created_at: '', updated_at: '' };
  const snapshot = {
    table: 'dyn_stock_order',
    order: { id: ORDER },
    parts: [],
    related: { dyn_party: { K1: record } },
  };
  const data = { snapshot, approver: { id: 7, email: 'eva@acme.example', first_name: 'Eva' } };
  const place = (position: number) => ({ revision: 3, position });
  const erasures = after(party());
  expect(shown(erasures, OF_ORDER, 'OrderApproved', data, place(99))).toMatchObject({
    snapshot: { related: { dyn_party: { K1: { id: ONE, name: ERASED } } } },
  });
  expect(shown(erasures, OF_ORDER, 'OrderApproved', data, place(101))).toMatchObject({ snapshot });
});

test('a kept answer of a repeated request loses the values of the records in it', () => {
  const data = { record: { id: ONE, name: 'Jansen' }, lists: { lines: [{ id: TWO, name: 'Other' }] } };
  expect(shown(after(party()), 'request-acme.ab12', 'RequestAnswered', data)).toEqual({
    record: { id: ONE, name: ERASED },
    lists: { lines: [{ id: TWO, name: 'Other' }] },
  });
});

test('an erased user has no name, e-mail address or password in any event, at any time', () => {
  const erasures = after({ tenant, userId: 7 });
  const added = {
    id: 7,
    email: 'eva@acme.example',
    firstName: 'Eva',
    lastName: 'Smit',
    passwordHash: 'x',
    roles: ['admin'],
  };
  const data = shown(erasures, 'users-acme', 'UserAdded', added, { revision: 9, position: 900 });
  expect(JSON.stringify(data)).not.toMatch(/eva|smit|"x"/i);
  const byEva = { ...event(TABLE, 'TableCleanedUp', { batchId: 'b', deleted: 0 }), metadata: { tenant, actor: user } };
  expect(erasures.redact(byEva).metadata.actor).toEqual({ kind: 'user', id: '7', name: ERASED });
});

test('an event without its erased values is known to be concerned all the same', () => {
  const erasures = after(party());
  const before = event(TABLE, 'RecordCreated', { id: ONE, fields: { name: 'Jansen' } });
  const { event: redacted, concerned } = erasures.look(before);
  expect(concerned).toBe(true);
  expect(erasures.look(redacted)).toEqual({ event: redacted, concerned: true });
  expect(erasures.look(event(TABLE, 'RecordCreated', { id: TWO, fields: { name: 'Jansen' } })).concerned).toBe(false);
});

test.each([
  ['dyn_party', 'name', ERASED],
  ['dyn_party', 'city_name', null],
  ['dyn_party', 'external_id', 'mark'],
  ['dyn_order_line', 'quantity', 0],
  ['dyn_order_line', 'order_id', undefined],
  ['dyn_stock_order', 'approved_by', undefined],
  ['dyn_stock_order', 'processing_status', undefined],
  ['dyn_stock_order', 'nothing', undefined],
])('%s.%s becomes %p', (table, field, value) => {
  const assetType = standardTables('dyn_stock_order').get(table);
  expect(assetType && erasedValue(assetType, field, 'mark')).toBe(value);
});
