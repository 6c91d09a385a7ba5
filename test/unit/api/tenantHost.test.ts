import { tenantNameOf } from '#app/api/tenantHost.js';
import { readConfig } from '#app/config.js';

const config = { BASE_HOST: 'assets.example.com', OPERATOR_HOST: 'operator.example.com', DEFAULT_TENANT: 'initech' };

test.each(['operator.example.com', 'localhost', '127.0.0.1'])(
  "0062: the operator's host %s is no tenant's, even if others like it mean the default tenant",
  (OPERATOR_HOST) => {
    expect(tenantNameOf(`${OPERATOR_HOST}:3000`, { ...config, OPERATOR_HOST })).toBeUndefined();
    expect(tenantNameOf('another', { ...config, OPERATOR_HOST })).toBe('initech');
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
