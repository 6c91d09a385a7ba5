import { evolveTenant, type Tenant } from '#app/domain/identity/directory.js';
import type { DirectoryEvent } from '#app/domain/identity/events.js';
import { changedParts, type TenantPart, tenantFrom } from '#app/domain/identity/tenantParts.js';

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
  { type: 'RateLimitChanged', data: { perSecond: 5, burst: 6 } },
  { type: 'CleanUpGuardChanged', data: { maxPercent: 20 } },
  ...[1, 2, 3].map(user),
  { type: 'UserChanged', data: { id: 2, firstName: 'Tom' } },
  { type: 'UserRemoved', data: { id: 3 } },
  { type: 'SessionEnded', data: { userId: 1, sessionId: 'one', expiresAt: LATER } },
  { type: 'SessionEnded', data: { userId: 1, sessionId: 'two', expiresAt: LATER } },
  ...['c', 'a', 'b'].map(client),
  { type: 'ApiClientRemoved', data: { clientId: 'a' } },
  { type: 'ApiClientSecretStaged', data: { clientId: 'b', secretHash: 'second' } },
  { type: 'ApiClientUsed', data: { clientId: 'b', secret: 'staged' } },
  ...['w2', 'w1'].map(webhook),
  { type: 'WebhookSecretStaged', data: { id: 'w1', sealedSecret: 't' } },
  { type: 'WebhookDisabled', data: { id: 'w2', cause: 'admin', reason: 'r' } },
];
const evolved = (before: Tenant | undefined, events: readonly DirectoryEvent[]): Tenant => {
  const tenant = events.reduce<Tenant | undefined>((state, event) => evolveTenant(state, event, AT), before);
  if (tenant === undefined) throw new Error('No tenant.');
  return tenant;
};

/** As a store keeps them: as text, each in the place where it first came. */
class Kept {
  readonly #parts = new Map<string, string>();
  add(parts: Iterable<TenantPart>): number {
    const changed = [...parts];
    for (const { part, value } of changed) {
      if (value === undefined) this.#parts.delete(part);
      else this.#parts.set(part, JSON.stringify(value));
    }
    return changed.length;
  }
  get tenant(): Tenant {
    return tenantFrom([...this.#parts].map(([part, text]) => ({ part, value: JSON.parse(text) })));
  }
}

/** Maps in their order, which tables and lists show. */
const inOrder = (tenant: Tenant) =>
  Object.fromEntries(Object.entries(tenant).map(([name, value]) => [name, value instanceof Map ? [...value] : value]));

it('a tenant is the same after it was stored in parts', () => {
  const kept = new Kept();
  const tenant = evolved(undefined, history);
  kept.add(changedParts(undefined, tenant));
  expect(inOrder(kept.tenant)).toEqual(inOrder(tenant));
});

it('stored after each event, it is what it is when stored at once', () => {
  const kept = new Kept();
  let before: Tenant | undefined;
  for (const event of history) {
    const now = evolved(before, [event]);
    expect(kept.add(changedParts(before, now))).toBeLessThanOrEqual(2);
    expect(inOrder(kept.tenant)).toEqual(inOrder(now));
    before = now;
  }
});

it('a standard table that was never changed is in no part, and is the very one of this release when read', () => {
  const tenant = evolved(undefined, [created]);
  expect([...changedParts(undefined, tenant)].map(({ part }) => part)).toEqual(['tenant']);
  const kept = new Kept();
  kept.add(changedParts(undefined, tenant));
  expect(kept.tenant.assetTypes.get('dyn_item')).toBe(tenant.assetTypes.get('dyn_item'));
});

it('nothing is stored of a tenant that has not changed', () => {
  const tenant = evolved(undefined, history);
  expect([...changedParts(tenant, tenant)]).toEqual([]);
});

it('of a tenant that was deleted one part is left, and later events change nothing', () => {
  const kept = new Kept();
  const before = evolved(undefined, history);
  kept.add(changedParts(undefined, before));
  const deleted = evolved(before, [{ type: 'TenantDeleted', data: { name: 'acme' } }]);
  kept.add(changedParts(before, deleted));
  expect(kept.tenant).toMatchObject({ name: 'acme', deleted: true });
  expect(inOrder(kept.tenant)).toEqual(inOrder(deleted));
  expect([...changedParts(undefined, deleted)].map(({ part }) => part)).toEqual(['tenant']);
  expect(evolved(deleted, history)).toBe(deleted);
});

describe('what is stored, as this release reads it', () => {
  const stored = (): TenantPart[] => [...changedParts(undefined, evolved(undefined, history))];

  it('is no tenant where its first part is missing', () => {
    const parts = stored().filter(({ part }) => part !== 'tenant');
    expect(() => tenantFrom(parts)).toThrow('A stored tenant lacks its first part.');
  });

  it.each<[string, TenantPart]>([
    ['a kind of part that it does not know', { part: 'badge 1', value: { id: 1 } }],
    ['a standard table that it has no more', { part: 'table dyn_gone', value: { name: 'dyn_gone', fields: [field] } }],
  ])('lacks %s', (_what, part) => {
    expect(inOrder(tenantFrom([...stored(), part]))).toEqual(inOrder(tenantFrom(stored())));
  });
});
