/** Batch upsert: up to 1000 items, all or nothing, matched on the unique field (spec §4.7, §8). */
import { itOfRequests } from '../../onProductionEngines/repetition.js';
import { expectInvalid, expectRefused, fieldErrors } from '../refusals.js';
import { ASSETS } from '../tenant.js';
import { useService } from '../useService.js';

const { acme, service } = useService({ tenants: { acme: 'dyn_stock_order' } });
const BATCH = `${ASSETS}/dyn_item/assets/batch`;

let last = 0;
const newItem = (more: object = {}) => {
  last += 1;
  return { external_id: `B${last}`, name: `Item ${last}`, ...more };
};
const newItems = (count: number, more: object = {}) => Array.from({ length: count }, () => newItem(more));
const total = async (): Promise<number> => (await acme().list('dyn_item')).meta.total;
const byKey = async (key: string) => {
  const { data } = await acme().list('dyn_item', { 'filter[external_id]': key, perPage: '1000' });
  return data.find((record) => record.external_id === key);
};

describe('rule 1', () => {
  it.each([1, 2, 1000])('§4.7 rule 1, §8: %i items are accepted', async (count) => {
    const before = await total();
    const answer = await acme().postBatch('dyn_item', { items: newItems(count) });
    expect(answer).toMatchObject({ status: 200, body: { data: { message: expect.any(String), created: count } } });
    expect(await total()).toBe(before + count);
  });
});

describe('rule 2', () => {
  const bad: readonly (readonly [string, string, string])[] = [
    ['a missing key', '{"name":"X"}', 'items.1.external_id'],
    ['an empty key', '{"external_id":"","name":"X"}', 'items.1.external_id'],
    ['a missing required field', '{"external_id":"X"}', 'items.1.name'],
    ['an unknown field', '{"external_id":"X","name":"X","colour":"red"}', 'items.1.colour'],
    ['__proto__', '{"external_id":"X","name":"X","__proto__":{"sku":"1"}}', 'items.1.__proto__'],
    ['a batch id that is a number', '{"external_id":"X","name":"X","_batch_id":1}', 'items.1._batch_id'],
    ['an id that is no UUID', '{"external_id":"X","name":"X","id":"1"}', 'items.1.id'],
    ['null as item', 'null', 'items.1'],
  ];
  itOfRequests.each(bad)(
    '§4.7 rules 2 and 4: an item with %s rejects the whole batch, and nothing is written',
    async (_what, item, key) => {
      const before = await total();
      const good = newItems(2).map((one) => JSON.stringify(one));
      const raw = `{"items":[${good[0]},${item},${good[1]}]}`;
      await expectInvalid(service(), [key], () => acme().send('POST', BATCH, { raw }));
      expect(await total()).toBe(before);
    },
  );

  it('decision: several invalid items are reported all at once', async () => {
    const items = [newItem(), { name: 'X' }, newItem({ active: 1 }), newItem({ colour: 'red', net_weight: 'x' })];
    const keys = ['items.1.external_id', 'items.2.active', 'items.3.colour', 'items.3.net_weight'];
    await expectInvalid(service(), keys, () => acme().postBatch('dyn_item', { items }));
    const thousand = Array.from({ length: 1000 }, () => ({ external_id: 'same' }));
    const answer = await expectRefused(service(), 422, () => acme().postBatch('dyn_item', { items: thousand }));
    expect(fieldErrors(answer).size).toBe(100);
    expect(answer.body).toMatchObject({
      message: expect.stringMatching(/\(There may be more errors than these 100\.\)$/),
    });
  });
});

describe('rule 3', () => {
  it('§4.7 rule 3: a record with the unique field is updated and keeps its id; another is created', async () => {
    const [one, two] = [newItem(), newItem()];
    const before = await acme().create('dyn_item', { ...one, sku: 'S1' });
    const result = await acme().batch('dyn_item', [{ ...one, name: 'Changed' }, two]);
    expect(result).toMatchObject({ created: 1, updated: 1, unchanged: 0 });
    const after = await acme().get('dyn_item', before.id);
    expect(after).toMatchObject({ id: before.id, created_at: before.created_at, name: 'Changed' });
    expect(after.updated_at > before.updated_at).toBe(true);
    expect(await byKey(two.external_id)).toMatchObject(two);
  });

  it('§4.7 rule 3: the id may be omitted; the right one is accepted, a new one is used', async () => {
    const known = await acme().create('dyn_item', newItem());
    const id = '01a1feb1-0000-7000-8000-000000000001';
    const item = newItem({ id });
    await acme().batch('dyn_item', [{ id: known.id, external_id: known.external_id, name: 'With id' }, item]);
    expect(await acme().get('dyn_item', known.id)).toMatchObject({ name: 'With id' });
    expect(await acme().get('dyn_item', id)).toMatchObject(item);
  });

  it('§4.7 rule 3: an id that belongs to another record is 422 on the item', async () => {
    const [one, two] = [await acme().create('dyn_item', newItem()), await acme().create('dyn_item', newItem())];
    const crossed = { id: two.id, external_id: one.external_id, name: 'X' };
    await expectInvalid(service(), ['items.0.id'], () => acme().postBatch('dyn_item', { items: [crossed] }));
    const taken = newItem({ id: two.id });
    await expectInvalid(service(), ['items.0.id'], () => acme().postBatch('dyn_item', { items: [taken] }));
    const id = '01a1feb1-0000-7000-8000-000000000002';
    const items = [newItem({ id }), newItem({ id })];
    await expectInvalid(service(), ['items.1.id'], () => acme().postBatch('dyn_item', { items }));
  });

  it('decision: the same key twice in one batch is 422 on the later item’s key field', async () => {
    const [one, two] = [newItem(), newItem()];
    const items = [one, two, { ...one, name: 'Again' }, { ...two, name: 'Again' }, one];
    const keys = ['items.2.external_id', 'items.3.external_id', 'items.4.external_id'];
    await expectInvalid(service(), keys, () => acme().postBatch('dyn_item', { items }));
  });

  it('decision: an upsert that changes nothing leaves updated_at, and moves _batch_id', async () => {
    const item = { code: 'PCE', value: 'Piece' };
    await acme().batch('dyn_unit_code', [{ ...item, _batch_id: 'one' }]);
    const [before] = (await acme().list('dyn_unit_code')).data;
    expect(await acme().batch('dyn_unit_code', [{ ...item, _batch_id: 'two' }])).toMatchObject({
      unchanged: 1,
      updated: 0,
    });
    expect((await acme().list('dyn_unit_code')).data).toEqual([before]);
    expect(await acme().cleanUp('dyn_unit_code', 'two')).toMatchObject({ deleted: 0 });
    expect(await acme().cleanUp('dyn_unit_code', 'one')).toMatchObject({ deleted: 1 });
  });
});

describe('rule 4', () => {
  it('§4.7 rule 4: one invalid item of 1000 rejects the whole batch, and nothing is written', async () => {
    const known = await acme().create('dyn_item', newItem());
    const before = await total();
    const items = [
      { external_id: known.external_id, name: 'Must not change' },
      ...newItems(998),
      newItem({ active: 'yes' }),
    ];
    await expectInvalid(service(), ['items.999.active'], () => acme().postBatch('dyn_item', { items }));
    expect(await total()).toBe(before);
    expect(await acme().get('dyn_item', known.id)).toEqual(known);
  });

  it('§4.7: a list read during batches never shows a part of one', async () => {
    let writing = true;
    const totals = new Set<number>();
    const reading = (async () => {
      while (writing) totals.add((await acme().list('dyn_party')).meta.total);
    })();
    for (let batch = 0; batch < 5; batch += 1) {
      const items = Array.from({ length: 1000 }, (_, n) => ({ external_id: `P${batch}-${n}`, name: 'Party' }));
      await acme().batch('dyn_party', items);
    }
    writing = false;
    await reading;
    for (const seen of totals) expect(seen % 1000).toBe(0);
  });
});

describe('dry run', () => {
  it('additive: ?dry_run=true checks and counts, and writes nothing', async () => {
    const known = await acme().create('dyn_item', newItem());
    const before = await service().logHead();
    const items = [{ external_id: known.external_id, name: 'Changed' }, newItem()];
    const query = { dry_run: 'true' };
    const answer = await acme().postBatch('dyn_item', { items }, { query });
    expect(answer).toMatchObject({
      status: 200,
      body: {
        data: {
          created: 1,
          updated: 1,
          unchanged: 0,
          dry_run: true,
          differences: [
            { change: 'create', id: null, fields: { name: { from: null, to: items[1]?.name } } },
            { change: 'update', id: known.id, fields: { name: { from: known.name, to: 'Changed' } } },
          ],
        },
      },
    });
    expect(await service().logHead()).toBe(before);
    await expectInvalid(service(), ['items.0.name'], () =>
      acme().postBatch('dyn_item', { items: [{ external_id: 'X' }] }, { query }),
    );
    await expectRefused(service(), 400, () => acme().postBatch('dyn_item', { items }, { query: { dry_run: 'yes' } }));
  });
});
