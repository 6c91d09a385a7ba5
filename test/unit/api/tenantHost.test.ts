import { isHost, tenantNameIn, tenantNameOf } from '#app/api/tenantHost.js';
import { readConfig } from '#app/config.js';

const config = { baseHost: 'assets.example.com', operatorHost: 'operator.example.com', defaultTenant: 'initech' };

test.each([
  ['acme.assets.example.com', 'acme'],
  ['ACME.Assets.Example.COM', 'acme'],
  ['acme.assets.example.com:8443', 'acme'],
  ['globex.assets.example.com', 'globex'],
  ['globex.assets.example.com.:8443', 'globex'],
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

test.each(['operator.example.com', 'localhost', '127.0.0.1'])(
  "0062: the operator's host %s is no tenant's, even if others like it mean the default tenant",
  (operatorHost) => {
    expect(tenantNameOf(`${operatorHost}:3000`, { ...config, operatorHost })).toBeUndefined();
    expect(tenantNameOf('another', { ...config, operatorHost })).toBe('initech');
  },
);

test("0062: a host that a tenant can have is no operator's", () => {
  const config = (OPERATOR_HOST: string, BASE_HOST = 'assets.example.com') => readConfig({ BASE_HOST, OPERATOR_HOST });
  expect(() => config('Ops.Assets.Example.com.')).toThrow(
    'OPERATOR_HOST must not be the host of a tenant: ops (it is "Ops.Assets.Example.com.")',
  );
  for (const host of ['operator.example.com', 'assets.example.com', 'a.b.assets.example.com', 'myassets.example.com'])
    expect(config(host).OPERATOR_HOST).toBe(host);
});

test.each([
  'acme.localhost',
  'acme.localhost:80',
  'LOCALHOST',
  'a_b.example',
  '127.0.0.1:3000',
  '[::1]',
  '[::1]:80',
  'a:',
])('RFC 9110 §7.2: %s is a host', (host) => expect(isHost(host)).toBe(true));

test.each([
  '',
  'acme.localhost:80@evil.example',
  'evil@acme.localhost',
  'acme.localhost/evil',
  'acme.localhost?evil',
  'acme.localhost#evil',
  'acme.localhost:80:80',
  'acme.localhost:http',
  'acme.localhost:123456',
  'acme.localhost, evil.example',
  'acme .localhost',
  'acme.localhost"',
  'acm%65.localhost',
  '::1',
  '[::1',
  '[::1]evil',
  '[1:2]',
  `${'a'.repeat(300)}.localhost`,
])('RFC 9110 §7.2: %s is no host', (host) => expect(isHost(host)).toBe(false));

describe('X-Tenant', () => {
  const local = {
    baseHost: 'localhost',
    operatorHost: 'operator.service.localhost',
    defaultTenant: 'demo',
    trustProxy: 0,
  };
  const named = (host: string, headers: Record<string, string>, remoteAddress = '127.0.0.1', trustProxy = 0) =>
    tenantNameIn({ headers, socket: { remoteAddress } } as never, host, { ...local, trustProxy });
  const acme = { 'x-tenant': 'acme' };

  it.each(['localhost:3000', '127.0.0.1:3000', '[::1]'])('names the tenant at %s, asked on this machine', (host) => {
    expect(named(host, acme)).toBe('acme');
    expect(named(host, {})).toBe('demo');
  });

  it.each<[string, Parameters<typeof named>]>([
    ['of another tenant than the host', ['globex.localhost', acme]],
    ['from another machine', ['localhost', acme, '10.0.0.7']],
    ['at an address of another machine', ['10.0.0.7', acme]],
    ['behind a proxy of this machine', ['localhost', { ...acme, 'x-forwarded-for': '10.0.0.7' }]],
    ["at the operator's host", ['operator.service.localhost', acme]],
    ['behind a trusted proxy', ['localhost', acme, '127.0.0.1', 1]],
  ])('%s is refused', (_where, request) => {
    expect(() => named(...request)).toThrow('Bad request.');
  });

  it('that says what the host says is nothing new, from wherever', () => {
    expect(named('acme.localhost', acme, '10.0.0.7')).toBe('acme');
  });
});
