import fc from 'fast-check';
import type { AssetType } from '#app/domain/assetTypes/assetType.js';
import { checkBySchema, checkRecord, recordSchemas } from '#app/domain/assetTypes/recordSchema.js';
import { stockModel } from '#app/domain/assetTypes/stockModel.js';
import { MAX_FIELDS } from '#app/domain/limits.js';

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

function accepted(body: object): Record<string, unknown> {
  const result = checkRecord(sample, 'create', { external_id: 'k', ...body });
  if (!result.ok) throw new Error(JSON.stringify(result.errors));
  return result.input.fields as Record<string, unknown>;
}

function refused(body: unknown, kind: 'create' | 'update' | 'batchItem' = 'create'): Record<string, readonly string[]> {
  const result = checkRecord(sample, kind, body);
  if (result.ok) throw new Error('was accepted');
  return result.errors;
}

const refusedFields = (body: object) => Object.keys(refused({ external_id: 'k', ...body }));

describe('§2.1 field types', () => {
  it.each([
    ['text', 'ä\n"<>'],
    ['whole', -9007199254740991],
    ['day', '2024-02-29'],
    ['active', false],
  ])('%s takes %j as it is', (name, value) => {
    expect(accepted({ [name]: value })[name]).toBe(value);
  });

  it.each([
    ['text', 5],
    ['text', 'a\0b'],
    ['text', '\ud800'],
    ['text', 'x'.repeat(65_536)],
    ['external_id', 'x'.repeat(256)],
    ['external_id', ''],
    ['whole', 1.5],
    ['whole', '1'],
    ['whole', 9007199254740992],
    ['amount', 'abc'],
    ['amount', true],
    ['amount', '1.234567890123456'],
    ['amount', '1e400'],
    ['day', '2023-02-29'],
    ['day', '2023-2-1'],
    ['day', '2023-02-01T00:00:00Z'],
    ['moment', 'yesterday'],
    ['moment', '2026-02-30T00:00:00Z'],
    ['active', 'true'],
    ['active', 1],
    ['link', 'not-a-uuid'],
  ])('%s refuses %j', (name, value) => {
    expect(refusedFields({ [name]: value })).toEqual([name]);
  });

  it.each([
    [12.5, 12.5],
    ['12.50', 12.5],
    [' 7 ', 7],
    ['-0', 0],
    ['123456789012345', 123456789012345],
    ['0.00000000000000000000000000000123', 1.23e-30],
  ])('Decimal %j becomes the number %p', (given, expected) => {
    expect(accepted({ amount: given }).amount).toBe(expected);
  });

  it.each([
    ['2026-11-21T03:11:47Z', '2026-11-21T03:11:47.000000Z'],
    ['2026-11-21T03:11:47.123456Z', '2026-11-21T03:11:47.123456Z'],
    ['2026-11-21T04:11:47.5+01:00', '2026-11-21T03:11:47.500000Z'],
    ['2026-11-21T03:11', '2026-11-21T03:11:00.000000Z'],
  ])('DateTime %s becomes %s', (given, expected) => {
    expect(accepted({ moment: given }).moment).toBe(expected);
  });
});

describe('§2.1 constraints', () => {
  it('a required field must be given and may not be null', () => {
    expect(refused({ text: 'x' })).toEqual({ external_id: ['The external_id field is required.'] });
    expect(Object.keys(refused({ external_id: null }, 'update'))).toEqual(['external_id']);
  });

  it('a field that is not required may be null or left out', () => {
    expect(accepted({ text: null })).toEqual({ external_id: 'k', text: null });
  });

  it('an update names only what changes', () => {
    expect(checkRecord(sample, 'update', { text: 'x' })).toEqual({ ok: true, input: { fields: { text: 'x' } } });
  });

  it('all errors are reported at once, unknown fields among them', () => {
    const errors = refused({ whole: 'x', day: 'x', nonsense: 1, constructor: 1 });
    expect(Object.keys(errors).sort()).toEqual(['constructor', 'day', 'external_id', 'nonsense', 'whole']);
  });

  it('__proto__ is an unknown field like any other, and told once', () => {
    const errors = Object.entries(refused(JSON.parse('{"external_id":"k","__proto__":{"text":"x"}}')));
    expect(errors).toEqual([['__proto__', [`__proto__ is not a field of ${sample.name}.`]]]);
  });

  it('names that are told cut are told once where they begin alike', () => {
    const [one, other] = ['1', '2'].map((end) => `${'n'.repeat(64)}${end}`);
    const cut = `${'n'.repeat(64)}…`;
    expect(refused({ external_id: 'k', [String(one)]: 1, [String(other)]: 2 })).toEqual({
      [cut]: [`${cut} is not a field of ${sample.name}.`],
    });
  });

  it.each(['create', 'update', 'batchItem'] as const)('§4.7: an id of null is one that was left out (%s)', (kind) => {
    const body = { external_id: 'k', text: 't' };
    expect(checkRecord(sample, kind, { ...body, id: null })).toEqual(checkRecord(sample, kind, body));
  });

  it.each([[null], [[]], ['text'], [5]])('%j is no record', (body) => {
    expect(refused(body)).toEqual({ body: ['The body must be a JSON object.'] });
  });

  it('system fields of a record that was read are accepted and ignored', () => {
    const read = { id: '0190A000-0000-7000-8000-000000000001', created_at: 'x', updated_at: 'y', text: 't' };
    expect(checkRecord(sample, 'update', read)).toEqual({
      ok: true,
      input: { id: '0190a000-0000-7000-8000-000000000001', fields: { text: 't' } },
    });
  });

  it('only a batch item may carry _batch_id', () => {
    const item = { external_id: 'k', _batch_id: 'b' };
    expect(checkRecord(sample, 'batchItem', item)).toMatchObject({ ok: true, input: { batchId: 'b' } });
    expect(Object.keys(refused(item, 'create'))).toEqual(['_batch_id']);
  });
});

describe('§3 processing_status', () => {
  const order = stockModel.find((type) => type.name === 'dyn_stock_order');
  if (order === undefined) throw new Error('no order model');

  it('takes every listed state and refuses failed', () => {
    expect(checkRecord(order, 'update', { processing_status: 'completed' }).ok).toBe(true);
    expect(checkRecord(order, 'update', { processing_status: 'failed' }).ok).toBe(false);
  });

  it('takes error_reason as an array of strings only', () => {
    expect(checkRecord(order, 'update', { error_reason: ['a', 'b'] }).ok).toBe(true);
    expect(checkRecord(order, 'update', { error_reason: 'a' }).ok).toBe(false);
    expect(checkRecord(order, 'update', { error_reason: [1] }).ok).toBe(false);
  });
});

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
    { numRuns: 500 * Number(process.env.RUNS ?? 1) },
  );
});

/** An event holds the fields in the order of the asset type. */
const inOrder = (fields: object): readonly string[] =>
  everyRule.fields.map(({ name }) => name).filter((name) => Object.hasOwn(fields, name));

describe('compiled schemas', () => {
  const ofFields = (name: string, rules: (n: number) => object): AssetType => ({
    ...sample,
    name,
    fields: Array.from({ length: MAX_FIELDS }, (_, n) => field(`field_${n}`, 'String', rules(n))),
  });

  it('are shared by fields with equal rules', () => {
    const { shape } = recordSchemas(
      ofFields('dyn_alike', (n) => ({ required: n === 1, maxLength: n === 2 ? 5 : 9 })),
    ).create;
    expect(shape.field_0).toBe(shape.field_3);
    expect(shape.field_1).not.toBe(shape.field_0);
    expect(shape.field_2).not.toBe(shape.field_0);
  });
});
