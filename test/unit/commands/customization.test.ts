/** Tables and fields of a tenant's own (§1): given events, when a command, then events, or a refusal that appends nothing. */
import type { Commands } from '#app/commands/context.js';
import { addAssetField, addAssetTable } from '#app/commands/identity/assetTypes.js';
import type { DirectoryEvent } from '#app/domain/identity/events.js';
import { standardTables } from '#app/domain/identity/tenantTables.js';
import { MAX_FIELDS, MAX_LONG_TEXT_LENGTH, MAX_STRING_LENGTH, MAX_TABLES } from '#app/domain/limits.js';
import { textField } from '../../fixtures/textField.js';
import { caller, created, given, invalid, NOT_FOUND, TENANT } from './directoryLog.js';

const field = { name: 'grade', type: 'String' };
const table = { name: 'dyn_dock', unique_field: 'code', fields: [{ name: 'code', type: 'String', required: true }] };
const fieldOf = (body: object) => async (commands: Commands) => addAssetField(commands, caller, 'dyn_item', body);
const tableOf = (body: object) => async (commands: Commands) => addAssetTable(commands, caller, body);

test.each<[string, object, object]>([
  [
    'as given',
    { ...field, label: 'Class', required: true, filterable: true, sortable: true, max_length: 9 },
    {
      label: 'Class',
      required: true,
      filterable: true,
      sortable: true,
      maxLength: 9,
    },
  ],
  [
    'and otherwise is optional, and named by its name',
    { ...field, name: 'shelf_life' },
    {
      label: 'Shelf life',
      required: false,
      filterable: false,
      sortable: false,
    },
  ],
])('a field is %s', async (_what, body, expected) => {
  const { commands, appended } = await given();
  await fieldOf(body)(commands);
  const { name, type } = { ...field, ...body };
  expect(appended(TENANT)).toEqual([
    { type: 'AssetFieldAdded', data: { table: 'dyn_item', field: { name, type, ...expected, custom: true } } },
  ]);
});

test('a table is as given, and named by its name', async () => {
  const { commands, appended } = await given();
  await tableOf(table)(commands);
  const code = { name: 'code', label: 'Code', type: 'String', required: true, filterable: false, sortable: false };
  const fields = [{ ...code, custom: true }];
  const shown = { name: 'dyn_dock', label: 'Dock', description: '', uniqueField: 'code', fields, custom: true };
  const kind = { supportingData: true, role: 'reference', relationships: [] };
  expect(appended(TENANT)).toEqual([{ type: 'AssetTableAdded', data: { assetType: { ...shown, ...kind } } }]);
});

const code = table.fields[0];
test.each<[string, (commands: Commands) => Promise<unknown>, object]>([
  ['a name that the table has', fieldOf({ ...field, name: 'name' }), invalid('name')],
  ['a name that every record has', fieldOf({ ...field, name: 'created_at' }), invalid('name')],
  ['a name that programs misunderstand', fieldOf({ ...field, name: 'constructor' }), invalid('name')],
  ['a name of 64 characters', fieldOf({ ...field, name: 'a'.repeat(64) }), invalid('name')],
  ['text that is longer than fits', fieldOf({ ...field, max_length: MAX_STRING_LENGTH + 1 }), invalid('max_length')],
  [
    'long text that is longer than fits',
    fieldOf({ name: 'note', type: 'LongText', max_length: MAX_LONG_TEXT_LENGTH + 1 }),
    invalid('max_length'),
  ],
  ['long text to sort by', fieldOf({ name: 'note', type: 'LongText', sortable: true }), invalid('sortable')],
  ['Master Data', (commands) => addAssetField(commands, caller, 'dyn_stock_order', field), invalid('table')],
  ['a table that is not there', (commands) => addAssetField(commands, caller, 'dyn_dock', field), NOT_FOUND],
  ['a table that is there', tableOf({ ...table, name: 'dyn_item' }), invalid('name')],
  ['a table without fields', tableOf({ ...table, fields: [] }), invalid('fields')],
  ['a field twice', tableOf({ ...table, fields: [code, code] }), invalid('fields')],
  ['a field that every record has', tableOf({ ...table, fields: [code, { ...code, name: 'id' }] }), invalid('fields')],
  ['no unique field', tableOf({ ...table, unique_field: 'number' }), invalid('unique_field')],
  ['one that may be missing', tableOf({ ...table, fields: [{ ...code, required: false }] }), invalid('unique_field')],
  ['one that is no text', tableOf({ ...table, fields: [{ ...code, type: 'Integer' }] }), invalid('unique_field')],
])('refused: %s', async (_what, command, error) => {
  const { commands, refused } = await given();
  await refused(command(commands), error);
});

test.each([
  fieldOf({ ...field, name: 'a'.repeat(63), max_length: MAX_STRING_LENGTH }),
  fieldOf({ name: 'note', type: 'LongText', max_length: MAX_LONG_TEXT_LENGTH }),
  fieldOf({ ...field, max_length: 1 }),
])('the longest and the shortest that fit: %#', async (command) => {
  const { commands, appended } = await given();
  await command(commands);
  expect(appended(TENANT)).toHaveLength(1);
});

const ownTable = (name: string, fields: number): DirectoryEvent => ({
  type: 'AssetTableAdded',
  data: {
    assetType: {
      name,
      label: name,
      description: '',
      supportingData: true,
      uniqueField: 'f0',
      fields: Array.from({ length: fields }, (_, index) => textField(`f${index}`, { custom: true })),
      relationships: [],
      role: 'reference',
      custom: true,
    },
  },
});

test('a table has so many fields at most, and a tenant so many tables', async () => {
  const wide = await given({ [TENANT]: [created, ownTable('dyn_wide', MAX_FIELDS - 1)] });
  await addAssetField(wide.commands, caller, 'dyn_wide', field);
  await expect(addAssetField(wide.commands, caller, 'dyn_wide', { ...field, name: 'more' })).rejects.toMatchObject(
    invalid('name'),
  );
  const standard = standardTables('dyn_stock_order').size;
  const own = Array.from({ length: MAX_TABLES - 1 - standard }, (_, index) => ownTable(`dyn_t${index}`, 1));
  const many = await given({ [TENANT]: [created, ...own] });
  await addAssetTable(many.commands, caller, table);
  await expect(addAssetTable(many.commands, caller, { ...table, name: 'dyn_more' })).rejects.toMatchObject(
    invalid('name'),
  );
});
