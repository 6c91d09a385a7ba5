import fc from 'fast-check';
import { parseListQuery, splitAtCommas } from '#app/api/assets/listQuery.js';
import { parametersOf } from '#app/api/routes/query.js';
import { stockModel } from '#app/domain/assetTypes/stockModel.js';

const item = stockModel.find((assetType) => assetType.name === 'dyn_item');
const parse = (query: string) => {
  if (item === undefined) throw new Error('There is no dyn_item.');
  return parseListQuery(item, parametersOf(`/dyn_item/assets?${query}`));
};
const values = (query: string) => parse(query).query.filters.map((filter) => [filter.field, filter.anyOf]);

describe('§4.3 filters', () => {
  test('commas separate values, an escaped comma is part of one, empty pieces are dropped', () => {
    expect(values('filter[name]=a,b\\,c,,d')).toEqual([['name', ['a', 'b,c', 'd']]]);
  });

  test('%, _ and the backslash are literal', () => {
    expect(values(`filter[name]=${encodeURIComponent('100%_\\x\\')}`)).toEqual([['name', ['100%_\\x\\']]]);
  });

  test('a field may be given several times, with or without brackets', () => {
    expect(values('filter[name][]=a&filter[name][]=b&filter[sku][0]=c&filter[name]=d')).toEqual([
      ['name', ['a', 'b', 'd']],
      ['sku', ['c']],
    ]);
  });

  test('brackets may be percent-encoded, and a plus is a space', () => {
    expect(values('filter%5Bname%5D=a+b')).toEqual([['name', ['a b']]]);
  });

  test.each([
    `filter[name]=${'x'.repeat(256)}`,
    `filter[name]=${Array.from({ length: 101 }, (_, n) => n).join(',')}`,
    `filter[name]=${Array.from({ length: 99 }, (_, n) => n).join(',')}&filter[sku]=${'x,'.repeat(99)}&filter[ean]=a,b,c`,
    `sort=${'name,'.repeat(10)}name`,
    'filter[name]=%00',
    'filter[]=x',
    'filter[name',
    'filter[name]x=y',
    'filter[id]=x',
    'filter[toString]=x',
    'filter[name]=a&filter[sku]=',
  ])('%.40s is refused', (query) => {
    expect(() => parse(query)).toThrow('Bad request.');
  });

  test('whatever the text, splitting keeps every character but the separators', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (pieces) => {
        // A backslash at the end of a piece would escape the comma after it.
        const plain = pieces.filter((piece) => !piece.endsWith('\\') && !piece.includes('\\,'));
        const text = plain.map((piece) => piece.replaceAll(',', '\\,')).join(',');
        expect(splitAtCommas(text)).toEqual(plain.length === 0 ? [''] : plain);
      }),
    );
  });
});

describe('§4.3 sort and pages', () => {
  test('fields apply in order; one that is named again changes nothing', () => {
    expect(parse('sort=name,-created_at,-name').query.sort).toEqual([
      { field: 'name', direction: 'asc' },
      { field: 'created_at', direction: 'desc' },
    ]);
  });

  test.each([
    ['', 25],
    ['perPage=100', 100],
    ['perPage=1000', 1000],
    ['perPage=50', 25],
    ['perPage=0', 25],
    ['perPage=100.0', 25],
    ['perPage=100&perPage=100', 25],
    ['perPage=', 25],
  ])('%s gives pages of %i', (query, perPage) => {
    expect(parse(`${query}&page=3`)).toMatchObject({
      page: 3,
      perPage,
      query: { offset: 2 * perPage, limit: perPage },
    });
  });

  test.each(['0', '-1', '1.5', 'abc', '1e3', '+1', '0x1', '99999999999999999999', ''])('page=%s is refused', (page) => {
    expect(() => parse(`page=${page}`)).toThrow('Bad request.');
  });

  test('parameters that are not of the list are left alone, and not repeated in links', () => {
    expect(parse('utm=x&sort=name&filtered=1&__proto__[x]=1').kept).toEqual([['sort', 'name']]);
  });
});
