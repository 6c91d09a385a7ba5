import { evolveTenant, type Tenant } from '#app/domain/identity/directory.js';
import type { DirectoryEvent } from '#app/domain/identity/events.js';
import { copied, copiedOnce } from '#app/domain/writable.js';
import { cpuMs } from '../cpuTime.js';

const AT = '2026-11-21T03:11:47.123456Z';
const created: DirectoryEvent = {
  type: 'TenantCreated',
  data: { name: 'acme', displayName: 'Acme', orderModel: 'dyn_stock_order' },
};
const added = (id: number): DirectoryEvent => ({
  type: 'UserAdded',
  data: {
    id,
    email: `${id}@acme.example`,
    firstName: 'Eva',
    lastName: 'Smit',
    locale: 'nl',
    roles: ['auditor'],
    passwordHash: '',
  },
});
const renamed = (id: number): DirectoryEvent => ({ type: 'UserChanged', data: { id, firstName: 'Tom' } });
const evolved = (before: Tenant | undefined, events: readonly DirectoryEvent[], writable = copied) =>
  events.reduce<Tenant | undefined>((tenant, event) => evolveTenant(tenant, event, AT, writable), before);

describe('a tenant of thousands of users', () => {
  const ids = Array.from({ length: 5_000 }, (_, index) => index + 1);

  it('is evolved in a time that grows with its events, not with their square', () => {
    const history = [created, ...ids.map(added), ...[...ids, ...ids, ...ids].map(renamed)];
    const before = cpuMs();
    expect(evolved(undefined, history, copiedOnce())?.users.get(5_000)?.firstName).toBe('Tom');
    expect(cpuMs() - before).toBeLessThan(2_000);
  });

  it('evolved at once is what it is event by event, and who holds the tenant of before sees no change', () => {
    const tenant = evolved(undefined, [created, added(1), added(2)], copiedOnce());
    const kept = structuredClone(tenant);
    const then = [renamed(1), added(3), { type: 'UserRemoved', data: { id: 2 } } as const, renamed(3)];
    expect(evolved(tenant, then, copiedOnce())).toEqual(evolved(tenant, then));
    expect(tenant).toEqual(kept);
  });
});

describe("an API client's secrets", () => {
  const client: DirectoryEvent = {
    type: 'ApiClientCreated',
    data: { clientId: 'c', name: 'ERP', scopes: [], secretHash: 'old' },
  };
  const staged: DirectoryEvent = { type: 'ApiClientSecretStaged', data: { clientId: 'c', secretHash: 'new' } };
  const used = (secret: 'primary' | 'staged'): DirectoryEvent => ({
    type: 'ApiClientUsed',
    data: { clientId: 'c', secret },
  });
  const about = (type: 'ApiClientSecretPromoted' | 'ApiClientSecretUnstaged'): DirectoryEvent => ({
    type,
    data: { clientId: 'c' },
  });
  const after = (...events: DirectoryEvent[]) => evolved(undefined, [created, client, ...events])?.clients.get('c');
  const [name, day] = [{ clientId: 'c', name: 'ERP', scopes: [], createdAt: AT }, '2026-11-21'];

  it.each<[string, readonly DirectoryEvent[], object]>([
    [
      'there are two in a rotation, each with its last use',
      [used('primary'), staged, used('staged')],
      { secretHash: 'old', lastUsed: day, staged: { secretHash: 'new', since: AT, lastUsed: day } },
    ],
    [
      'the new one is the only one when it is promoted',
      [used('primary'), staged, about('ApiClientSecretPromoted')],
      { secretHash: 'new' },
    ],
    [
      'its use is told then',
      [staged, used('staged'), about('ApiClientSecretPromoted')],
      { secretHash: 'new', lastUsed: day },
    ],
    [
      'the old one is the only one when the other is taken back',
      [used('primary'), staged, about('ApiClientSecretUnstaged')],
      { secretHash: 'old', lastUsed: day },
    ],
    [
      'regenerating ends both',
      [used('primary'), staged, { type: 'ApiClientSecretRegenerated', data: { clientId: 'c', secretHash: 'third' } }],
      { secretHash: 'third' },
    ],
    ['promoting where there is no other changes nothing', [about('ApiClientSecretPromoted')], { secretHash: 'old' }],
    ['use of one that is no more is nothing', [used('staged')], { secretHash: 'old' }],
  ])('%s', (_rule, events, secrets) => {
    expect(after(...events)).toStrictEqual({ ...name, ...secrets });
  });

  it('what guards clean-ups can be changed, and removed', () => {
    const guarded = evolved(undefined, [
      created,
      { type: 'CleanUpGuardChanged', data: { maxPercent: 20, minRecords: 5 } },
    ]);
    expect(guarded?.cleanUpGuard).toEqual({ maxPercent: 20, minRecords: 5 });
    const changed = evolved(guarded, [{ type: 'CleanUpGuardChanged', data: { maxPercent: 30 } }]);
    expect(changed?.cleanUpGuard).toEqual({ maxPercent: 30 });
    expect(evolved(changed, [{ type: 'CleanUpGuardChanged', data: { maxPercent: null } }])).not.toHaveProperty(
      'cleanUpGuard',
    );
  });

  it('the rate limit of a tenant can be removed again', () => {
    const limited = evolved(undefined, [created, { type: 'RateLimitChanged', data: { perSecond: 1, burst: 1 } }]);
    expect(limited?.rateLimit).toEqual({ perSecond: 1, burst: 1 });
    expect(evolved(limited, [{ type: 'RateLimitRemoved', data: {} }])).not.toHaveProperty('rateLimit');
  });
});

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
    ['UserAdded', added(1).data, 'id', [undefined, '1', 1.5]],
    ['UserAdded', added(1).data, 'email', [undefined, 7]],
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
    expect(evolved(undefined, [added(1)])).toBeUndefined();
  });
});

describe('quotas of a tenant', () => {
  const changed = (data: object) => ({ type: 'QuotasChanged', data }) as DirectoryEvent;
  test('those that a change does not name stay, and null removes one', () => {
    expect(evolved(undefined, [created])?.quotas).toBeUndefined();
    const set = [created, changed({ records: 10, logBytes: 1_000 }), changed({ records: 0 })];
    expect(evolved(undefined, set)?.quotas).toEqual({ records: 0, logBytes: 1_000 });
    expect(evolved(undefined, [...set, changed({ logBytes: null })])?.quotas).toEqual({ records: 0 });
  });

  test.each([{ coffee: 1 }, { records: 'many' }])('an event that says %j cannot be applied', (data) => {
    expect(() => evolved(undefined, [created, changed(data)])).toThrow('QuotasChanged');
  });
});

describe('ended sessions', () => {
  const time = (hour: string): string =>
    new Date(Date.UTC(2026, 10, 21, Number(hour))).toISOString().replace('Z', '000Z');
  const ended = (userId: number, sessionId: string, expires: string): DirectoryEvent => ({
    type: 'SessionEnded',
    data: { userId, sessionId, expiresAt: time(expires) },
  });
  test.each<[string, readonly (readonly [hour: string, DirectoryEvent])[], object]>([
    [
      'each counts for its user',
      [
        ['01', ended(1, 'a', '08')],
        ['01', ended(2, 'b', '08')],
        ['02', ended(1, 'c', '09')],
      ],
      { 1: ['a', 'c'], 2: ['b'] },
    ],
    [
      'one that would be over by itself for a day is dropped with the next',
      [
        ['01', ended(1, 'a', '08')],
        ['32', ended(1, 'b', '36')],
      ],
      { 1: ['b'] },
    ],
    [
      'a user takes them along',
      [
        ['01', ended(1, 'a', '08')],
        ['02', { type: 'UserRemoved', data: { id: 1 } }],
      ],
      {},
    ],
  ])('%s', (_rule, events, remembered) => {
    const tenant = events.reduce(
      (state, [hour, event]) => evolveTenant(state, event, time(hour)),
      evolved(undefined, [created]),
    );
    const sessions = [...(tenant?.endedSessions ?? [])].map(([user, ids]) => [user, [...ids.keys()]]);
    expect(Object.fromEntries(sessions)).toEqual(remembered);
  });
});
