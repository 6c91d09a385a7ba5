/** One record: create, read, update (spec §2.1, §2.2, §4.4 to §4.6). */

import { itOfRequests } from '../../onProductionEngines/repetition.js';
import type { Answer } from '../http.js';
import { expectInvalid, expectRefused } from '../refusals.js';
import { ASSETS, type Fields } from '../tenant.js';
import { useService } from '../useService.js';

const run = useService({ tenants: { acme: 'dyn_stock_order' } });
const acme = () => run.tenant('acme');
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

  it('§2.1: a nullable field may be null or omitted; both read as null', async () => {
    const created = await acme().create('dyn_item', newItem({ sku: null }));
    expect(created).toMatchObject({ sku: null, ean: null });
  });

  it('§2.1: created_at and updated_at are the same on a new record, and _batch_id is hidden', async () => {
    const created = await acme().create('dyn_item', newItem());
    expect(created.updated_at).toBe(created.created_at);
    expect(Object.keys(created)).not.toContain('_batch_id');
  });

  itOfRequests.each([
    ['name', 'missing', { external_id: 'X' }],
    ['name', 'null', { external_id: 'X', name: null }],
    ['name', 'empty', { external_id: 'X', name: '' }],
    ['external_id', 'missing', { name: 'X' }],
    ['external_id', 'null', { name: 'X', external_id: null }],
    ['external_id', 'empty', { name: 'X', external_id: '' }],
  ])('§2.1, §4.5: the required field %s may not be %s', async (field, _how, body) => {
    await expectInvalid(run.service, [field], () => acme().postRecord('dyn_item', body));
  });

  it('decision: all errors of a body are reported at once', async () => {
    const body = { name: 1, active: 'yes', net_weight: 'heavy', colour: 'red' };
    await expectInvalid(run.service, ['external_id', 'name', 'active', 'net_weight', 'colour'], () =>
      acme().postRecord('dyn_item', body),
    );
  });

  it('decision: a key that is taken is 422 naming the field', async () => {
    const item = newItem();
    await acme().create('dyn_item', item);
    await expectInvalid(run.service, ['external_id'], () => acme().postRecord('dyn_item', { ...item, name: 'Other' }));
  });

  it('§2.1, §4.7 rule 3: keys are compared exactly', async () => {
    const keys = ['exact', 'EXACT', 'exact ', '007', '7', '7.0', 'é', 'e\u0301'];
    for (const external_id of keys) await acme().create('dyn_item', { external_id, name: 'X' });
    const counts = await acme().batch(
      'dyn_item',
      keys.map((external_id) => ({ external_id, name: `Name of ${external_id}` })),
    );
    expect(counts).toMatchObject({ created: 0, updated: keys.length });
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
    ['an id that is too long', `${'0'.repeat(500)}`],
    ['__proto__', '__proto__'],
    ['a NUL character', '%00'],
    ['a quote', '%27%20OR%201%3D1--'],
    ['a path', '..%2F..%2Fdyn_party'],
  ])('§4.4, §4.6, decision: %s is 404', async (_what, id) => {
    await expectRefused(run.service, 404, () => acme().getRecord('dyn_item', id));
    await expectRefused(run.service, 404, () => acme().putRecord('dyn_item', id, { name: 'X' }));
  });

  it('§7: an escape that is none is 400', async () => {
    await expectRefused(run.service, 400, () => acme().getRecord('dyn_item', '%E0%A4%A'));
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
    await expectInvalid(run.service, ['name'], () => acme().putRecord('dyn_item', created.id, { name: null }));
    await expectInvalid(run.service, ['name'], () => acme().putRecord('dyn_item', created.id, { name: '' }));
  });

  it('decision: a record that was read can be sent back; that changes nothing', async () => {
    const created = await acme().create('dyn_item', newItem());
    const before = await run.service.logHead();
    expect(await acme().update('dyn_item', created.id, created)).toEqual(created);
    expect(await run.service.logHead()).toBe(before);
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
      await expectInvalid(run.service, ['id'], () => acme().putRecord('dyn_item', created.id, { id, name: 'X' }));
  });

  it('decision: a key that another record has is 422; its own stays allowed; a free one moves it', async () => {
    const one = await acme().create('dyn_item', newItem());
    const two = await acme().create('dyn_item', newItem());
    await expectInvalid(run.service, ['external_id'], () =>
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

describe('ETag', () => {
  const read = async (table: string, id: string, headers: Record<string, string> = {}) =>
    acme().getRecord(table, id, { headers });
  const put = (table: string, id: string, body: Fields, tag: string) =>
    acme().putRecord(table, id, body, { headers: { 'if-match': tag } });

  /** One of each kind of table, and two changes of it. */
  const each = async (): Promise<readonly [table: string, id: string, one: Fields, other: Fields][]> => {
    const item = await acme().create('dyn_item', newItem());
    const order = await acme().create('dyn_stock_order', { notes: 'none' });
    const line = await acme().create('dyn_order_line', { order_id: order.id, quantity: 1 });
    return [
      ['dyn_item', item.id, { name: 'one' }, { name: 'other' }],
      ['dyn_stock_order', order.id, { notes: 'one' }, { processing_status: 'validated' }],
      ['dyn_order_line', line.id, { quantity: 2.5 }, { quantity: 3 }],
    ];
  };

  it('a get, a create and an update show the same one for the same record; with it, a get is 304', async () => {
    const created = await acme().postRecord('dyn_item', newItem());
    const id = String(created.headers.location).split('/').at(-1) ?? '';
    expect((await read('dyn_item', id)).headers.etag).toBe(created.headers.etag);
    for (const [table, id, one] of await each()) {
      const before = String((await read(table, id)).headers.etag);
      expect(before).toMatch(/^"[\w-]{22}"$/);
      const updated = await acme().putRecord(table, id, one);
      expect(updated.headers.etag).not.toBe(before);
      expect((await read(table, id)).headers.etag).toBe(updated.headers.etag);
      const again = await read(table, id, { 'if-none-match': String(updated.headers.etag) });
      expect(again).toMatchObject({ status: 304, text: '', headers: { etag: updated.headers.etag } });
      expect(await read(table, id, { 'if-none-match': before })).toMatchObject({ status: 200 });
    }
  });

  it('a list is 304 until its table changes, compressed or not', async () => {
    for (let n = 0; n < 10; n++) await acme().create('dyn_item', newItem());
    const list = (headers: Record<string, string> = {}) =>
      acme().getList('dyn_item', { sort: '-created_at' }, { headers });
    const plain = String((await list()).headers.etag);
    const packed = String((await list({ 'accept-encoding': 'br' })).headers.etag);
    expect(packed).not.toBe(plain);
    const apaches = plain.replace(/"$/, '-gzip"');
    for (const tag of [plain, packed, `W/${plain}`, `"x", ${packed}`, `, "x,y" ,,${plain},`, `W/${packed}`, apaches]) {
      expect(await list({ 'if-none-match': tag })).toMatchObject({ status: 304, text: '' });
    }
    const packedAgain = await list({ 'if-none-match': packed, 'accept-encoding': 'br' });
    expect(packedAgain).toMatchObject({ status: 304, headers: { etag: packed } });
    await acme().create('dyn_item', newItem());
    for (const tag of [plain, packed]) expect(await list({ 'if-none-match': tag })).toMatchObject({ status: 200 });
  });

  it('If-Match: a change is made to what the caller has seen, or is 412 with the ETag of today', async () => {
    for (const [table, id, one, other] of await each()) {
      const seen = String((await read(table, id)).headers.etag);
      expect(await put(table, id, one, seen)).toMatchObject({ status: 200 });
      const refused = await expectRefused(run.service, 412, () => put(table, id, other, seen));
      const today = (await read(table, id)).headers.etag;
      expect(refused.headers.etag).toBe(today);
      expect(await put(table, id, other, `"x", ${today}`)).toMatchObject({ status: 200 });
      expect(await put(table, id, one, '*')).toMatchObject({ status: 200 });
    }
  });

  it('If-Match: of many writers that have seen the same, one wins, also where nothing is to change', async () => {
    for (const [table, id, one, other] of await each()) {
      const seen = String((await read(table, id)).headers.etag);
      const answers = await Promise.all(
        Array.from({ length: 16 }, (_, n) => put(table, id, n % 2 ? one : other, seen)),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(15).fill(412)]);
      const won = answers.find(({ status }) => status === 200);
      expect((await read(table, id)).text).toBe(won?.text);
      await expectRefused(run.service, 412, () => put(table, id, {}, seen));
    }
  });

  it('If-Match: a tag that a proxy has changed by compressing is taken for ours, while the record is as it was', async () => {
    for (const [table, id, one] of await each()) {
      const tag = String((await read(table, id)).headers.etag);
      const ended = (ending: string): string => tag.replace(/"$/, `${ending}"`);
      const changed = [`W/${tag}`, ended('-gzip'), `W/${ended('--gzip')}`, `"x,y",, ${ended('.br')} ,`];
      for (const seen of changed) expect(await put(table, id, {}, seen)).toMatchObject({ status: 200 });
      await acme().update(table, id, one);
      for (const seen of changed) await expectRefused(run.service, 412, () => put(table, id, {}, seen));
    }
  });

  it('If-Match: what is no tag is 400, and a record that is not there is 404', async () => {
    const { id } = await acme().create('dyn_item', newItem());
    const tag = String((await read('dyn_item', id)).headers.etag);
    await expectRefused(run.service, 400, () => put('dyn_item', id, { name: 'x' }, tag.slice(1)));
    const unknown = '01a1feb1-9a64-76fa-95fa-131ef9230738';
    await expectRefused(run.service, 404, () => put('dyn_item', unknown, { name: 'x' }, '*'));
  });
});

describe('Idempotency-Key', () => {
  const send = (table: string, key: string, body: Fields) =>
    acme().postRecord(table, body, { headers: { 'idempotency-key': key } });
  const count = async (table: string): Promise<number> => (await acme().list(table)).meta.total;
  const replayed = ({ headers }: Answer): boolean => headers['idempotency-replayed'] === 'true';

  it('sent again, also at the same time, a create makes nothing more and is answered as before, in every kind of table', async () => {
    const order = await acme().create('dyn_stock_order', {});
    for (const [table, body] of [
      ['dyn_item', newItem({ brand_name: 'Kade' })],
      ['dyn_stock_order', { notes: 'once' }],
      ['dyn_stock_order', { notes: 'with lines', lines: [{ quantity: 1 }, { quantity: 2 }] }],
      ['dyn_order_line', { order_id: order.id, quantity: 2 }],
    ] as const) {
      const before = await count(table);
      const key = `k-${JSON.stringify(body).length}`;
      const answers = await Promise.all(Array.from({ length: 20 }, () => send(table, key, body)));
      const [first] = answers;
      expect(first).toMatchObject({ status: 201, headers: { etag: expect.any(String) } });
      const id = String(first?.headers.location).split('/').at(-1) ?? '';
      expect(first?.body).toMatchObject({ data: await acme().get(table, id) });
      const change =
        table === 'dyn_item' ? { name: 'Changed' } : table === 'dyn_order_line' ? { quantity: 3 } : { notes: 'x' };
      await acme().update(table, id, change);
      answers.push(await send(table, key, Object.fromEntries(Object.entries(body).reverse())));
      for (const { status, text, headers } of answers) {
        expect({ table, status, text, etag: headers.etag }).toEqual({
          table,
          status: 201,
          text: first?.text,
          etag: first?.headers.etag,
        });
        expect(headers['projection-pending']).toBeUndefined();
      }
      // All but the one that did it.
      expect(answers.filter(replayed)).toHaveLength(answers.length - 1);
      expect(await count(table)).toBe(before + 1);
    }
  });

  it('another body is 422, whatever order it names', async () => {
    const [one, other] = [await acme().create('dyn_stock_order', {}), await acme().create('dyn_stock_order', {})];
    await send('dyn_order_line', 'k-2', { order_id: one.id, quantity: 1 });
    for (const body of [
      { order_id: one.id, quantity: 2 },
      { order_id: other.id, quantity: 1 },
    ]) {
      await expectInvalid(run.service, ['Idempotency-Key'], () => send('dyn_order_line', 'k-2', body));
    }
  });

  it('a key that came back with its old id is created once as well', async () => {
    const body = { code: 'KEG', value: 'Keg' };
    await acme().create('dyn_unit_code', body);
    await acme().cleanUp('dyn_unit_code', 'none');
    const answers = await Promise.all(Array.from({ length: 8 }, () => send('dyn_unit_code', 'k-3', body)));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(201);
  });

  it('a batch and a clean-up are carried out once as well, and answered as before', async () => {
    const headers = { 'idempotency-key': 'k-6' };
    const items = ['P1', 'P2'].map((code) => ({ code, value: code, _batch_id: 'keyed' }));
    const batch = () => acme().postBatch('dyn_unit_code', { items }, { headers });
    const answers = await Promise.all(Array.from({ length: 4 }, batch));
    await acme().batch('dyn_unit_code', [{ code: 'P1', value: 'changed since' }]);
    answers.push(await batch());
    for (const { body } of answers) expect(body).toMatchObject({ data: { created: 2, updated: 0, unchanged: 0 } });
    expect(answers.filter(replayed)).toHaveLength(4);
    expect((await acme().list('dyn_unit_code', { 'filter[code]': 'P1' })).data).toMatchObject([
      { value: 'changed since' },
    ]);
    const cleanUp = (batch_id: string) =>
      acme().postCleanUp('dyn_unit_code', { batch_id }, { headers: { 'idempotency-key': 'k-7' } });
    const [one, other] = [await cleanUp('keyed'), await cleanUp('keyed')];
    expect([one.status, other.text]).toEqual([200, one.text]);
    expect([one, other].map(replayed)).toEqual([false, true]);
    const refused = await expectInvalid(run.service, ['Idempotency-Key'], () => cleanUp('another'));
    expect(replayed(refused)).toBe(false);
    await expectRefused(run.service, 400, () =>
      acme().send('POST', `${ASSETS}/dyn_unit_code/assets/batch?dry_run=true`, { body: { items }, headers }),
    );
  });

  it('a taken key is still 422, a malformed one 400, and with an id of the client’s own it is 422', async () => {
    const body = newItem();
    await acme().create('dyn_item', body);
    expect(await send('dyn_item', 'k-4', body)).toMatchObject({ status: 422, body: { errors: { external_id: {} } } });
    await expectRefused(run.service, 400, () => send('dyn_item', 'two words', newItem()));
    const id = '01a1feb1-9a64-76fa-95fa-131ef9230738';
    await expectInvalid(run.service, ['id'], () => send('dyn_item', 'k-5', newItem({ id })));
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

  it('of an order, and of its parts in it or by themselves', async () => {
    const order = await acme().create('dyn_stock_order', {
      id: null,
      lines: [{ id: null, order_id: null, quantity: 1 }],
    });
    expect(order.lines).toMatchObject([{ id: expect.stringMatching(/^[\da-f-]{36}$/), order_id: order.id }]);
    const line = await acme().create('dyn_order_line', { id: null, order_id: order.id, quantity: 2 });
    expect(await acme().update('dyn_order_line', line.id, { id: null, quantity: 3 })).toMatchObject({ id: line.id });
    const lines = [{ id: line.id }, { id: null, quantity: 5 }];
    const changed = await acme().update('dyn_stock_order', order.id, { id: null, lines });
    expect(changed.lines).toMatchObject([{ id: line.id, quantity: 3 }, { quantity: 5 }]);
  });
});

describe('bodies that are no record', () => {
  const required = '"external_id":"BAD","name":"Bad"';
  const nested = (levels: number) => `{${required},"sku":${'['.repeat(levels)}${']'.repeat(levels)}}`;
  const having = (more: string) => `{${required},${more}}`;
  const objects = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
  const noUtf8 = Buffer.concat([Buffer.from(`{${required},"sku":"`), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]);
  const unreadable = ['', `{${required}`, `{${required}}{}`, `{${required}}//`, noUtf8, objects(33), nested(100_000)];
  const bodies: readonly (readonly [string, string | Buffer, number, readonly string[]])[] = [
    ['an unknown field', having('"colour":"red"'), 422, ['colour']],
    ['_batch_id, which only batch items carry (§2.1)', having('"_batch_id":"b"'), 422, ['_batch_id']],
    ['__proto__', having('"__proto__":{"polluted":true}'), 422, ['__proto__']],
    ['constructor', having('"constructor":{"prototype":{"polluted":true}}'), 422, ['constructor']],
    ['an unknown field with an empty name', having('"":1'), 422, ['']],
    ['lists in lists, 20 deep', nested(20), 422, ['sku']],
    ...['[]', `[{${required}}]`, '"x"', '1', 'true', 'null'].map((raw) => [raw, raw, 422, ['body']] as const),
    ...unreadable.map((raw) => [`what is no JSON, or too deep: ${String(raw).slice(0, 40)}`, raw, 400, []] as const),
    ['more bytes than the limit', having(`"description":"${'x'.repeat(2_100_000)}"`), 413, []],
  ];

  itOfRequests.each(bodies)(
    '§7: a body with %s is refused on create and update, and nothing is stored',
    async (_what, raw, status, fields) => {
      const target = await acme().create('dyn_item', newItem());
      for (const [method, path] of [
        ['POST', ITEMS],
        ['PUT', `${ITEMS}/${target.id}`],
      ] as const) {
        const send = () => acme().send(method, path, { raw });
        if (status === 422) await expectInvalid(run.service, fields, send);
        else await expectRefused(run.service, status, send);
      }
      expect(await acme().get('dyn_item', target.id)).toEqual(target);
      expect((await acme().list('dyn_item', { 'filter[external_id]': 'BAD' })).meta.total).toBe(0);
    },
  );

  it('§7: fields of __proto__ do not stand in for the required ones', async () => {
    const raw = '{"__proto__":{"external_id":"BAD","name":"Bad"}}';
    await expectInvalid(run.service, ['__proto__', 'external_id', 'name'], () => acme().send('POST', ITEMS, { raw }));
  });

  it('§7: nothing of them has reached the prototype of the service’s objects', async () => {
    const { id } = await acme().create('dyn_item', newItem());
    expect((await acme().getRecord('dyn_item', id)).text).not.toContain('polluted');
  });
});
