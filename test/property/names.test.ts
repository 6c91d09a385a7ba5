/**
 * Random names of tables and fields, reserved words of JavaScript, SQL and MongoDB and any Unicode among them, through the
 * whole path over HTTP: the name is refused, or the table works as one with ordinary names does, also after a rebuild.
 */
import fc from 'fast-check';
import { fieldErrors } from '../acceptance/refusals.js';
import type { AssetRecord, Fields, RecordList } from '../acceptance/tenant.js';
import { useService } from '../acceptance/useService.js';
import { runsOf, SEED } from './runs.js';

const RUNS = runsOf(12);
const run = useService({ tenants: { acme: 'dyn_stock_order' } });
const acme = () => run.tenant('acme');

const FIELD_NAME = /^[a-z][a-z0-9_]{0,62}$/;
const TABLE_NAME = /^dyn_[a-z][a-z0-9_]{0,58}$/;
const RESERVED = ['constructor', 'prototype'];
const SYSTEM = ['id', 'created_at', 'updated_at', '_batch_id'];

const WORDS = [
  'then length name value keys type data arguments caller null undefined nan eval select from where order',
  'group table index rowid oid null default and like row u k g r w d b c0 m0 f0 tc0 doc width batch rank',
  'match c1 f1 fields items body errors message set filter sort page links meta n1 a_ z9',
].flatMap((words) => words.split(' '));
const REFUSED_WORDS = [
  ...Object.getOwnPropertyNames(Object.prototype),
  ...RESERVED,
  ...SYSTEM,
  ...[
    '$where',
    '$set',
    'a.b',
    'a-b',
    '_row',
    '9a',
    'É',
    'ß',
    'ID',
    '',
    ' ',
    'a b',
    'x'.repeat(64),
    '🚚',
    'a\0',
    "a'--",
  ],
];

const accepted = fc.oneof(
  fc.constantFrom(...WORDS),
  fc.stringMatching(FIELD_NAME).filter((name) => !RESERVED.includes(name) && !SYSTEM.includes(name)),
);
const refused = fc.oneof(
  fc.constantFrom(...REFUSED_WORDS),
  fc.string({ unit: 'binary', maxLength: 70 }).filter((name) => !FIELD_NAME.test(name) && name.isWellFormed()),
  fc.string({ unit: 'grapheme', maxLength: 20 }).filter((name) => !FIELD_NAME.test(name)),
);

const TYPES = ['String', 'LongText', 'Integer', 'Decimal', 'Date', 'Boolean'] as const;
type Type = (typeof TYPES)[number];
type Field = { name: string; type: Type; filterable: boolean; sortable: boolean };

/** The nth value of a type: values of different `n` differ, but for Boolean. */
const VALUES: { readonly [type in Type]: (n: number) => string | number | boolean } = {
  String: (n) => `value ${n}`,
  LongText: (n) => `a longer text ${n}`,
  Integer: (n) => 100 + n,
  Decimal: (n) => n + 0.5,
  Date: (n) => `2026-11-1${n}`,
  Boolean: (n) => n % 2 === 0,
};

const table = fc.record({
  name: fc.oneof(accepted, fc.constantFrom(...RESERVED)).map((name) => `dyn_${name.slice(0, 50)}`),
  fields: fc.uniqueArray(
    fc.record({
      name: accepted,
      type: fc.constantFrom(...TYPES),
      filterable: fc.boolean(),
      sortable: fc.boolean(),
    }),
    { minLength: 2, maxLength: 8, selector: ({ name }) => name },
  ),
});

/** Tables that were made, and their lists as they were left. */
const made = new Map<string, RecordList['data']>();

/** Of record `n` a few fields are left out, others are null. */
function recordOf(fields: readonly Field[], key: string, n: number): Fields {
  const own = fields.flatMap(({ name, type }, index): [string, unknown][] => {
    if ((index + n) % 4 === 0) return [];
    return [[name, (index + n) % 5 === 0 ? null : VALUES[type](n)]];
  });
  return Object.fromEntries([...own, [key, `key ${n}`]]);
}

const expectShown = (shown: AssetRecord | undefined, fields: readonly Field[], written: Fields): void =>
  expect(Object.fromEntries(fields.map(({ name }) => [name, shown?.[name]]))).toEqual(
    Object.fromEntries(fields.map(({ name }) => [name, Object.hasOwn(written, name) ? written[name] : null])),
  );

async function expectFound(name: string, { name: field, type }: Field, records: readonly AssetRecord[]): Promise<void> {
  const needle = String(VALUES[type](2));
  const found = await acme().list(name, new URLSearchParams([[`filter[${field}]`, needle]]).toString());
  const matching = records.filter((record) => record[field] !== null && String(record[field]).includes(needle));
  expect(found.data.map(({ id }) => id).sort()).toEqual(matching.map(({ id }) => id).sort());
}

async function expectSorted(name: string, { name: field }: Field, records: readonly AssetRecord[]): Promise<void> {
  const rank = (value: unknown): number | string => (typeof value === 'boolean' ? Number(value) : (value as string));
  const values = records.map((record) => record[field]);
  const present = values.filter((value) => value !== null);
  const ascending = present.map(rank).sort((one, other) => (one < other ? -1 : Number(one > other)));
  const sorted = (await acme().list(name, { sort: field })).data.map((record) => record[field]);
  expect(sorted.slice(0, values.length - present.length).every((value) => value === null)).toBe(true);
  expect(sorted.slice(values.length - present.length).map(rank)).toEqual(ascending);
}

it(`a table works whatever its fields are called (seed ${SEED})`, async () => {
  await fc.assert(
    fc.asyncProperty(table, async ({ name, fields: drawn }) => {
      if (made.has(name) || !TABLE_NAME.test(name)) return;
      const sortable = ({ type, sortable }: Field): boolean => sortable && type !== 'LongText';
      const fields = drawn.map((field) => ({ ...field, sortable: sortable(field) }));
      const [{ name: key } = { name: '' }, ...others] = fields;
      const unique = { name: key, type: 'String' as const, required: true, filterable: true, sortable: true };
      const [later, ...first] = others;
      const body = { name, unique_field: key, fields: [unique, ...first] };
      await acme().platformData('POST', '/asset-types', body);
      const one = await acme().create(name, recordOf(first, key, 1));
      expectShown(one, first, recordOf(first, key, 1));
      if (later !== undefined) await acme().platformData('POST', `/asset-types/${name}/fields`, later);

      const batch = [1, 2, 3, 4].map((n) => ({ ...recordOf(others, key, n), _batch_id: n === 4 ? 'old' : 'new' }));
      expect(await acme().batch(name, batch)).toMatchObject({ created: 3 });
      expect(await acme().batch(name, batch)).toMatchObject({ created: 0, updated: 0, unchanged: 4 });
      expectShown(await acme().get(name, one.id), others, {
        ...recordOf(first, key, 1),
        ...recordOf(others, key, 1),
      });
      const changes = recordOf(others, key, 3);
      expectShown(await acme().update(name, one.id, { ...changes, [key]: 'key 1' }), others, {
        ...recordOf(others, key, 1),
        ...changes,
      });

      const { data: records } = await acme().list(name);
      expect(records.map((record) => record[key])).toEqual(['key 1', 'key 2', 'key 3', 'key 4']);
      for (const field of others) {
        if (field.filterable) await expectFound(name, field, records);
        if (field.sortable) await expectSorted(name, field, records);
      }
      expect(await acme().cleanUp(name, 'new')).toMatchObject({ deleted: 1 });
      made.set(name, (await acme().list(name)).data);
      expect(made.get(name)).toEqual(records.slice(0, 3));
    }),
    { numRuns: RUNS, seed: SEED },
  );
});

it(`a name that is no field's name is refused, and says so at its field (seed ${SEED})`, async () => {
  await fc.assert(
    fc.asyncProperty(refused, async (name) => {
      const field = { name, type: 'String', filterable: true };
      const added = await acme().platform('POST', '/asset-types/dyn_party/fields', { body: field });
      expect([...fieldErrors(added).keys()]).toEqual(['name']);
      const fields = [{ name: 'code', type: 'String', required: true }, field];
      const table = await acme().platform('POST', '/asset-types', {
        body: { name: 'dyn_x', unique_field: 'code', fields },
      });
      expect(SYSTEM.includes(name) ? ['fields', 'fields.1.name'] : ['fields.1.name']).toContain(
        [...fieldErrors(table).keys()].join(),
      );
      const named = await acme().platform('POST', '/asset-types', { body: { name: `dyn_${name}`, fields } });
      expect(named.status).toBe(422);
      const filtered = await acme().getList('dyn_party', new URLSearchParams([[`filter[${name}]`, 'x']]).toString());
      const sorted = await acme().getList('dyn_party', new URLSearchParams([['sort', name]]).toString());
      expect([200, 400]).toContain(filtered.status);
      expect([200, 400]).toContain(sorted.status);
    }),
    { numRuns: 4 * RUNS, seed: SEED },
  );
});

it('a rebuild leaves every list as it was', async () => {
  expect((await run.service.cli('projections', 'rebuild')).code).toBe(0);
  expect(made.size).toBeGreaterThan(RUNS / 3);
  for (const [name, records] of made) expect((await acme().list(name)).data).toEqual(records);
});
