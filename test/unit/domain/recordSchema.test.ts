/** The two ways in which an item is checked agree. What each field type takes and refuses is in test/acceptance/tables. */
import fc from 'fast-check';
import type { AssetType } from '#app/domain/assetTypes/assetType.js';
import { checkBySchema, checkRecord } from '#app/domain/assetTypes/recordSchema.js';
import { random } from '../../property/runs.js';

const field = (name: string, type: AssetType['fields'][number]['type'], more = {}) => ({
  name,
  label: name,
  type,
  required: false,
  filterable: false,
  sortable: false,
  ...more,
});

const sample: AssetType = {
  name: 'dyn_sample',
  label: 'Sample',
  description: '',
  supportingData: true,
  role: 'reference',
  uniqueField: 'external_id',
  relationships: [],
  fields: [
    field('external_id', 'String', { required: true }),
    field('text', 'LongText'),
    field('whole', 'Integer'),
    field('amount', 'Decimal'),
    field('day', 'Date'),
    field('moment', 'DateTime'),
    field('active', 'Boolean'),
    field('link', 'String', { format: 'uuid' }),
  ],
};

/** Values on both sides of every rule, for every field. */
const given = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    '',
    'x',
    'a\0b',
    '\ud83d',
    '\ud83d\ude00',
    'a'.repeat(255),
    'a'.repeat(256),
    'a'.repeat(9),
  ),
  fc.constantFrom<unknown>(
    '2024-02-29',
    '2023-02-29',
    '2026-11-21T03:11:47Z',
    '12.5',
    ' 7 ',
    '1e5',
    'yes',
    'no',
    [],
    ['a'],
    {},
  ),
  fc.constantFrom<unknown>(
    0,
    -0,
    0.1,
    0.1 + 0.2,
    1e-7,
    1.5e-8,
    5e-324,
    123456789012345,
    1234567890123456,
    2 ** 53,
    1e21,
  ),
  fc.constantFrom<unknown>('6b2f1f5e-0c1a-4b7e-9d55-3a5f0e3f1c2d', true, false),
  fc.string({ unit: 'binary' }),
  fc.double(),
  fc.integer(),
  fc.tuple(fc.integer(), fc.integer({ min: 0, max: 9 })).map(([digits, places]) => digits / 10 ** places),
);

const everyRule: AssetType = {
  ...sample,
  fields: [
    ...sample.fields,
    field('short', 'String', { maxLength: 8 }),
    field('one', 'String', { oneOf: ['yes', 'no'] }),
    field('listed', 'String', { list: true }),
    field('made', 'String', { readOnly: true }),
    field('count', 'Integer', { required: true }),
    field('constructor', 'Decimal'),
  ],
};

test('an item of plain values is taken as the schema would take it; each other one is left to the schema', () => {
  const names = [...everyRule.fields.map(({ name }) => name), '_batch_id', 'id', 'created_at', 'unknown', '__proto__'];
  const item = fc
    .dictionary(fc.constantFrom(...names), given)
    .chain((some) => fc.constantFrom(some, { external_id: 'k', count: 1, ...some }));
  const plain = {
    external_id: 'k',
    text: 'ä',
    whole: 5,
    amount: 12.25,
    active: true,
    link: null,
    count: 0,
    _batch_id: 'b',
  };
  expect(checkRecord(everyRule, 'batchItem', plain)).toEqual(checkBySchema(everyRule, 'batchItem', plain));
  fc.assert(
    fc.property(item, (body) => {
      const sent: unknown = JSON.parse(JSON.stringify(body));
      for (const each of [body, sent]) {
        const checked = checkRecord(everyRule, 'batchItem', each);
        expect(checked).toEqual(checkBySchema(everyRule, 'batchItem', each));
        if (checked.ok) expect(Object.keys(checked.input.fields)).toEqual(inOrder(checked.input.fields));
      }
    }),
    random(500),
  );
});

/** An event holds the fields in the order of the asset type. */
const inOrder = (fields: object): readonly string[] =>
  everyRule.fields.map(({ name }) => name).filter((name) => Object.hasOwn(fields, name));
