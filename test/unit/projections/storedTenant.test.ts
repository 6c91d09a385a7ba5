import { evolveTenant, type OwnTenant, type Tenant } from '#app/domain/identity/directory.js';
import type { DirectoryEvent } from '#app/domain/identity/events.js';
import { tenantFrom, tenantJson } from '#app/projections/directory/storedDirectory.js';

const AT = '2026-11-21T03:11:47.123456Z';
const LATER = '2099-01-01T00:00:00.000000Z';
const field = {
  name: 'grade',
  label: 'Grade',
  type: 'String',
  required: false,
  filterable: true,
  sortable: true,
} as const;

const created: DirectoryEvent = {
  type: 'TenantCreated',
  data: { name: 'acme', displayName: 'Acme', orderModel: 'dyn_stock_order' },
};
const user = (id: number): DirectoryEvent => ({
  type: 'UserAdded',
  data: {
    id,
    email: `${id}@acme.example`,
    firstName: 'Eva',
    lastName: 'S',
    locale: 'nl',
    roles: ['admin'],
    passwordHash: 'h',
  },
});
const client = (clientId: string): DirectoryEvent => ({
  type: 'ApiClientCreated',
  data: { clientId, name: 'ERP', scopes: ['read:order_data'], secretHash: 'h' },
});
const webhook = (id: string): DirectoryEvent => ({
  type: 'WebhookCreated',
  data: {
    id,
    name: id,
    url: 'https://a.example/',
    events: ['order.approved'],
    customData: { a: [1] },
    sealedSecret: 's',
  },
});
const history: readonly DirectoryEvent[] = [
  created,
  { type: 'AssetFieldAdded', data: { table: 'dyn_item', field: { ...field, custom: true } } },
  {
    type: 'AssetTableAdded',
    data: {
      assetType: {
        name: 'dyn_own',
        label: 'Own',
        description: '',
        supportingData: true,
        uniqueField: 'grade',
        fields: [field],
        relationships: [],
        role: 'reference',
        custom: true,
      },
    },
  },
  { type: 'AssetFieldAdded', data: { table: 'dyn_item', field: { ...field, name: 'gone', custom: true } } },
  { type: 'AssetFieldRetired', data: { table: 'dyn_item', field: 'gone' } },
  { type: 'AssetLabelsChanged', data: { table: 'dyn_item', labels: { table: { nl: 'Artikelen' }, fields: {} } } },
  { type: 'RateLimitChanged', data: { perSecond: 5, burst: 6 } },
  { type: 'CleanUpGuardChanged', data: { maxPercent: 20 } },
  ...[1, 2, 3].map(user),
  { type: 'UserChanged', data: { id: 2, firstName: 'Tom' } },
  { type: 'UserRemoved', data: { id: 3 } },
  { type: 'SessionEnded', data: { userId: 1, sessionId: 'one', expiresAt: LATER } },
  { type: 'SignedIn', data: { userId: 1, sessionId: 'two', expiresAt: LATER, network: '192.0.2.1', userAgent: 'a' } },
  { type: 'SessionEnded', data: { userId: 1, sessionId: 'two', expiresAt: LATER } },
  ...['c', 'a', 'b'].map(client),
  { type: 'ApiClientRemoved', data: { clientId: 'a' } },
  { type: 'ApiClientSecretStaged', data: { clientId: 'b', secretHash: 'second' } },
  { type: 'ApiClientUsed', data: { clientId: 'b', secret: 'staged' } },
  ...['w2', 'w1'].map(webhook),
  { type: 'WebhookSecretStaged', data: { id: 'w1', sealedSecret: 't' } },
  { type: 'WebhookDisabled', data: { id: 'w2', cause: 'admin', reason: 'r' } },
];
const evolved = (before: OwnTenant | undefined, events: readonly DirectoryEvent[]): OwnTenant => {
  const tenant = events.reduce<OwnTenant | undefined>((state, event) => evolveTenant(state, event, AT), before);
  if (tenant === undefined) throw new Error('No tenant.');
  return tenant;
};

/** Maps in their order, which tables and lists show. */
const inOrder = (tenant: Tenant) =>
  Object.fromEntries(Object.entries(tenant).map(([name, value]) => [name, value instanceof Map ? [...value] : value]));

it('a tenant is the same after it was stored, whatever happened last', () => {
  let before: OwnTenant | undefined;
  for (const event of history) {
    const now = evolved(before, [event]);
    expect(inOrder(tenantFrom(tenantJson(now)))).toEqual(inOrder(now));
    before = now;
  }
});
