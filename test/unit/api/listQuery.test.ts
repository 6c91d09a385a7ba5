import fc from 'fast-check';
import { splitAtCommas } from '#app/api/assets/filters.js';
import { parseListQuery } from '#app/api/assets/listQuery.js';
import { HttpError } from '#app/api/errors.js';
import { parametersOf } from '#app/api/routes/query.js';
import type { AssetField, AssetType } from '#app/domain/assetTypes/assetType.js';
import type { FieldType } from '#app/domain/assetTypes/fieldTypes.js';
import { stockModel } from '#app/domain/assetTypes/stockModel.js';

const item = stockModel.find((assetType) => assetType.name === 'dyn_item');
const parse = (query: string) => {
  if (item === undefined) throw new Error('There is no dyn_item.');
  return parseListQuery(item, parametersOf(`/dyn_item/assets?${query}`));
};
const values = (query: string) =>
  parse(query).query.filters.map((filter) => ['field' in filter && filter.field, 'anyOf' in filter && filter.anyOf]);

const field = (name: string, type: FieldType, more: Partial<AssetField> = {}): AssetField => ({
  name,
  label: name,
  type,
  required: false,
  filterable: true,
  sortable: false,
  ...more,
});
const everyType: AssetType = {
  name: 'dyn_every',
  label: '',
  description: '',
  supportingData: true,
  role: 'reference',
  relationships: [],
  fields: [
    field('name', 'String'),
    field('text', 'LongText'),
    field('count', 'Integer'),
    field('amount', 'Decimal'),
    field('day', 'Date'),
    field('moment', 'DateTime'),
    field('flag', 'Boolean'),
    field('item_id', 'String', { format: 'uuid' }),
    field('plain', 'String', { filterable: false }),
  ],
};

function reasonOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof HttpError) return `${error.status === 400 ? '' : error.status}${error.reason}`;
    throw error;
  }
  return 'It was not refused.';
}

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

describe('filters with operators', () => {
  const typed = (query: string) => {
    const { filters } = parseListQuery(everyType, parametersOf(`/dyn_every/assets?${query}`)).query;
    return filters;
  };
  const equals = (field: string, ...anyOf: unknown[]) => ({ kind: 'equals', field, anyOf });
  const contains = (field: string, ...anyOf: unknown[]) => ({ kind: 'contains', field, anyOf });

  test.each([
    ['filter[name][eq]=a,b', equals('name', 'a,b')],
    ['filter[name][eq]=', equals('name', '')],
    ['filter[name][in]=a,b\\,c,,d', equals('name', 'a', 'b,c', 'd')],
    [`filter[name][eq]=${encodeURIComponent('🚚'.repeat(255))}`, equals('name', '🚚'.repeat(255))],
    ['filter[name][ne]=a', { kind: 'differs', field: 'name', anyOf: ['a'] }],
    ['filter[text][gte]=m', { kind: 'compares', field: 'text', is: 'gte', value: 'm' }],
    ['filter[count][gt]=-12', { kind: 'compares', field: 'count', is: 'gt', value: -12 }],
    ['filter[count][in]=1,2', equals('count', 1, 2)],
    ['filter[count][in]=1.0,1e2,-0,0012, 7,1e%2B3,1e+4', equals('count', 1, 100, 0, 12, 7, 1000, 10_000)],
    ['filter[amount][in]=1e20,1e%2B21,1e+22,1.5000000000000000000', equals('amount', 1e20, 1e21, 1e22, 1.5)],
    ['filter[amount][lte]=1e3', { kind: 'compares', field: 'amount', is: 'lte', value: 1000 }],
    ['filter[day][lt]=2026-11-21', { kind: 'compares', field: 'day', is: 'lt', value: '2026-11-21' }],
    ['filter[flag][eq]=true', equals('flag', true)],
    ['filter[flag][null]=false', { kind: 'null', field: 'flag', isNull: false }],
    ['filter[day][null]=true', { kind: 'null', field: 'day', isNull: true }],
    [
      'filter[item_id][eq]=0198C1F2-0000-7000-8000-000000000002',
      equals('item_id', '0198c1f2-0000-7000-8000-000000000002'),
    ],
    ['filter[moment][eq]=2026-11-21T04:11:47%2B01:00', equals('moment', '2026-11-21T03:11:47.000000Z')],
    ['filter[moment][eq]=2026-11-21T04:11:47+01:00', equals('moment', '2026-11-21T03:11:47.000000Z')],
    ['filter[moment][eq]=2026-11-21+04:11:47.5+0100', equals('moment', '2026-11-21T03:11:47.500000Z')],
    [
      'filter[moment][in]=2026-11-21 03:11:47\\,5-01,/Date(0)/',
      equals('moment', '2026-11-21T04:11:47.500000Z', '1970-01-01T00:00:00.000000Z'),
    ],
    ['filter[moment]=2026-11-21', contains('moment', '2026-11-21')],
    ['filter[moment]=2026-11-21t03:11', contains('moment', '2026-11-21t03:11')],
    ['filter[moment]=2026-11-21T03:11:47Z', contains('moment', '2026-11-21T03:11:47.000000Z')],
    ['filter[moment]=2026-11-21 04:11:47+01', contains('moment', '2026-11-21T03:11:47.000000Z')],
    ['filter[amount]=1e+21', contains('amount', '1e+21')],
    ['filter[name]=1e+21', contains('name', '1e 21')],
    [
      'filter[updated_at][gte]=2026-11-21T03:11:00Z',
      { kind: 'compares', field: 'updated_at', is: 'gte', value: '2026-11-21T03:11:00.000000Z' },
    ],
    ['filter%5Bcreated_at%5D%5Bnull%5D=true', { kind: 'null', field: 'created_at', isNull: true }],
  ])('%s', (query, filter) => {
    expect(typed(query)).toEqual([filter]);
  });

  test('each holds by itself, beside a part of the text', () => {
    const found = typed('filter[name][gte]=a&filter[name]=x&filter[name][lt]=c&filter[name][ne]=b&filter[name][ne]=bb');
    expect(found.map(({ kind }) => kind)).toEqual(['contains', 'compares', 'compares', 'differs', 'differs']);
  });

  test.each([
    ['filter[count][eq]=1.5', 'filter[count][eq] must be an integer.'],
    ['filter[count][in]=1,x', 'filter[count][in] must be an integer.'],
    ['filter[count][gt]=', 'filter[count][gt] must be an integer.'],
    ['filter[count][gt]=9007199254740993', 'filter[count][gt] must be an integer between'],
    ['filter[count][eq]=1e400', 'filter[count][eq] must be an integer between'],
    ['filter[amount][eq]=3e-324', 'filter[amount][eq] must not be so large, or so close to 0,'],
    ['filter[moment][gt]=2026-11-21T03:11:47.1234567Z', 'filter[moment][gt] must have only zeros behind six digits'],
    ['filter[amount][gt]=many', 'filter[amount][gt] must be a number.'],
    ['filter[amount][eq]=0.1234567890123456', 'filter[amount][eq] must have at most 15 significant digits.'],
    ['filter[day][gt]=2026-02-30', 'filter[day][gt] must be a date'],
    ['filter[updated_at][gt]=yesterday', 'filter[updated_at][gt] must be an ISO 8601 date and time'],
    ['filter[updated_at][gt]=2026-11-21', 'filter[updated_at][gt] must be an ISO 8601 date and time'],
    ['filter[flag][eq]=1', 'filter[flag][eq] must be true or false.'],
    ['filter[flag][gt]=true', 'filter[flag][gt]: "flag" takes eq, ne, in, null.'],
    ['filter[name][null]=yes', 'filter[name][null] must be true or false.'],
    ['filter[name][in]=,', 'filter[name][in] has an empty value.'],
    [`filter[name][eq]=${'x'.repeat(256)}`, 'filter[name][eq] has a value of more than 255 characters.'],
    [`filter[name][eq]=${encodeURIComponent('🚚'.repeat(256))}`, 'has a value of more than 255 characters.'],
    [`filter[name][in]=${'1,'.repeat(101)}`, 'filter[name][in] has more than 100 values.'],
    ['filter[name][like]=a', 'filter[name][like] has an unknown operator; known ones are eq, ne,'],
    ['filter[plain][eq]=a', 'cannot be filtered by "plain"'],
    ['filter[id][eq]=a', 'cannot be filtered by "id"'],
    ['filter[updated_at]=2026', 'cannot be filtered by "updated_at"'],
    ['filter[name][EQ]=a', 'is malformed'],
    [Array.from({ length: 21 }, (_, n) => `filter[count][ne]=${n}`).join('&'), 'There are more than 20 filters.'],
  ])('%s is refused: %s', (query, reason) => {
    expect(reasonOf(() => typed(query))).toContain(reason);
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
