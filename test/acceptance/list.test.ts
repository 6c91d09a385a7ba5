/** Lists: pages, links, filters and sorts, compared with the same done by hand in memory (spec §2.2, §4.3). */
import { addTableOfEveryType, EVERY_TYPE } from './everyType.js';
import { expectRefused } from './refusals.js';
import type { AssetRecord, Query, RecordList } from './tenant.js';
import { useService } from './useService.js';

const run = useService({ tenants: { acme: 'dyn_stock_order' } });
const acme = () => run.tenant('acme');

const WORDS = ['Tea', 'coffee', 'ÉCLAIR', 'Sugar 100%', 'oat_drink', 'back\\slash', 'Salt, fine', '漢字', "O'Neil"];
const BRANDS = ['Kade', 'kade', 'Theehuis', null, 'ZUIVEL'];
const ITEMS = 2500;

/** All records in the order of their creation. */
let records: readonly AssetRecord[] = [];

beforeAll(async () => {
  const items = Array.from({ length: ITEMS }, (_, n) => ({
    external_id: `E${n}`,
    name: `${WORDS[n % WORDS.length]} ${n % 100}`,
    brand_name: BRANDS[n % BRANDS.length],
    sku: `S${(n * 7919) % 10_007}`,
  }));
  for (let at = 0; at < ITEMS; at += 1000) await acme().batch('dyn_item', items.slice(at, at + 1000));
  const pages = await Promise.all(
    [1, 2, 3].map((page) => acme().list('dyn_item', { page: `${page}`, perPage: '1000' })),
  );
  records = pages.flatMap(({ data }) => data);
  await addTableOfEveryType(acme());
});

const list = (query: Query | string = '') => acme().list('dyn_item', query);
const ids = (found: readonly AssetRecord[]) => found.map(({ id }) => id);
const contains = (record: AssetRecord, field: string, text: string): boolean =>
  String(record[field] ?? '')
    .toLowerCase()
    .includes(text.toLowerCase());

/** Every record of a list, page by page along its `next` links. */
async function follow(query: Query): Promise<AssetRecord[]> {
  const found: AssetRecord[] = [];
  let page: RecordList = await list(query);
  found.push(...page.data);
  while (page.links.next !== null) {
    const { search } = new URL(page.links.next);
    page = await list(search.slice(1));
    found.push(...page.data);
  }
  return found;
}

describe('pages', () => {
  it('§4.3, §8: page 1 of 25 by default', async () => {
    const page = await list();
    expect(page.data).toHaveLength(25);
    expect(page.meta).toEqual({ current_page: 1, from: 1, to: 25, per_page: 25, last_page: 100, total: ITEMS });
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
      to: 2 * perPage,
      per_page: perPage,
      last_page: Math.ceil(ITEMS / perPage),
      total: ITEMS,
    });
  });

  it.each(['10', '0', '-25', '26', '50', '1e2', '100.0', 'abc', '', ' 100', '1000000'])(
    '§4.3: perPage=%j falls back to 25',
    async (perPage) => {
      const { data, meta } = await list({ perPage });
      expect(data).toHaveLength(25);
      expect(meta.per_page).toBe(25);
    },
  );

  it('§4.3: the last page holds the rest', async () => {
    const { data, meta, links } = await list({ perPage: '1000', page: '3' });
    expect(ids(data)).toEqual(ids(records.slice(2000)));
    expect(meta).toMatchObject({ from: 2001, to: 2500, last_page: 3 });
    expect(links.next).toBeNull();
  });

  it.each(['101', '9999', '1000000000'])('§4.3: page %s beyond last_page has an empty data array', async (page) => {
    const { data, meta, links } = await list({ page });
    expect(data).toEqual([]);
    expect(meta).toMatchObject({ current_page: Number(page), last_page: 100, total: ITEMS });
    expect(links.next).toBeNull();
    expect(links.prev).not.toBeNull();
  });

  it.each(['0', '-1', '1.5', 'abc', '', '1e3', '0x10', ' 1', '99999999999999999999', 'Infinity', 'null'])(
    'decision: page=%j is 400',
    async (page) => {
      await expectRefused(run.service, 400, () => acme().getList('dyn_item', { page }));
    },
  );

  it('decision: page given twice is 400, perPage given twice falls back to 25', async () => {
    await expectRefused(run.service, 400, () => acme().getList('dyn_item', 'page=1&page=2'));
    expect((await list('perPage=100&perPage=1000')).meta.per_page).toBe(25);
  });

  it('§2.2: an empty table has one empty page', async () => {
    const { data, meta, links } = await acme().list('dyn_party');
    expect(data).toEqual([]);
    expect(meta).toEqual({ current_page: 1, from: 0, to: 0, per_page: 25, last_page: 1, total: 0 });
    expect(links).toMatchObject({ prev: null, next: null });
  });
});

describe('links', () => {
  it('§2.2: first, last, prev and next are URLs of this host that lead to these pages', async () => {
    const { links } = await list({ page: '2', perPage: '1000', sort: '-name', 'filter[name]': 'tea' });
    expect(links).toMatchObject({ next: null, first: expect.any(String) });
    const middle = (await list({ page: '50' })).links;
    const pages: [string | null, number][] = [
      [middle.first, 1],
      [middle.prev, 49],
      [middle.next, 51],
      [middle.last, 100],
    ];
    for (const [link, page] of pages) {
      const url = new URL(String(link));
      expect(url.host).toBe(acme().host);
      expect(url.pathname).toBe('/api/v1/dynamic-assets/dyn/dyn_item/assets');
      expect((await list(url.search.slice(1))).meta.current_page).toBe(page);
    }
    expect((await list()).links.prev).toBeNull();
  });

  it('§2.2: along the next links one sees every record once', async () => {
    expect(ids(await follow({ perPage: '100' }))).toEqual(ids(records));
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
    const found = await follow(query);
    expect(wanted.length).toBeGreaterThan(100);
    expect(new Set(ids(found)).size).toBe(found.length);
    expect(ids(found).sort()).toEqual(ids(wanted).sort());
  });
});

describe('filters', () => {
  const FILTERS: readonly (readonly [why: string, filters: Query, matches: (record: AssetRecord) => boolean])[] = [
    ['a part of the value', { name: 'offe' }, (r) => contains(r, 'name', 'offe')],
    ['the whole value', { external_id: 'E77' }, (r) => contains(r, 'external_id', 'E77')],
    ['another case', { name: 'TEA' }, (r) => contains(r, 'name', 'tea')],
    ['another case beyond ASCII', { name: 'éclair' }, (r) => contains(r, 'name', 'éclair')],
    ['one character', { name: 'k' }, (r) => contains(r, 'name', 'k')],
    ['two characters', { sku: '99' }, (r) => contains(r, 'sku', '99')],
    ['another script', { name: '漢' }, (r) => contains(r, 'name', '漢')],
    [
      'several values: any of them',
      { name: 'tea,COFFEE' },
      (r) => contains(r, 'name', 'tea') || contains(r, 'name', 'coffee'),
    ],
    [
      'several filters: all of them',
      { name: 'tea', brand_name: 'kade' },
      (r) => contains(r, 'name', 'tea') && contains(r, 'brand_name', 'kade'),
    ],
    [
      'any of some and all of several',
      { name: 'tea,salt', sku: '1,2' },
      (r) => ['tea', 'salt'].some((t) => contains(r, 'name', t)) && ['1', '2'].some((t) => contains(r, 'sku', t)),
    ],
    ['a literal %', { name: '0%' }, (r) => contains(r, 'name', '0%')],
    ['% alone', { name: '%' }, (r) => contains(r, 'name', '%')],
    ['a literal _', { name: 't_d' }, (r) => contains(r, 'name', 't_d')],
    ['_ alone', { name: '_' }, (r) => contains(r, 'name', '_')],
    ['a literal backslash', { name: 'k\\s' }, (r) => contains(r, 'name', 'k\\s')],
    ['a literal comma', { name: 'salt\\, f' }, (r) => contains(r, 'name', 'salt, f')],
    ['a quote', { name: "o'n" }, (r) => contains(r, 'name', "o'n")],
    ['a double quote', { name: 'a"b' }, () => false],
    ['SQL', { name: "' OR 1=1 --" }, () => false],
    ['words of a full text query', { name: 'tea OR coffee' }, () => false],
    ['an asterisk', { name: 'tea*' }, () => false],
    ['a regular expression', { name: '.*' }, () => false],
    ['spaces at the ends', { name: ' 4' }, (r) => contains(r, 'name', ' 4')],
    ['nothing that exists', { name: 'zzzzzz' }, () => false],
    ['bytes that are no UTF-8 text', { name: '\ufffd' }, () => false],
  ];

  it.each(FILTERS)('§4.3, decision: a filter matches %s', async (_why, filters, matches) => {
    const query = Object.fromEntries(Object.entries(filters).map(([field, value]) => [`filter[${field}]`, value]));
    const wanted = records.filter(matches);
    const { data, meta } = await list({ ...query, perPage: '1000' });
    expect(meta.total).toBe(wanted.length);
    expect(ids(data)).toEqual(ids(wanted.slice(0, 1000)));
  });

  it('decision: filter[f][]= repeats, and matches any of the values', async () => {
    const wanted = records.filter((r) => contains(r, 'name', 'tea') || contains(r, 'name', 'salt'));
    expect((await list('filter[name][]=tea&filter[name][]=salt')).meta.total).toBe(wanted.length);
  });

  it('§4.3: filter, sort and pagination can be combined', async () => {
    const wanted = records.filter((r) => contains(r, 'name', 'coffee')).map(({ sku }) => String(sku));
    const { data, meta } = await list({ 'filter[name]': 'coffee', sort: '-sku', page: '2', perPage: '100' });
    expect(meta).toMatchObject({ total: wanted.length, from: 101 });
    expect(data.map(({ sku }) => sku)).toEqual(wanted.sort().reverse().slice(100, 200));
  });

  const field = (name: string) => ({ [`filter[${name}]`]: 'a' });
  it.each([
    ['a field that is not filterable', field('description')],
    ['an unknown field', field('colour')],
    ['id', field('id')],
    ['created_at', field('created_at')],
    ['_batch_id', field('_batch_id')],
    ['__proto__', field('__proto__')],
    ['constructor', field('constructor')],
    ['SQL as a field', field('name" OR 1=1 --')],
    ['an empty value', { 'filter[name]': '' }],
    ['commas alone', { 'filter[name]': ',' }],
    ['an empty repeated value', { 'filter[name][]': '' }],
    ['no field', { 'filter[]': 'a' }],
    ['no brackets', { filter: 'a' }],
    ['an open bracket', { 'filter[name': 'a' }],
    ['a nested field', { 'filter[name][like]': 'a' }],
    ['a NUL character', { 'filter[name]': 'a\0b' }],
    ['1,000 characters', { 'filter[name]': 'a'.repeat(1000) }],
    ['1,000 values', { 'filter[name]': Array.from({ length: 1000 }, (_, n) => n).join(',') }],
    ['a good and a disallowed field', { 'filter[name]': 'tea', ...field('colour') }],
  ])('§4.3, §7: a filter with %s is 400', async (_what, query) => {
    await expectRefused(run.service, 400, () => acme().getList('dyn_item', query));
  });
});

describe('sorts', () => {
  const text = (record: AssetRecord, name: string): string | null => {
    const value = record[name];
    return typeof value === 'string' ? value.toLowerCase() : null;
  };
  /** Null first. */
  const compare = (a: string | null, b: string | null): number => {
    if (a === b) return 0;
    if (a === null || b === null) return a === null ? -1 : 1;
    return a < b ? -1 : 1;
  };

  it.each([
    ['name'],
    ['brand_name'],
    ['sku'],
    ['external_id'],
    ['created_at'],
    ['updated_at'],
    ['brand_name', '-name'],
    ['-brand_name', 'sku'],
    ['-created_at', 'name'],
  ])(
    '§4.3, decision: sort by %s %s: fields in order, case-insensitive, null first ascending, pages never overlap',
    async (...sort) => {
      const found = await follow({ sort: sort.join(','), perPage: '1000' });
      expect(new Set(ids(found)).size).toBe(ITEMS);
      const inOrder = (a: AssetRecord, b: AssetRecord): number => {
        for (const term of sort) {
          const name = term.replace(/^-/, '');
          const order = compare(text(a, name), text(b, name)) * (term.startsWith('-') ? -1 : 1);
          if (order !== 0) return order;
        }
        return 0;
      };
      for (const [at, record] of found.slice(1).entries()) {
        const before = found[at];
        if (before !== undefined) expect(inOrder(before, record)).toBeLessThanOrEqual(0);
      }
      const descending = sort.map((term) => (term.startsWith('-') ? term.slice(1) : `-${term}`));
      expect(ids(await follow({ sort: descending.join(','), perPage: '1000' }))).toEqual(ids(found).reverse());
    },
  );

  it.each([
    'description',
    'colour',
    'id',
    '_batch_id',
    '__proto__',
    'constructor',
    '',
    '-',
    '--name',
    'name,',
    ',name',
    'name desc',
    'name;drop',
    'NAME',
  ])('§4.3, §7: sort=%j is 400', async (sort) => {
    await expectRefused(run.service, 400, () => acme().getList('dyn_item', { sort }));
  });

  it('decision: sort given twice is 400', async () => {
    await expectRefused(run.service, 400, () => acme().getList('dyn_item', 'sort=name&sort=sku'));
  });
});

describe('other types', () => {
  beforeAll(async () => {
    const items = Array.from({ length: 40 }, (_, n) => ({
      code: `N${n}`,
      count: n === 0 ? null : n * 5 - 100,
      amount: n === 1 ? null : n / 4 - 3,
      day: `2026-0${(n % 9) + 1}-15`,
      moment: `2026-01-01T${String(n % 24).padStart(2, '0')}:00:00Z`,
      flag: n % 3 === 0 ? null : n % 3 === 1,
    }));
    await acme().batch(EVERY_TYPE, items);
  });
  const all = async () => (await acme().list(EVERY_TYPE, { perPage: '100' })).data;

  it.each([
    ['count', '5'],
    ['count', '-'],
    ['amount', '.25'],
    ['day', '2026-03'],
    ['moment', 'T07:'],
    ['flag', 'true'],
    ['flag', 'fal'],
    ['flag', 'null'],
  ])('decision: filter[%s]=%s is matched on the JSON text', async (name, value) => {
    const wanted = (await all()).filter((record) => record[name] !== null && contains(record, name, value));
    const { data } = await acme().list(EVERY_TYPE, { [`filter[${name}]`]: value, perPage: '100' });
    expect(ids(data)).toEqual(ids(wanted));
  });

  it.each(['count', 'amount', 'flag'])(
    '§4.3, decision: sort=%s goes by value, not by text, null first',
    async (name) => {
      const { data } = await acme().list(EVERY_TYPE, { sort: name, perPage: '100' });
      const values = data.map((record) => (record[name] === null ? Number.NEGATIVE_INFINITY : Number(record[name])));
      expect(values).toEqual([...values].sort((a, b) => a - b));
    },
  );
});
