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

test('a field is as given, and otherwise is optional, and named by its name', async () => {
  const { commands, appended } = await given();
  const flags = { required: true, filterable: true, sortable: true };
  await fieldOf({ ...field, label: 'Class', ...flags, max_length: 9 })(commands);
  await fieldOf({ name: 'shelf_life', type: 'String' })(commands);
  const none = { required: false, filterable: false, sortable: false };
  expect(appended(TENANT).map(({ data }) => data)).toEqual([
    { table: 'dyn_item', field: { ...field, label: 'Class', ...flags, maxLength: 9, custom: true } },
    { table: 'dyn_item', field: { name: 'shelf_life', type: 'String', label: 'Shelf life', ...none, custom: true } },
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

test.each<[string, (commands: Commands) => Promise<unknown>, object]>([
  ['a name that programs misunderstand', fieldOf({ ...field, name: 'constructor' }), invalid('name')],
  ['a name of 64 characters', fieldOf({ ...field, name: 'a'.repeat(64) }), invalid('name')],
  [
    'long text that is longer than fits',
    fieldOf({ name: 'note', type: 'LongText', max_length: MAX_LONG_TEXT_LENGTH + 1 }),
    invalid('max_length'),
  ],
  ['a table that is not there', (commands) => addAssetField(commands, caller, 'dyn_dock', field), NOT_FOUND],
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
