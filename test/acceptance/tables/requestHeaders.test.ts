/** Headers that make a request safe to send again, or conditional: ETag, If-Match, Idempotency-Key (additive). */
import type { Answer } from '../http.js';
import { expectInvalid, expectRefused } from '../refusals.js';
import type { Fields } from '../tenant.js';
import { useService } from '../useService.js';

const { acme, service } = useService({ tenants: { acme: 'dyn_stock_order' } });

let last = 0;
const newItem = (more: Fields = {}): Fields => {
  last += 1;
  return { external_id: `I${last}`, name: `Item ${last}`, ...more };
};

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
    const packed = String((await list({ 'accept-encoding': 'gzip' })).headers.etag);
    expect(packed).not.toBe(plain);
    for (const tag of [plain, packed, `W/${plain}`, `"x", ${packed}`, `, "x,y" ,,${plain},`]) {
      expect(await list({ 'if-none-match': tag })).toMatchObject({ status: 304, text: '' });
    }
    const packedAgain = await list({ 'if-none-match': packed, 'accept-encoding': 'gzip' });
    expect(packedAgain).toMatchObject({ status: 304, headers: { etag: plain } });
    await acme().create('dyn_item', newItem());
    const today = String((await list()).headers.etag);
    for (const tag of [plain, packed, today.slice(1, -1), `w/${today}`, `${today} "x"`])
      expect(await list({ 'if-none-match': tag })).toMatchObject({ status: 200 });
  });

  it('If-Match: a change is made to what the caller has seen, or is 412 with the ETag of today', async () => {
    for (const [table, id, one, other] of await each()) {
      const seen = String((await read(table, id)).headers.etag);
      expect(await put(table, id, one, seen)).toMatchObject({ status: 200 });
      const refused = await expectRefused(service(), 412, () => put(table, id, other, seen));
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
      await expectRefused(service(), 412, () => put(table, id, {}, seen));
    }
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
    const refused = await expectInvalid(service(), ['Idempotency-Key'], () => cleanUp('another'));
    expect(replayed(refused)).toBe(false);
  });

  it('a taken key is still 422, a malformed one 400, and the client may choose the id as well', async () => {
    const body = newItem();
    await acme().create('dyn_item', body);
    expect(await send('dyn_item', 'k-4', body)).toMatchObject({ status: 422, body: { errors: { external_id: {} } } });
    await expectRefused(service(), 400, () => send('dyn_item', 'two words', newItem()));
    const id = '01a1feb1-9a64-76fa-95fa-131ef9230738';
    const chosen = newItem({ id });
    const answers = [await send('dyn_item', 'k-5', chosen), await send('dyn_item', 'k-5', chosen)];
    expect(answers).toMatchObject([1, 2].map(() => ({ status: 201, body: { data: { id } } })));
    expect(answers.map(replayed)).toEqual([false, true]);
  });
});
