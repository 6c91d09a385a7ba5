import { evolveTenant, type Tenant } from '#app/domain/identity/directory.js';
import type { DirectoryEvent } from '#app/domain/identity/events.js';

const AT = '2026-11-21T03:11:47.123456Z';
const created: DirectoryEvent = {
  type: 'TenantCreated',
  data: { name: 'acme', displayName: 'Acme', orderModel: 'dyn_stock_order' },
};
const changed = (data: Extract<DirectoryEvent, { type: 'QuotasChanged' }>['data']): DirectoryEvent => ({
  type: 'QuotasChanged',
  data,
});
const evolved = (events: readonly DirectoryEvent[]) =>
  events.reduce<Tenant | undefined>((tenant, event) => evolveTenant(tenant, event, AT), undefined);

test('a tenant keeps the quotas that a change does not name, and null removes one', () => {
  expect(evolved([created])?.quotas).toBeUndefined();
  const set = [created, changed({ records: 10, logBytes: 1_000 }), changed({ records: 0 })];
  expect(evolved(set)?.quotas).toEqual({ records: 0, logBytes: 1_000 });
  expect(evolved([...set, changed({ logBytes: null })])?.quotas).toEqual({ records: 0 });
});

test('an event with a quota that is unknown, or no number, cannot be applied', () => {
  const wrong = { type: 'QuotasChanged', data: { coffee: 1 } } as unknown as DirectoryEvent;
  expect(() => evolved([created, wrong])).toThrow('QuotasChanged');
  const noNumber = { type: 'QuotasChanged', data: { records: 'many' } } as unknown as DirectoryEvent;
  expect(() => evolved([created, noNumber])).toThrow('QuotasChanged');
});
