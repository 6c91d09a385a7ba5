/** One record: create, read, update (spec §2.1, §2.2, §4.4 to §4.6). */

import { itOfRequests } from '../../onProductionEngines/repetition.js';
import { expectInvalid, expectRefused } from '../refusals.js';
import { ASSETS, type Fields } from '../tenant.js';
import { useService } from '../useService.js';

const { acme, service } = useService({ tenants: { acme: 'dyn_stock_order' } });
const ITEMS = `${ASSETS}/dyn_item/assets`;

let last = 0;
const newItem = (more: Fields = {}): Fields => {
  last += 1;
  return { external_id: `I${last}`, name: `Item ${last}`, ...more };
};
const total = async (): Promise<number> => (await acme().list('dyn_item')).meta.total;

describe('create', () => {
  it('§4.5: answers 201 with { data: record }, and the record can be read at once', async () => {
    const before = await total();
    const fields = newItem({ brand_name: 'Kade' });
    const answer = await acme().postRecord('dyn_item', fields);
    expect(answer).toMatchObject({ status: 201, headers: { 'content-type': 'application/json; charset=utf-8' } });
    expect(answer.headers['projection-pending']).toBeUndefined();
    const created = await acme().get('dyn_item', String(answer.headers.location).split('/').at(-1) ?? '');
    expect(answer.body).toEqual({ data: created });
    expect(created).toMatchObject(fields);
    expect(await total()).toBe(before + 1);
    expect((await acme().list('dyn_item', { 'filter[external_id]': String(fields.external_id) })).data).toEqual([
      created,
    ]);
  });

  it('§2.1: created_at and updated_at are the same on a new record, and _batch_id is hidden', async () => {
    const created = await acme().create('dyn_item', newItem());
    expect(created.updated_at).toBe(created.created_at);
    expect(Object.keys(created)).not.toContain('_batch_id');
  });

  itOfRequests.each([
    ['name', 'missing', { external_id: 'X' }],
    ['name', 'null', { external_id: 'X', name: null }],
    ['external_id', 'missing', { name: 'X' }],
  ])('§2.1, §4.5: the required field %s may not be %s', async (field, _how, body) => {
    await expectInvalid(service(), [field], () => acme().postRecord('dyn_item', body));
  });

  it('decision: all errors of a body are reported at once', async () => {
    const body = { name: 1, active: 'yes', net_weight: 'heavy', colour: 'red' };
    await expectInvalid(service(), ['external_id', 'name', 'active', 'net_weight', 'colour'], () =>
      acme().postRecord('dyn_item', body),
    );
  });

  it('decision: a key that is taken is 422 naming the field', async () => {
    const item = newItem();
    await acme().create('dyn_item', item);
    await expectInvalid(service(), ['external_id'], () => acme().postRecord('dyn_item', { ...item, name: 'Other' }));
  });

  it('decision: unique keys hold under concurrent writers', async () => {
    const item = newItem();
    const answers = await Promise.all(Array.from({ length: 20 }, () => acme().postRecord('dyn_item', item)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array.from({ length: 19 }, () => 422)]);
    expect((await acme().list('dyn_item', { 'filter[external_id]': String(item.external_id) })).meta.total).toBe(1);
  });
});

describe('get', () => {
  it('§4.4: answers { data: record }', async () => {
    const created = await acme().create('dyn_item', newItem());
    const answer = await acme().getRecord('dyn_item', created.id);
    expect(answer).toMatchObject({ status: 200, body: { data: created } });
    expect(Object.keys(Object(answer.body))).toEqual(['data']);
    expect((await acme().getRecord('dyn_item', created.id.toUpperCase())).body).toEqual({ data: created });
  });

  it.each([
    ['an unknown id', '01a1feb1-9a64-76fa-95fa-131ef9230738'],
    ['a sequential integer', '1'],
    ['a malformed id', 'abc'],
    ['__proto__', '__proto__'],
    ['a quote', '%27%20OR%201%3D1--'],
  ])('§4.4, §4.6, decision: %s is 404', async (_what, id) => {
    await expectRefused(service(), 404, () => acme().getRecord('dyn_item', id));
    await expectRefused(service(), 404, () => acme().putRecord('dyn_item', id, { name: 'X' }));
  });
});

describe('update', () => {
  it('§4.6, decision: PUT is partial: what is not named stays', async () => {
    const created = await acme().create('dyn_item', newItem({ brand_name: 'Kade', sku: 'S1' }));
    const answer = await acme().putRecord('dyn_item', created.id, { sku: 'S2' });
    expect(answer.status).toBe(200);
    const read = await acme().get('dyn_item', created.id);
    expect(answer.body).toEqual({ data: read });
    expect(read).toEqual({ ...created, sku: 'S2', updated_at: read.updated_at });
    expect(read.updated_at > created.updated_at).toBe(true);
  });

  it('decision: null clears a nullable field, and a required one refuses it', async () => {
    const created = await acme().create('dyn_item', newItem({ brand_name: 'Kade' }));
    expect((await acme().update('dyn_item', created.id, { brand_name: null })).brand_name).toBeNull();
    await expectInvalid(service(), ['name'], () => acme().putRecord('dyn_item', created.id, { name: null }));
    await expectInvalid(service(), ['name'], () => acme().putRecord('dyn_item', created.id, { name: '' }));
  });

  it('decision: a record that was read can be sent back; that changes nothing', async () => {
    const created = await acme().create('dyn_item', newItem());
    const before = await service().logHead();
    expect(await acme().update('dyn_item', created.id, created)).toEqual(created);
    expect(await service().logHead()).toBe(before);
  });

  it('decision: read-only system fields in a PUT body are ignored', async () => {
    const created = await acme().create('dyn_item', newItem());
    const times = { created_at: '1999-01-01T00:00:00.000000Z', updated_at: 'nonsense' };
    const updated = await acme().update('dyn_item', created.id, { ...times, sku: 'S3' });
    expect(updated).toMatchObject({ created_at: created.created_at, sku: 'S3' });
    expect(updated.updated_at).not.toBe(times.updated_at);
  });

  it('decision: an id that differs from the path is 422', async () => {
    const created = await acme().create('dyn_item', newItem());
    const other = await acme().create('dyn_item', newItem());
    for (const id of [other.id, 'abc', 7])
      await expectInvalid(service(), ['id'], () => acme().putRecord('dyn_item', created.id, { id, name: 'X' }));
  });

  it('decision: a key that another record has is 422; its own stays allowed; a free one moves it', async () => {
    const one = await acme().create('dyn_item', newItem());
    const two = await acme().create('dyn_item', newItem());
    await expectInvalid(service(), ['external_id'], () =>
      acme().putRecord('dyn_item', two.id, { external_id: one.external_id }),
    );
    await acme().update('dyn_item', two.id, { external_id: two.external_id, name: 'Same key' });
    await acme().update('dyn_item', two.id, { external_id: 'moved' });
    const again = await acme().create('dyn_item', { external_id: two.external_id, name: 'The old key is free' });
    expect(again.id).not.toBe(two.id);
  });

  it('§4.6: concurrent updates of different fields are all there afterwards', async () => {
    const { id } = await acme().create('dyn_item', newItem());
    const fields = ['name', 'sku', 'ean', 'brand_name', 'description', 'category_id', 'product_id'];
    await Promise.all(fields.map((field) => acme().update('dyn_item', id, { [field]: 'new' })));
    expect(await acme().get('dyn_item', id)).toMatchObject(Object.fromEntries(fields.map((field) => [field, 'new'])));
  });
});

describe('§4.7: an id of null is one that was left out', () => {
  it('of a record that is created, also with an Idempotency-Key, changed, or sent in a batch', async () => {
    const body = newItem({ id: null });
    const send = () => acme().postRecord('dyn_item', body, { headers: { 'Idempotency-Key': 'null-id' } });
    const [first, second] = [await send(), await send()];
    expect([first.status, second.text]).toEqual([201, first.text]);
    const id = String(first.headers.location).split('/').at(-1) ?? '';
    expect(await acme().update('dyn_item', id, { id: null, name: 'Changed' })).toMatchObject({ id, name: 'Changed' });
    const known = newItem({ external_id: body.external_id, id: null });
    expect(await acme().batch('dyn_item', [known, newItem({ id: null })])).toMatchObject({ created: 1, updated: 1 });
    expect((await acme().get('dyn_item', id)).name).toBe(known.name);
  });
});

describe('bodies that are no record', () => {
  const required = '"external_id":"BAD","name":"Bad"';
  const having = (more: string) => `{${required},${more}}`;
  const bodies: readonly (readonly [string, string, readonly string[]])[] = [
    ['an unknown field', having('"colour":"red"'), ['colour']],
    ['_batch_id, which only batch items carry (§2.1)', having('"_batch_id":"b"'), ['_batch_id']],
    ['__proto__', having('"__proto__":{"polluted":true}'), ['__proto__']],
    ['lists in lists, 20 deep', having(`"sku":${'['.repeat(20)}${']'.repeat(20)}`), ['sku']],
    ...['[]', 'null'].map((raw) => [raw, raw, ['body']] as const),
  ];

  itOfRequests.each(bodies)(
    '§7: a body with %s is refused on create and update, and nothing is stored',
    async (_what, raw, fields) => {
      const target = await acme().create('dyn_item', newItem());
      for (const [method, path] of [
        ['POST', ITEMS],
        ['PUT', `${ITEMS}/${target.id}`],
      ] as const) {
        await expectInvalid(service(), fields, () => acme().send(method, path, { raw }));
      }
      expect(await acme().get('dyn_item', target.id)).toEqual(target);
      expect((await acme().list('dyn_item', { 'filter[external_id]': 'BAD' })).meta.total).toBe(0);
    },
  );
});
