/**
 * Names of tables and fields, reserved words of JavaScript, SQL and MongoDB and any Unicode among them, through the whole
 * path over HTTP: the name is refused, or the table works as one with ordinary names does, also after a rebuild.
 */
import { fieldErrors } from '../acceptance/refusals.js';
import { useService } from '../acceptance/useService.js';

const { acme, service } = useService({ tenants: { acme: 'dyn_stock_order' } });

/** Each table has a row of them. */
const TABLES = {
  dyn_constructor: ['then', 'length', 'name', 'value', 'keys', 'type', 'data', 'arguments', 'caller'],
  dyn_prototype: ['null', 'undefined', 'nan', 'eval', 'select', 'from', 'where', 'order', 'group'],
  dyn_rowid: ['table', 'index', 'rowid', 'oid', 'default', 'like', 'row', 'u', 'k', 'g', 'r', 'd', 'c0', 'm0', 'f0'],
  dyn_doc: ['doc', 'batch', 'rank', 'match', 'fields', 'items', 'body', 'errors', 'filter', 'sort', 'page', 'meta'],
  dyn_a_: ['a_', 'z9', 'x'.repeat(63)],
};
const SYSTEM = ['id', 'created_at', 'updated_at', '_batch_id'];
const REFUSED = [
  ...Object.getOwnPropertyNames(Object.prototype),
  ...['constructor', 'prototype', ...SYSTEM, '$where', '$set', 'a.b', 'a-b', '_row', '9a', 'É', 'ß', 'ID', '', ' '],
  ...['a b', 'x'.repeat(64), '🚚', 'a\0', "a'--", 'e\u0301', '\u202ea'],
];

it('a table works whatever its fields are called, also after a rebuild', async () => {
  const shown = async (table: string) => (await acme().list(table)).data;
  const made = new Map<string, Awaited<ReturnType<typeof shown>>>();
  for (const [table, names] of Object.entries(TABLES)) {
    const [key = '', ...others] = names;
    const fields = names.map((name) => ({ name, type: 'String', filterable: true, sortable: true }));
    const [first, ...more] = fields.map((field) => ({ ...field, required: field.name === key }));
    await acme().platformData('POST', '/asset-types', { name: table, unique_field: key, fields: [first, ...more] });
    const record = (n: number) => ({
      [key]: `key ${n}`,
      ...Object.fromEntries(others.map((name) => [name, `${name} ${n % 2}`])),
    });
    const batch = [1, 2, 3, 4].map((n) => ({ ...record(n), _batch_id: n === 4 ? 'old' : 'new' }));
    expect(await acme().batch(table, batch)).toMatchObject({ created: 4 });
    expect(await acme().batch(table, batch)).toMatchObject({ created: 0, updated: 0, unchanged: 4 });
    expect(await shown(table)).toMatchObject([1, 2, 3, 4].map(record));
    for (const name of others) {
      const query = new URLSearchParams([
        [`filter[${name}]`, `${name} 1`],
        ['sort', `-${name},-${key}`],
      ]);
      expect((await acme().list(table, query.toString())).data).toMatchObject([record(3), record(1)]);
    }
    expect(await acme().cleanUp(table, 'new')).toMatchObject({ deleted: 1 });
    made.set(table, await shown(table));
  }
  expect((await service().cli('projections', 'rebuild')).code).toBe(0);
  for (const [table, records] of made) expect(await shown(table)).toEqual(records);
});

it.each(REFUSED)('%j is no name of a field, and is refused at its field', async (name) => {
  const field = { name, type: 'String', filterable: true };
  const added = await acme().platform('POST', '/asset-types/dyn_party/fields', { body: field });
  expect([...fieldErrors(added).keys()]).toEqual(['name']);
  const fields = [{ name: 'code', type: 'String', required: true }, field];
  const table = await acme().platform('POST', '/asset-types', {
    body: { name: 'dyn_x', unique_field: 'code', fields },
  });
  expect(SYSTEM.includes(name) ? ['fields', 'fields.1.name'] : ['fields.1.name']).toContain(
    [...fieldErrors(table).keys()].join(),
  );
  for (const asked of [`filter[${name}]`, 'sort']) {
    const { status } = await acme().getList('dyn_party', new URLSearchParams([[asked, name]]).toString());
    expect([200, 400]).toContain(status);
  }
});
