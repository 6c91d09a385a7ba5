import { readFileSync } from 'node:fs';
import type { AssetField, AssetType } from '#app/domain/assetTypes/assetType.js';
import { stockModel } from '#app/domain/assetTypes/standardTables.js';
import { evolveTenant, type OwnTenant, type Tenant } from '#app/domain/identity/directory.js';
import { type DirectoryEvent, ORDER_MODELS } from '#app/domain/identity/events.js';
import { standardTables } from '#app/domain/identity/tenantTables.js';
import { textField } from '../../fixtures/textField.js';

const AT = '2026-11-21T03:11:47.123456Z';
const ownTable = (name: string): AssetType => ({
  name,
  label: name,
  description: '',
  supportingData: true,
  uniqueField: 'code',
  fields: [textField('code', { required: true })],
  relationships: [],
  role: 'reference',
  custom: true,
});
const history: readonly DirectoryEvent[] = [
  { type: 'TenantCreated', data: { name: 'acme', displayName: 'Acme', orderModel: 'dyn_stock_order' } },
  {
    type: 'AssetFieldAdded',
    data: { table: 'dyn_item', field: textField('grade', { type: 'Integer', custom: true }) },
  },
  { type: 'AssetTableAdded', data: { assetType: ownTable('dyn_dock') } },
  { type: 'AssetFieldAdded', data: { table: 'dyn_dock', field: textField('gate', { custom: true }) } },
];
const evolved = (): Tenant => {
  const tenant = history.reduce<OwnTenant | undefined>((state, event) => evolveTenant(state, event, AT), undefined);
  if (tenant === undefined) throw new Error('No tenant.');
  return tenant;
};

/** While `work` runs, the release has these items, and these tables beside its own. */
function inRelease<Result>(items: (now: AssetType) => AssetType, tables: readonly AssetType[], work: () => Result) {
  const model = stockModel as AssetType[];
  const before = [...model];
  const next = [...before.map((type) => (type.name === 'dyn_item' ? items(type) : type)), ...tables];
  model.splice(0, model.length, ...next);
  try {
    return work();
  } finally {
    model.splice(0, model.length, ...before);
  }
}
const fieldsOf = (tenant: Tenant, table: string) => tenant.assetTypes.get(table)?.fields.map(({ name }) => name) ?? [];

it('a field of a later release stands where the release has it, and the tenant’s own stay behind', () => {
  const [first = '', ...others] = fieldsOf(evolved(), 'dyn_item');
  const later = (now: AssetType): AssetType => ({
    ...now,
    fields: [...now.fields.slice(0, 1), textField('origin'), ...now.fields.slice(1)],
  });
  expect(fieldsOf(inRelease(later, [], evolved), 'dyn_item')).toEqual([first, 'origin', ...others]);
  expect(others.at(-1)).toBe('grade');
});

it('where a release brings a name that the tenant has given, the tenant’s own stays', () => {
  const later = (now: AssetType): AssetType => ({ ...now, fields: [textField('grade'), ...now.fields] });
  const standardDock = { ...ownTable('dyn_dock'), fields: [textField('number')], custom: undefined };
  const tenant = inRelease(later, [standardDock as unknown as AssetType], evolved);
  const grades = tenant.assetTypes.get('dyn_item')?.fields.filter(({ name }) => name === 'grade');
  expect(grades).toEqual([textField('grade', { type: 'Integer', custom: true })]);
  expect(fieldsOf(tenant, 'dyn_dock')).toEqual(['code', 'gate']);
});

it('no release takes back a standard table or field, or what kind of value it has', () => {
  const file = new URL('../../fixtures/standardFields.json', import.meta.url);
  const known: { [model: string]: { [table: string]: { [field: string]: string } } } = JSON.parse(
    readFileSync(file, 'utf8'),
  );
  for (const model of ORDER_MODELS) {
    const now = Object.fromEntries(
      [...standardTables(model)].map(([name, { fields }]) => [
        name,
        Object.fromEntries(fields.map((each) => [each.name, kindOf(each)])),
      ]),
    );
    expect(now).toMatchObject(known[model] ?? {});
  }
});

/** Values of one kind are stored alike. */
function kindOf({ type, list }: AssetField): string {
  if (list === true) return 'list';
  if (type === 'Boolean') return 'boolean';
  return type === 'Integer' || type === 'Decimal' ? 'number' : 'text';
}
