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
