/** Histories of a table of records and queries of it, made up by fast-check. */
import fc from 'fast-check';
import type { AssetField, AssetType } from '#app/domain/assetTypes/assetType.js';
import type { FieldType } from '#app/domain/assetTypes/fieldTypes.js';
import { COMPARISONS } from '#app/queries/conditions.js';
import type { RecordQuery } from '#app/queries/records.js';

/** Characters of texts that no index covers whole. */
const LONG_TEXT = 20_000;

const field = (name: string, type: FieldType, more: Partial<AssetField> = {}): AssetField => ({
  name,
  label: name,
  type,
  required: false,
  filterable: true,
  sortable: true,
  ...more,
});

export const firstFields = [
  field('key', 'String'),
  field('name', 'String'),
  field('country', 'String', { maxLength: 2 }),
  field('note', 'LongText', { sortable: false }),
  field('quantity', 'Decimal'),
  field('rank', 'Integer', { filterable: false }),
  field('day', 'Date'),
  field('active', 'Boolean'),
  field('item_id', 'String', { format: 'uuid', maxLength: 36 }),
  field('plain', 'String', { filterable: false, sortable: false }),
];
const laterFields = [
  field('extra', 'String'),
  field('size', 'Decimal', { sortable: false }),
  field('story', 'LongText', { sortable: false }),
];
export const allFields = [...firstFields, ...laterFields];

export const places = { tenant: 'acme', table: 'places' };

export const assetType = (fields: readonly AssetField[]): AssetType => ({
  name: 'places',
  label: 'Places',
  description: '',
  supportingData: true,
  uniqueField: 'key',
  fields,
  relationships: [],
  role: 'reference',
});

// Few and awkward characters, so that values meet: marks of LIKE and of full-text queries, case beyond ASCII,
// composed and decomposed letters, final sigma, characters of two UTF-16 units, the mark that ends indexed text.
const PIECES = ['a', 'A', 'b', 'ab', 'Ä', 'ä', 'a\u0308', 'ß', 'İ', 'Σ', 'ς', 'ΟΣ', '%', '_', '\\', '"', "'", '*', ' '];
const piece = fc.constantFrom(...PIECES, '𝒳', '😀', 'é', 'e\u0301', 'AND', ',', '\u0003');
const text = fc.array(piece, { minLength: 1, maxLength: 5 }).map((pieces) => pieces.join(''));
/** Two of them are more than the index of n-grams has of a record. */
const longText = fc.oneof(
  { weight: 14, arbitrary: text },
  {
    weight: 1,
    arbitrary: fc
      .tuple(text, fc.constantFrom(0.4, 0.7, 1.1), text)
      .map(([start, share, end]) => start + 'ab'.repeat((share * LONG_TEXT) / 2) + end),
  },
);
const needle = fc.oneof(
  { weight: 8, arbitrary: fc.array(piece, { minLength: 1, maxLength: 6 }).map((pieces) => pieces.join('')) },
  { weight: 1, arbitrary: fc.constantFrom('\ud83d', 'a\ude00b', '', 'a\0b', '12', '2.5', 'true', '2026-1', '-0') },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      'nl',
      'Ni',
      'ab',
      'nlx',
      '2026',
      '2026-12-01',
      '1-21',
      '0198C1F2-0000-7000-8000-000000000002',
    ),
  },
);
const uuids = fc.constantFrom(
  '0198c1f2-0000-7000-8000-000000000001',
  '0198c1f2-0000-7000-8000-000000000002',
  'FFFFFFFF-ffff-4fff-bfff-ffffffffffff',
);
// As long as a country's code may be, one longer when folded (İ), and shorter.
const countries = fc.constantFrom('NL', 'nl', 'AB', 'nİ', 'İ', 'ab', 'Än', 'n', 'Kn');
const value = ({ type, format, maxLength }: AssetField): fc.Arbitrary<string | number | boolean> => {
  if (format === 'uuid') return uuids;
  if (maxLength === 2) return countries;
  switch (type) {
    case 'Integer':
      return fc.integer({ min: -2, max: 2 });
    case 'Decimal':
      return fc.constantFrom(0, 1, 12.5, -3, 1e21, 1e-7, 100, 0.1, 123456789.123456);
    case 'Boolean':
      return fc.boolean();
    case 'Date':
      return fc.constantFrom('2026-11-21', '2026-12-01', '1999-01-01');
    case 'LongText':
      return longText;
    default:
      return text;
  }
};
const fields = (of: readonly AssetField[]) =>
  fc.record(
    Object.fromEntries(
      of.filter(({ name }) => name !== 'key').map((one) => [one.name, fc.option(value(one), { freq: 3 })]),
    ),
  );

const times = fc.integer({ min: 0, max: 4 }).map((n) => `2026-11-21T03:11:4${n}.00000${n}Z`);
const batches = fc.constantFrom(null, 'one', 'two');

export type Step =
  | { kind: 'insert'; records: { id: string; at: string; batchId: string | null; fields: Record<string, unknown> }[] }
  | { kind: 'patch'; pick: number; at: string; batchId: string | null | undefined; set: Record<string, unknown> }
  | { kind: 'delete'; pick: number }
  | { kind: 'seen'; from: number; batchId: string | null }
  | { kind: 'cleanUp'; batchId: string }
  | { kind: 'define' };

const step = (of: readonly AssetField[]): fc.Arbitrary<Step> =>
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('insert' as const),
        records: fc.array(fc.record({ id: fc.uuid(), at: times, batchId: batches, fields: fields(of) }), {
          minLength: 1,
          maxLength: 15,
        }),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('patch' as const),
        pick: fc.nat(),
        at: times,
        batchId: fc.option(batches, { nil: undefined }),
        set: fc.record(
          Object.fromEntries(of.filter(({ name }) => name !== 'key').map((f) => [f.name, fc.option(value(f))])),
          { requiredKeys: [] },
        ),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), pick: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('seen' as const), from: fc.nat(), batchId: batches }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('cleanUp' as const), batchId: fc.constantFrom('one', 'two') }),
    },
  );

export const history = fc
  .tuple(fc.array(step(firstFields), { maxLength: 6 }), fc.array(step(allFields), { maxLength: 6 }))
  .map(([before, after]): Step[] => [...before, { kind: 'define' }, ...after]);

const contains = fc
  .constantFrom(...allFields.filter(({ filterable }) => filterable).map(({ name }) => name))
  .chain((name) =>
    fc.record({
      kind: fc.constant('contains' as const),
      field: fc.constant(name),
      anyOf: fc.array(needle, { minLength: 1, maxLength: 3 }),
    }),
  );
const equals = fc.constantFrom(...allFields).chain((one) =>
  fc.record({
    kind: fc.constant('equals' as const),
    field: fc.constant(one.name),
    anyOf: fc.array(value(one), { minLength: 1, maxLength: 3 }),
  }),
);
const compared = allFields.filter(({ filterable, type }) => filterable && type !== 'Boolean');
const isOrder = fc.constantFrom(...COMPARISONS);
const comparisons = fc.oneof(
  fc.constantFrom(...compared).chain((one) =>
    fc.record({
      kind: fc.constant('compares' as const),
      field: fc.constant(one.name),
      is: isOrder,
      value: value(one).map((each) => (typeof each === 'boolean' ? Number(each) : each)),
    }),
  ),
  fc.record({
    kind: fc.constant('compares' as const),
    field: fc.constantFrom('created_at', 'updated_at'),
    is: isOrder,
    value: times,
  }),
  equals.map((filter) => ({ ...filter, kind: 'differs' as const })),
  fc.record({
    kind: fc.constantFrom('equals' as const, 'differs' as const),
    field: fc.constantFrom('created_at', 'updated_at'),
    anyOf: fc.array(times, { minLength: 1, maxLength: 2 }),
  }),
  fc.record({
    kind: fc.constant('null' as const),
    field: fc.constantFrom(...allFields.filter(({ filterable }) => filterable).map(({ name }) => name), 'created_at'),
    isNull: fc.boolean(),
  }),
);
const begins = fc.record({
  kind: fc.constant('begins' as const),
  field: fc.constant('id' as const),
  with: fc.oneof(
    fc.constantFrom('', '0', 'f', 'A', 'x', '00000000-0000-0000-0000-0000000000000'),
    fc.uuid().map((id) => id.slice(0, 8)),
  ),
});
/** Often one text in several fields, as a search asks. */
const searched = needle.chain((one) =>
  fc.array(
    contains.map((filter) => ({ ...filter, anyOf: [one] })),
    { minLength: 1, maxLength: 4 },
  ),
);
const any = fc
  .tuple(searched, fc.array(fc.oneof(contains, equals, comparisons, begins), { maxLength: 3 }))
  .map(([first, others]) => ({ kind: 'any' as const, anyOf: [...first, ...others] }));
/** @param sortBy names of the fields of the asset type that a list may be sorted by */
export const queryOf = (sortBy: readonly string[]): fc.Arbitrary<RecordQuery> =>
  fc.record({
    filters: fc.array(
      fc.oneof(
        { weight: 4, arbitrary: contains },
        { weight: 1, arbitrary: equals },
        { weight: 3, arbitrary: comparisons },
        { weight: 2, arbitrary: any },
        { weight: 1, arbitrary: begins },
      ),
      { maxLength: 3 },
    ),
    sort: fc.array(
      fc.record({
        field: fc.constantFrom(...sortBy, 'created_at', 'updated_at', 'id'),
        direction: fc.constantFrom('asc' as const, 'desc' as const),
      }),
      { maxLength: 3 },
    ),
    offset: fc.oneof(fc.constant(0), fc.nat(40)),
    limit: fc.constantFrom(1, 3, 25),
  });
