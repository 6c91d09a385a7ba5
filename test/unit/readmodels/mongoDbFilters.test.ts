import { filterOf, leftOutIn } from '#app/adapters/readmodels/mongodb/filters.js';
import { layoutOf } from '#app/adapters/readmodels/mongodb/layout.js';
import type { AssetType } from '#app/domain/assetTypes/assetType.js';
import { textField } from '../../fixtures/textField.js';

const layout = layoutOf({
  name: 'places',
  label: 'Places',
  description: 'Places.',
  supportingData: true,
  role: 'reference',
  uniqueField: 'code',
  fields: [textField('code'), textField('name'), textField('size', { type: 'Decimal' })],
  relationships: [],
} satisfies AssetType);

const contains = (field: string, ...anyOf: string[]) => [{ kind: 'contains', field, anyOf }] as const;

it('one n-gram is looked up alone, while no text of the table is left out of the index', () => {
  expect(filterOf(contains('name', 'Rot'), layout, 'none')).toEqual({ g: '1:rot' });
  expect(filterOf(contains('name', 'rot', 'ham'), layout, 'none')).toEqual({ g: { $in: ['1:rot', '1:ham'] } });
  expect(filterOf(contains('size', '1'), layout, 'none')).toEqual({ g: '2:1' });
  expect(filterOf(contains('size', '1.'), layout, 'none')).toEqual({ g: '2:1.' });
  expect(filterOf(contains('name', '🚚🚚🚚'), layout, 'none')).toEqual({ g: '1:🚚🚚🚚' });
});

it('longer and shorter texts are searched in the record as well', () => {
  const verified = { f1: { $regex: 'rott' } };
  expect(filterOf(contains('name', 'rott'), layout, 'none')).toEqual({
    $and: [{ g: '1:rot' }, { g: '1:ott' }, verified],
  });
  expect(filterOf(contains('name', 'ro'), layout, 'none')).toEqual({ f1: { $regex: 'ro' } });
  expect(filterOf(contains('name', 'rot', 'ro'), layout, 'none')).toEqual({
    $or: [{ g: '1:rot' }, { f1: { $regex: 'ro' } }],
  });
});

it('texts that are left out of the index are searched in the record', () => {
  const filters = contains('name', 'rot');
  expect(leftOutIn(filters, layout)).toEqual(['1:ZZZ']);
  const found = { g: { $in: ['1:rot', '1:ZZZ'] } };
  expect(filterOf(filters, layout, 'some')).toEqual({ $and: [found, { f1: { $regex: 'rot' } }] });
});
