/** Lists: filters and sorts, compared with the same done by hand in memory (spec §4.3). */
import { addTableOfEveryType, EVERY_TYPE } from '../everyType.js';
import { contains, fillItems, follow, ITEMS, ids } from '../itemList.js';
import type { AssetRecord, Query } from '../tenant.js';
import { useService } from '../useService.js';

const { acme } = useService({ tenants: { acme: 'dyn_stock_order' } });

/** All records in the order of their creation. */
let records: readonly AssetRecord[] = [];
beforeAll(async () => {
  records = await fillItems(acme());
});

const list = (query: Query | string = '') => acme().list('dyn_item', query);

describe('filters', () => {
  const FILTERS: readonly (readonly [why: string, filters: Query, matches: (record: AssetRecord) => boolean])[] = [
    ['a part of the value', { name: 'offe' }, (r) => contains(r, 'name', 'offe')],
    ['another case', { name: 'TEA' }, (r) => contains(r, 'name', 'tea')],
    ['another case beyond ASCII', { name: 'éclair' }, (r) => contains(r, 'name', 'éclair')],
    ['two characters', { sku: '99' }, (r) => contains(r, 'sku', '99')],
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
    ['a literal %', { name: '0%' }, (r) => contains(r, 'name', '0%')],
    ['a literal _', { name: 't_d' }, (r) => contains(r, 'name', 't_d')],
    ['a literal backslash', { name: 'k\\s' }, (r) => contains(r, 'name', 'k\\s')],
    ['a literal comma', { name: 'salt\\, f' }, (r) => contains(r, 'name', 'salt, f')],
    ['a quote', { name: "o'n" }, (r) => contains(r, 'name', "o'n")],
    ['SQL', { name: "' OR 1=1 --" }, () => false],
    ['a regular expression', { name: '.*' }, () => false],
    ['spaces at the ends', { name: ' 4' }, (r) => contains(r, 'name', ' 4')],
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

  it.each([['name'], ['brand_name'], ['sku'], ['created_at'], ['brand_name', '-name'], ['-brand_name', 'sku']])(
    '§4.3, decision: sort by %s %s: fields in order, case-insensitive, null first ascending, pages never overlap',
    async (...sort) => {
      const found = await follow(acme(), { sort: sort.join(','), perPage: '1000' });
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
      expect(ids(await follow(acme(), { sort: descending.join(','), perPage: '1000' }))).toEqual(
        ids(found).toReversed(),
      );
    },
  );
});

describe('other types', () => {
  beforeAll(async () => {
    await addTableOfEveryType(acme());
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
    ['amount', '.25'],
    ['day', '2026-03'],
    ['flag', 'true'],
  ])('decision: filter[%s]=%s is matched on the JSON text', async (name, value) => {
    const wanted = (await all()).filter((record) => record[name] !== null && contains(record, name, value));
    const { data } = await acme().list(EVERY_TYPE, { [`filter[${name}]`]: value, perPage: '100' });
    expect(ids(data)).toEqual(ids(wanted));
  });

  const fifth = '2026-01-01T05:00:00.000000Z';
  it.each<[filter: string, matches: (record: AssetRecord) => boolean]>([
    ['filter[count][gt]=5', ({ count }) => count !== null && Number(count) > 5],
    [
      'filter[count][gte]=-10&filter[count][lt]=10',
      ({ count }) => count !== null && Math.abs(Number(count)) <= 10 && count !== 10,
    ],
    ['filter[amount][lte]=-2.5', ({ amount }) => amount !== null && Number(amount) <= -2.5],
    ['filter[amount][in]=-3,0.25,7', ({ amount }) => [-3, 0.25, 7].includes(Number(amount ?? Number.NaN))],
    ['filter[day][gte]=2026-08-15', ({ day }) => String(day) >= '2026-08-15'],
    ['filter[moment][eq]=2026-01-01T06:00:00%2B01:00', ({ moment }) => moment === fifth],
    ['filter[flag][eq]=true', ({ flag }) => flag === true],
    ['filter[flag][ne]=true', ({ flag }) => flag !== true],
    ['filter[flag][null]=true', ({ flag }) => flag === null],
    ['filter[code][in]=N1,n2,N3', ({ code }) => code === 'N1' || code === 'N3'],
    ['filter[code][gte]=n30&filter[code][lt]=N32', ({ code }) => code === 'N30' || code === 'N31'],
    ['filter[code][ne]=N1&filter[code]=N1', ({ code }) => /^N1\d/.test(String(code))],
  ])('%s compares values of their type', async (query, matches) => {
    const wanted = (await all()).filter(matches);
    const { data, meta } = await acme().list(EVERY_TYPE, `${query}&perPage=100`);
    expect(ids(data)).toEqual(ids(wanted));
    expect(meta.total).toBe(wanted.length);
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
