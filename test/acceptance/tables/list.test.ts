/** Lists: pages and links (spec §2.2, §4.3, §8). */

import { itOfRequests } from '../../onProductionEngines/repetition.js';
import { contains, fillItems, follow, ITEMS, ids } from '../itemList.js';
import { expectRefused } from '../refusals.js';
import type { AssetRecord, Query, RecordExport } from '../tenant.js';
import { useService } from '../useService.js';

const { acme, service } = useService({ tenants: { acme: 'dyn_stock_order' } });

/** All records in the order of their creation. */
let records: readonly AssetRecord[] = [];
beforeAll(async () => {
  records = await fillItems(acme());
});

const list = (query: Query | string = '') => acme().list('dyn_item', query);

describe('pages', () => {
  it('§4.3, §8: page 1 of 25 by default', async () => {
    const page = await list();
    expect(page.data).toHaveLength(25);
    expect(page.meta).toEqual({ current_page: 1, from: 1, to: 25, per_page: 25, last_page: 44, total: ITEMS });
  });

  it('decision: without sort, records come in the order of their creation', () => {
    expect(records.map(({ external_id }) => external_id)).toEqual(Array.from({ length: ITEMS }, (_, n) => `E${n}`));
  });

  it.each([25, 100, 1000])('§4.3, §8: perPage=%i is accepted, and meta.per_page says so', async (perPage) => {
    const { data, meta } = await list({ perPage: String(perPage), page: '2' });
    expect(ids(data)).toEqual(ids(records.slice(perPage, 2 * perPage)));
    expect(meta).toEqual({
      current_page: 2,
      from: perPage + 1,
      to: Math.min(2 * perPage, ITEMS),
      per_page: perPage,
      last_page: Math.ceil(ITEMS / perPage),
      total: ITEMS,
    });
  });

  itOfRequests.each(['10', '0', '1e2', ''])('§4.3: perPage=%j falls back to 25', async (perPage) => {
    const { data, meta } = await list({ perPage });
    expect(data).toHaveLength(25);
    expect(meta.per_page).toBe(25);
  });

  it.each(['45', '9000000000000'])('§4.3: page %s beyond last_page has an empty data array', async (page) => {
    const { data, meta, links } = await list({ page });
    expect(data).toEqual([]);
    expect(meta).toMatchObject({ current_page: Number(page), from: 0, to: 0, last_page: 44, total: ITEMS });
    expect(links.next).toBeNull();
    expect(links.prev).toContain('page=44&');
  });

  itOfRequests.each(['0', '1.5', '', '99999999999999999999'])('decision: page=%j is 400', async (page) => {
    await expectRefused(service(), 400, () => acme().getList('dyn_item', { page }));
  });

  it('§2.2: an empty table has one empty page', async () => {
    const { data, meta, links } = await acme().list('dyn_party');
    expect(data).toEqual([]);
    expect(meta).toEqual({ current_page: 1, from: 0, to: 0, per_page: 25, last_page: 1, total: 0 });
    expect(links).toMatchObject({ prev: null, next: null });
  });
});

describe('links', () => {
  it('§2.2: links are absolute, and carry page, perPage, filter and sort as they are in force', async () => {
    const { links, meta } = await list('filter[name]=tea&sort=-sku&page=2&perPage=7');
    const link = (page: number) =>
      `http://${acme().host}/api/v1/dynamic-assets/dyn/dyn_item/assets?page=${page}&perPage=25&filter%5Bname%5D=tea&sort=-sku`;
    expect(links).toEqual({ first: link(1), last: link(meta.last_page), prev: link(1), next: link(3) });
  });

  it('§2.2: along the next links one sees every record once', async () => {
    expect(ids(await follow(acme(), { perPage: '100' }))).toEqual(ids(records));
  });

  it('§2.2, §4.3: links keep filter, sort and perPage, special characters too', async () => {
    const query = {
      'filter[name]': '100%,\\slash,é,&=#+ ',
      'filter[brand_name]': 'KADE',
      sort: '-sku,name',
      perPage: '25',
    };
    const wanted = records.filter(
      (record) =>
        ['100%', '\\slash', 'é', '&=#+ '].some((text) => contains(record, 'name', text)) &&
        contains(record, 'brand_name', 'kade'),
    );
    const found = await follow(acme(), query);
    expect(wanted.length).toBeGreaterThan(100);
    expect(new Set(ids(found)).size).toBe(found.length);
    expect(ids(found).toSorted()).toEqual(ids(wanted).toSorted());
  });
});

describe('compression', () => {
  const page = (encoding: string, query: Query = { perPage: '1000' }) =>
    acme().getList('dyn_item', query, { headers: { 'accept-encoding': encoding } });

  it('a long answer is sent in gzip where the client accepts it', async () => {
    const plain = await acme().getList('dyn_item', { perPage: '1000' });
    const packed = await page('br, gzip');
    expect(packed.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept-Encoding' });
    expect(Number(packed.headers['content-length'])).toBeLessThan(Buffer.byteLength(plain.text) / 4);
    expect(packed.text).toBe(plain.text);
    expect(plain.headers).toMatchObject({ vary: 'Accept-Encoding' });
    expect(plain.headers).not.toHaveProperty('content-encoding');
  });
});

describe('cursors', () => {
  it('go through all records in the order of creation, once each, and end', async () => {
    const found: AssetRecord[] = [];
    const sizes: number[] = [];
    let page = await acme().export('dyn_item', { cursor: '', perPage: '1000' });
    for (;;) {
      found.push(...page.data);
      sizes.push(page.data.length);
      if (page.links.next === null) break;
      expect(new URL(page.links.next).searchParams.get('cursor')).toBe(page.meta.next_cursor);
      page = await acme().export('dyn_item', new URL(page.links.next).search.slice(1));
    }
    expect(found).toEqual(records);
    expect(sizes).toEqual([1000, ITEMS - 1000]);
    expect(page.meta).toEqual({ per_page: 1000, next_cursor: null });
  });

  it('go with filters and backwards, and the size of a page may change', async () => {
    const asked = { 'filter[name]': 'coffee', 'filter[sku][gte]': 'S5', sort: '-created_at' };
    const wanted = records.filter((r) => contains(r, 'name', 'coffee') && String(r.sku) >= 'S5').toReversed();
    const first = await acme().export('dyn_item', { ...asked, cursor: '' });
    expect(ids(first.data)).toEqual(ids(wanted.slice(0, 25)));
    const rest = await acme().export('dyn_item', { ...asked, cursor: String(first.meta.next_cursor), perPage: '1000' });
    expect(ids(rest.data)).toEqual(ids(wanted.slice(25)));
    expect(rest.meta.next_cursor).toBeNull();
  });

  it('a record that is there all the while comes once, whatever is written meanwhile', async () => {
    const seen: string[] = [];
    let cursor: string | null = '';
    for (let n = 0; cursor !== null; n++) {
      const page: RecordExport = await acme().export('dyn_party', { cursor, perPage: '25' });
      seen.push(...ids(page.data));
      cursor = page.meta.next_cursor;
      if (n > 3) continue;
      const items = Array.from({ length: 40 }, (_, at) => ({ external_id: `P${n}-${at}`, name: `Party ${at}` }));
      await acme().batch('dyn_party', [...items, ...seen.slice(0, 5).map((id) => ({ external_id: id, name: 'x' }))]);
      if (n === 0) cursor = '';
    }
    const all = await acme().list('dyn_party', { perPage: '1000' });
    expect(new Set(seen).size).toBe(seen.length);
    expect([...seen].sort()).toEqual([...ids(all.data)].sort());
  });

  itOfRequests.each([
    ['a page', { cursor: '', page: '2' }],
    ['a sort by what may change', { cursor: '', sort: 'updated_at' }],
    ['a text of another kind', { cursor: 'abc' }],
  ])('with %s is 400', async (_what, query) => {
    await expectRefused(service(), 400, () => acme().getList('dyn_item', query));
  });
});
