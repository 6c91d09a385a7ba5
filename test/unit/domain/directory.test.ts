/** What a tenant's part of the directory is not made of. What its commands do is seen over HTTP. */
import { evolveTenant, type Tenant } from '#app/domain/identity/directory.js';
import type { DirectoryEvent } from '#app/domain/identity/events.js';

const AT = '2026-11-21T03:11:47.123456Z';
const created: DirectoryEvent = {
  type: 'TenantCreated',
  data: { name: 'acme', displayName: 'Acme', orderModel: 'dyn_stock_order' },
};
const user = {
  id: 1,
  email: 'eva@acme.example',
  firstName: 'Eva',
  lastName: 'Smit',
  locale: 'nl',
  roles: ['auditor'],
  passwordHash: '',
} as const;
const evolved = (before: Tenant | undefined, events: readonly DirectoryEvent[]) =>
  events.reduce<Tenant | undefined>((tenant, event) => evolveTenant(tenant, event, AT), before);

describe('an event that does not say what it is about is not applied', () => {
  const client = { clientId: 'c', name: 'ERP', scopes: ['read:order_data'], secretHash: 'h' };
  const webhook = {
    id: 'w',
    name: 'ERP',
    url: 'https://a.example/',
    events: ['order.approved'],
    customData: {},
    sealedSecret: 's',
  };
  const ownField = { name: 'grade', type: 'String', custom: true };
  const ownTable = { name: 'dyn_own', fields: [ownField] };
  /** What the rest would be read without, and what stands there instead. */
  const noTexts: readonly unknown[] = [undefined, null, 'one', [7]];
  const cases: readonly (readonly [type: string, data: object, member: string, values: readonly unknown[]])[] = [
    ['TenantCreated', { name: 'acme', displayName: 'Acme' }, 'orderModel', [undefined, 'dyn_item']],
    ['UserAdded', user, 'id', [undefined, '1', 1.5]],
    ['UserAdded', user, 'email', [undefined, 7]],
    ['ApiClientCreated', client, 'clientId', [undefined, 7]],
    ['ApiClientCreated', client, 'secretHash', [undefined, 7]],
    ['ApiClientCreated', client, 'scopes', noTexts],
    ['ApiClientSecretStaged', { clientId: 'c', secretHash: 'h' }, 'clientId', [undefined, 7]],
    ['ApiClientSecretStaged', { clientId: 'c', secretHash: 'h' }, 'secretHash', [undefined, 7]],
    ['WebhookCreated', webhook, 'id', [undefined, 7]],
    ['WebhookCreated', webhook, 'url', [undefined, 7]],
    ['WebhookCreated', webhook, 'events', noTexts],
    ['WebhookCreated', webhook, 'sealedSecret', [undefined, 7]],
    ['WebhookChanged', { id: 'w' }, 'events', [null, 'order.approved', [7]]],
    ['CleanUpGuardChanged', { maxPercent: 20 }, 'maxPercent', [undefined, '20', Number.NaN]],
    ['CleanUpGuardChanged', { maxPercent: 20 }, 'minRecords', ['5', Number.NaN]],
    ['AssetFieldAdded', { table: 'dyn_item', field: ownField }, 'field', [{ ...ownField, name: 7 }]],
    ['AssetFieldAdded', { table: 'dyn_item', field: ownField }, 'field', [{ ...ownField, type: 'Colour' }]],
    ['AssetTableAdded', { assetType: ownTable }, 'assetType', [{ ...ownTable, name: 7 }]],
    ['AssetTableAdded', { assetType: ownTable }, 'assetType', [{ ...ownTable, fields: undefined }]],
    ['AssetTableAdded', { assetType: ownTable }, 'assetType', [{ ...ownTable, fields: [{ name: 'grade' }] }]],
    ['QuotasChanged', { records: 10 }, 'records', ['many']],
    ['QuotasChanged', { records: 10 }, 'coffee', [1]],
  ];

  it.each(cases)('%s of %j without a good %s', (type, data, member, values) => {
    for (const value of values) {
      const event = { type, data: { ...data, [member]: value } } as unknown as DirectoryEvent;
      expect(() => evolved(type === 'TenantCreated' ? undefined : evolved(undefined, [created]), [event])).toThrow(
        /^The event .*does not say/,
      );
    }
    if (type === 'TenantCreated') return;
    const whole = { type, data } as unknown as DirectoryEvent;
    expect(evolved(undefined, [created, whole])).toMatchObject({ name: 'acme' });
  });

  it('one that is there before its tenant makes none', () => {
    expect(evolved(undefined, [{ type: 'UserAdded', data: user }])).toBeUndefined();
  });
});
