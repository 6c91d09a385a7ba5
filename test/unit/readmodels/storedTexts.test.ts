import fc from 'fast-check';
import { RecordText } from '#app/adapters/readmodels/shared/recordText.js';
import { parseStored, writeStored } from '#app/adapters/readmodels/sqlite/read/storedTexts.js';
import type { Fields, FieldValue } from '#app/domain/assetTypes/fieldTypes.js';
import { changedFields } from '#app/domain/referenceTable/decide.js';

const names = ['key', 'name', 'me', 'note', 'size', 'open', 'constructor', 'a"b'];
const text = new RecordText({ fields: names.map((name) => ({ name })) });
const head = { id: 'an id', createdAt: 'then', updatedAt: 'now', batchId: null, key: undefined };

const stored = async (fields: Fields, of: Partial<typeof head> | { batchId: string; key: string } = {}) => {
  const [record] = await parseStored(writeStored({ ...head, ...of }, text.complete(text.width, text.write(fields))));
  if (record?.has === undefined || record.inBatch === undefined) throw new Error('It has no text.');
  return { ...record, fields: record.fields, has: record.has.bind(record), inBatch: record.inBatch.bind(record) };
};

// What looks like a member, or like an escaped one, within a value.
const awkward = [
  '"',
  '\\',
  '\n',
  '\t',
  '\\n',
  '\\"',
  '"name":',
  ',"name":"x"',
  'null',
  'x',
  'xy',
  '\u2028',
  'ä',
  '😀',
  '',
];
const piece = fc.constantFrom(...awkward);
const value: fc.Arbitrary<FieldValue> = fc.oneof(
  fc.array(piece, { maxLength: 4 }).map((pieces) => pieces.join('')),
  fc.constantFrom<FieldValue>(null, true, false, 0, 1, 12, 1.5, -1, 1e21, 1e-7),
  fc.array(piece, { maxLength: 2 }),
);
const some = fc.dictionary(fc.constantFrom(...names), value, { maxKeys: names.length });

test('a record that says it has some values has them', async () => {
  await fc.assert(
    fc.asyncProperty(some, some, some, async (fields, other, more) => {
      const record = await stored(fields);
      for (const wanted of [fields, other, { ...fields, ...more }, more]) {
        if (record.has(wanted)) expect(changedFields(record.fields, wanted)).toEqual({});
      }
    }),
    { numRuns: 500, seed: 1 },
  );
});

test.each<Fields>([
  { key: 'K1', name: 'Rotterdam', size: 12.5, open: true },
  { name: 'Århus', note: null },
  { key: '', me: 'x' },
  {},
])('that it has %j is told from its text', async (wanted) => {
  const record = await stored({ key: 'K1', name: 'Rotterdam', me: 'x', size: 12.5, open: true, note: null, ...wanted });
  expect(record.has(wanted)).toBe(true);
  expect(record.has({ ...wanted, name: 'Rotter' })).toBe(false);
});

test.each(['plain', 'with\ttab and\nline', '"quoted" \\', 'null', ''])(
  'key and batch id %j come back as they were, the batch id also where it is changed',
  async (name) => {
    const record = await stored({ key: name }, { batchId: name, key: name });
    expect(record).toMatchObject({ ...head, batchId: name, key: name, fields: { key: name, note: null } });
    expect(record.inBatch('other')).toMatchObject({ ...head, batchId: 'other', key: name, fields: { key: name } });
  },
);

test('no records are no text, and long ones come back as well', async () => {
  expect(await parseStored('')).toEqual([]);
  const line = writeStored(head, `"note":"${'x'.repeat(200_000)}"`);
  const records = await parseStored([line, line, line].join('\n'));
  expect(records.map(({ fields }) => String(fields.note).length)).toEqual([200_000, 200_000, 200_000]);
});
