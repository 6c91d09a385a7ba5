/** What operators and monitors ask: health, metrics, public keys. It needs no tenant and no token. */
import { z } from 'zod';
import { useService } from '../useService.js';

const run = useService({ tenants: { acme: 'dyn_stock_order' } });
const ask = (path: string, host = 'localhost') => run.service.send({ method: 'GET', path, headers: { host } });

it.each(['/health/live', '/health/ready', '/.well-known/jwks.json'])('%s is 200 at any host', async (path) => {
  expect((await ask(path, 'nobody.example.com')).status).toBe(200);
});

it('the metrics name requests by their route, and say how far the projections are behind', async () => {
  const { id } = await run.tenant('acme').create('dyn_party', { external_id: 'P-1', name: 'Party' });
  await run.tenant('acme').get('dyn_party', id);
  const { text } = await ask('/metrics');
  expect(text).toContain('route="/api/v1/dynamic-assets/dyn/:table/assets/:id",status="200"');
  expect(text).toMatch(/projection_lag_events\{projection="records"\} \d/);
  expect(text).toMatch(/projection_lag_seconds\{projection="records"\} \d/);
});

it('§5.3: the key set has the public half of one key', async () => {
  const { text, body } = await ask('/.well-known/jwks.json');
  const { keys } = z.object({ keys: z.array(z.unknown()) }).parse(body);
  expect(keys).toEqual([expect.objectContaining({ kty: 'EC', alg: 'ES256', kid: expect.any(String) })]);
  expect(text).not.toContain('"d"');
});
