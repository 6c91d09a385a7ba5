/** Reference Data is customizable, Master Data is not (spec §1): fields and tables that a tenant adds. */
import { itOfRequests } from '../../onProductionEngines/repetition.js';
import { expectInvalid, expectRefused } from '../refusals.js';
import { fullestRecord, infoOf } from '../samples.js';
import { ASSETS, type Fields } from '../tenant.js';
import { useService } from '../useService.js';

const { acme, service } = useService({ tenants: { acme: 'dyn_stock_order', hauler: 'dyn_transport_order' } });
const addField = (table: string, body: unknown, token?: string) =>
  acme().platform('POST', `/asset-types/${table}/fields`, token === undefined ? { body } : { body, token });
const addTable = (body: unknown) => acme().platform('POST', '/asset-types', { body });
const KEY = { name: 'external_id', type: 'String', required: true };

describe('a field added', () => {
  it('§1: old records show it as null; it can be set, filtered and sorted by at once', async () => {
    const old = await acme().create('dyn_item', { external_id: 'A1', name: 'Old' });
    await acme().batch('dyn_item', [{ external_id: 'A2', name: 'Old too', _batch_id: 'b' }]);
    const added = await addField('dyn_item', { name: 'colour', type: 'String', filterable: true, sortable: true });
    expect(added.status).toBe(201);

    expect(await acme().get('dyn_item', old.id)).toEqual({ ...old, colour: null });
    expect((await acme().list('dyn_item')).data.map(({ colour }) => colour)).toEqual([null, null]);
    expect(await acme().create('dyn_item', { external_id: 'A3', name: 'New', colour: 'Red' })).toMatchObject({
      colour: 'Red',
    });
    expect(await acme().update('dyn_item', old.id, { colour: 'blue' })).toMatchObject({ colour: 'blue', name: 'Old' });
    await acme().batch('dyn_item', [{ external_id: 'A2', name: 'Old too', colour: 'dark red' }]);

    const found = await acme().list('dyn_item', { 'filter[colour]': 'red', sort: '-colour' });
    expect(found.data.map(({ external_id }) => external_id)).toEqual(['A3', 'A2']);
    const info = await infoOf(acme(), 'dyn_item');
    expect(info.fields.at(-1)).toMatchObject({
      name: 'colour',
      type: 'String',
      filterable: true,
      sortable: true,
      nullable: true,
      custom: true,
    });
  });

  it('decision 0013: one that refers to a table takes a value that names no record there', async () => {
    await addField('dyn_item', { name: 'carrier', type: 'String', refers_to: 'dyn_party' });
    const item = { external_id: 'A4', name: 'Far', carrier: 'nobody' };
    expect(await acme().create('dyn_item', item)).toMatchObject(item);
  });

  it.each(['String', 'LongText', 'Integer', 'Decimal', 'Date', 'DateTime', 'Boolean'])(
    '§2.1: a field of type %s can be added',
    async (type) => {
      const name = `own_${type.toLowerCase()}`;
      await acme().platformData('POST', '/asset-types/dyn_party/fields', { name, type, filterable: true });
      const info = await infoOf(acme(), 'dyn_party');
      const fields = fullestRecord(info, info.fields.length);
      const party = await acme().create('dyn_party', fields);
      expect(party).toMatchObject({ [name]: fields[name] });
      const shown = JSON.stringify(fields[name]).replaceAll('"', '').replaceAll(',', '\\,');
      expect((await acme().list('dyn_party', { [`filter[${name}]`]: shown })).data).toContainEqual(party);
    },
  );

  it('§2.1: a required field added later counts for new records; old ones stay and can still be changed', async () => {
    const old = await acme().create('dyn_unit_code', { code: 'PCE', value: 'Piece' });
    await acme().platformData('POST', '/asset-types/dyn_unit_code/fields', {
      name: 'factor',
      type: 'Decimal',
      required: true,
    });
    await expectInvalid(service(), ['factor'], () => acme().postRecord('dyn_unit_code', { code: 'BX', value: 'Box' }));
    expect(await acme().update('dyn_unit_code', old.id, { value: 'Pieces' })).toMatchObject({
      value: 'Pieces',
      factor: null,
    });
  });
});

describe('a field retired', () => {
  const set = (path: string, body: object) => acme().platform('PUT', `/asset-types/dyn_party_items/${path}`, { body });

  it('§1: is gone from records and bodies, and the past has it; taken back, it has its values again', async () => {
    for (const more of [{ filterable: true, sortable: true }, {}]) {
      const name = 'filterable' in more ? 'grade' : 'shelf';
      await addField('dyn_party_items', { name, type: 'String', ...more });
      const link = { external_id: name, party_id: 'P', item_id: '019aa4a5-3d51-7c3e-9d2f-6b1c0a8e4f10' };
      const { id } = await acme().create('dyn_party_items', { ...link, [name]: 'A' });
      const then = String(await service().logHead());
      expect(await set(`fields/${name}`, { retired: true })).toMatchObject({
        status: 200,
        body: { data: { retired: expect.arrayContaining([expect.objectContaining({ name, type: 'String' })]) } },
      });
      expect(await acme().get('dyn_party_items', id)).not.toHaveProperty(name);
      await expectInvalid(service(), [name], () => acme().putRecord('dyn_party_items', id, { [name]: 'B' }));
      await acme().update('dyn_party_items', id, { customer_item_code: 'C' });
      const past = await acme().getList('dyn_party_items', `at=${then}&filter[external_id]=${name}`);
      expect(past.body).toMatchObject({ data: [{ id, [name]: 'A' }] });
      const history = await acme().send('GET', `${ASSETS}/dyn_party_items/assets/${id}/history`);
      expect(history.body).toMatchObject({ data: [{ change: 'update' }, { fields: { [name]: { to: 'A' } } }] });
      await expectInvalid(service(), ['name'], () => addField('dyn_party_items', { name, type: 'Integer' }));
      expect((await set(`fields/${name}`, { retired: false })).status).toBe(200);
      expect(await acme().get('dyn_party_items', id)).toMatchObject({ [name]: 'A', customer_item_code: 'C' });
    }
    const found = await acme().list('dyn_party_items', { 'filter[grade]': 'a', sort: 'grade' });
    expect(found.data).toMatchObject([{ grade: 'A' }]);
  });

  it('is one that was added, and not the unique one', async () => {
    for (const name of ['external_id', 'active'])
      await expectInvalid(service(), ['retired'], () => set(`fields/${name}`, { retired: true }));
    await expectRefused(service(), 404, () => set('fields/colour', { retired: true }));
    await expectInvalid(service(), ['retired'], () => set('fields/grade', {}));
  });
});

describe('labels', () => {
  const put = (table: string, body: object) => acme().platform('PUT', `/asset-types/${table}/labels`, { body });

  it('in the languages of people are set for any table and its fields, all at once', async () => {
    const labels = { table: { nl: 'Orders' }, fields: { notes: { en: 'Remarks', nl: 'Opmerkingen' } } };
    expect(await put('dyn_stock_order', labels)).toMatchObject({ status: 200, body: { data: { labels } } });
    const { body } = await acme().info('dyn_stock_order');
    expect(body).toMatchObject({ data: { label: 'Stock orders', labels } });
    await put('dyn_stock_order', {});
    expect((await acme().info('dyn_stock_order')).body).toMatchObject({ data: { labels: { table: {}, fields: {} } } });
    const wrong = { table: { fr: 'Commandes' }, fields: { notes: { nl: '' } } };
    await expectInvalid(service(), ['table.fr', 'fields.notes.nl'], () => put('dyn_stock_order', wrong));
    await expectInvalid(service(), ['fields.colour'], () => put('dyn_stock_order', { fields: { colour: {} } }));
    await expectRefused(service(), 404, () => put('dyn_nothing', {}));
  });
});

describe('a table added', () => {
  it('§1: works like any Reference Data table', async () => {
    const answer = await addTable({
      name: 'dyn_warehouse',
      label: 'Warehouses',
      unique_field: 'code',
      fields: [
        { name: 'code', type: 'String', required: true, filterable: true, sortable: true },
        { name: 'doors', type: 'Integer', sortable: true },
      ],
    });
    expect(answer.status).toBe(201);
    expect(await infoOf(acme(), 'dyn_warehouse')).toMatchObject({
      label: 'Warehouses',
      supporting_data: true,
      unique_field: 'code',
    });
    const one = await acme().create('dyn_warehouse', { code: 'N', doors: 4 });
    await expectInvalid(service(), ['code'], () => acme().postRecord('dyn_warehouse', { code: 'N' }));
    await acme().batch('dyn_warehouse', [
      { code: 'S', doors: 2, _batch_id: 'b' },
      { code: 'N', doors: 5 },
    ]);
    expect((await acme().list('dyn_warehouse', { sort: 'doors' })).data.map(({ code }) => code)).toEqual(['S', 'N']);
    expect(await acme().cleanUp('dyn_warehouse', 'b')).toMatchObject({ deleted: 1 });
    await expectRefused(service(), 404, () => acme().getRecord('dyn_warehouse', one.id));
    const token = await acme().token('read:order_data write:order_data');
    await expectRefused(service(), 403, () => acme().getList('dyn_warehouse', '', { token }));
  });

  const good = { name: 'dyn_bad', fields: [KEY] };
  const wrong: readonly (readonly [string, Fields, readonly string[]])[] = [
    ['a name in use', { ...good, name: 'dyn_item' }, ['name']],
    ['a name without dyn_', { ...good, name: 'items' }, ['name']],
    ['a name with SQL', { ...good, name: 'dyn_x"; DROP TABLE records' }, ['name']],
    ['no fields', { ...good, fields: [] }, ['fields']],
    ['a unique field that is not there', { ...good, unique_field: 'code' }, ['unique_field']],
    ['a unique field that is not required', { ...good, fields: [{ ...KEY, required: false }] }, ['unique_field']],
    ['an unknown property', { ...good, supporting_data: false }, ['supporting_data']],
  ];
  itOfRequests.each(wrong)('§7: a table with %s is 422', async (_what, body, fields) => {
    await expectInvalid(service(), fields, () => addTable(body));
  });
});

describe('refusals', () => {
  it.each(['dyn_stock_order', 'dyn_order_line'])('§1: the Master Data table %s cannot be customized', async (table) => {
    await expectInvalid(service(), ['table'], () => addField(table, { name: 'colour', type: 'String' }));
  });

  const wrong: readonly (readonly [string, unknown, readonly string[]])[] = [
    ['a name in use', { name: 'name', type: 'String' }, ['name']],
    ['an unknown type', { name: 'own', type: 'Money' }, ['type']],
    ['sorting of a LongText', { name: 'own', type: 'LongText', sortable: true }, ['sortable']],
    ['a length over 255 of a String', { name: 'own', type: 'String', max_length: 256 }, ['max_length']],
    ['an unknown property', { name: 'own', type: 'String', unique: true }, ['unique']],
  ];
  itOfRequests.each(wrong)('§7: a field with %s is 422', async (_what, body, fields) => {
    await expectInvalid(service(), fields, () => addField('dyn_item', body));
  });
});
