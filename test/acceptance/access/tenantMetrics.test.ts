/** Figures of single tenants in /metrics (docs/operations.md). */
import { useService } from '../useService.js';

const run = useService({ tenants: { acme: 'dyn_stock_order', cargo: 'dyn_transport_order' } });
const acme = () => run.tenant('acme');

/** Values by series. */
async function scrape(): Promise<ReadonlyMap<string, number>> {
  const { text } = await run.service.send({ method: 'GET', path: '/metrics' });
  return new Map(
    [...text.matchAll(/^(\w+(?:\{.*\})?) (\S+)$/gm)].map(([, series = '', value]) => [series, Number(value)]),
  );
}
const names = async (tenant: string) =>
  [...(await scrape()).keys()].filter((series) => series.includes(`tenant="${tenant}"`));

it('each tenant has its requests from the first scrape on, and requests to no tenant are counted for none', async () => {
  const before = await scrape();
  expect(before.get(`tenant_requests_total{tenant="${run.tenant('cargo').name}",status="2xx"}`)).toBe(0);
  const item = await acme().create('dyn_item', { external_id: 'A-1', name: 'Tea' });
  await acme().getRecord('dyn_item', item.id);
  await acme().send('GET', '/api/v1/dynamic-assets/dyn/dyn_item/assets', { token: null });
  const after = await scrape();
  const grown = (series: string) => (after.get(series) ?? 0) - (before.get(series) ?? 0);
  expect(grown(`tenant_requests_total{tenant="${acme().name}",status="4xx"}`)).toBe(1);
  expect(grown(`tenant_requests_total{tenant="${acme().name}",status="2xx"}`)).toBeGreaterThanOrEqual(2);
  expect(await names('_other')).toEqual([]);
  await run.service.send({ method: 'GET', path: '/nothing', headers: { host: 'nobody.localhost' } });
  expect(await names('nobody')).toEqual([]);
});
