import { tenantNameOf } from '#app/api/tenantHost.js';

const config = { baseHost: 'assets.example.com', defaultTenant: 'initech' };

test.each([
  ['acme.assets.example.com', 'acme'],
  ['ACME.Assets.Example.COM', 'acme'],
  ['acme.assets.example.com:8443', 'acme'],
  ['globex.assets.example.com', 'globex'],
  ['__proto__.assets.example.com', '__proto__'],
  ['assets.example.com', 'initech'],
  ['localhost', 'initech'],
  ['127.0.0.1', 'initech'],
  ['[::1]:3000', 'initech'],
  ['acme.example.com', undefined],
  ['a.acme.assets.example.com', undefined],
  ['acmeassets.example.com', undefined],
])('decision: below a base host of several labels, the host %s means the tenant %s', (host, tenant) => {
  expect(tenantNameOf(host, config)).toBe(tenant);
});

test('decision: a bare host means no tenant where there is no default one', () => {
  const { defaultTenant: _none, ...bare } = config;
  expect(tenantNameOf('127.0.0.1', bare)).toBeUndefined();
});
