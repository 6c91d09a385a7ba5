/** Figures of single tenants, of the data directory and of its backups in /metrics (docs/operations.md). */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { askSession } from '../people.js';
import { type Service, startService } from '../service.js';
import { useService } from '../useService.js';

const run = useService({
  tenants: { acme: 'dyn_stock_order', cargo: 'dyn_transport_order' },
  env: { SIGN_INS_PER_HOUR: '2' },
});
const acme = () => run.tenant('acme');

/** Values by series. */
async function scrape(service: Service = run.service): Promise<ReadonlyMap<string, number>> {
  const { text } = await service.send({ method: 'GET', path: '/metrics' });
  return new Map(
    [...text.matchAll(/^(\w+(?:\{.*\})?) (\S+)$/gm)].map(([, series = '', value]) => [series, Number(value)]),
  );
}
const value = async (series: string): Promise<number> => (await scrape()).get(series) ?? Number.NaN;
async function becomes(series: string, wanted: number): Promise<void> {
  while ((await value(series)) !== wanted) await wait(50);
}
const names = async (tenant: string) =>
  [...(await scrape()).keys()].filter((series) => series.includes(`tenant="${tenant}"`));

it('each tenant has its requests, bytes and events from the first scrape on, and requests to no tenant are counted for none', async () => {
  const before = await scrape();
  expect(before.get('tenant_requests_total{tenant="cargo",status="2xx"}')).toBe(0);
  const item = await acme().create('dyn_item', { external_id: 'A-1', name: 'Tea' });
  const { text } = await acme().getRecord('dyn_item', item.id);
  await acme().send('GET', '/api/v1/dynamic-assets/dyn/dyn_item/assets', { token: null });
  const after = await scrape();
  const grown = (series: string) => (after.get(series) ?? 0) - (before.get(series) ?? 0);
  expect(grown('tenant_requests_total{tenant="acme",status="4xx"}')).toBe(1);
  expect(grown('tenant_requests_total{tenant="acme",status="2xx"}')).toBeGreaterThanOrEqual(2);
  expect(grown('tenant_response_bytes_total{tenant="acme"}')).toBeGreaterThan(2 * text.length - 50);
  expect(grown('tenant_request_bytes_total{tenant="acme"}')).toBeGreaterThan(30);
  expect(grown('tenant_events_total{tenant="acme"}')).toBe(1);
  expect(grown('tenant_events_total{tenant="cargo"}')).toBe(0);
  expect(await names('_other')).toEqual([]);
  await run.service.send({ method: 'GET', path: '/nothing', headers: { host: 'nobody.localhost' } });
  expect(await names('nobody')).toEqual([]);
});

it('records of all tables are counted, and when reference data was synchronised last, though nothing changed', async () => {
  const cargo = run.tenant('cargo');
  const sync = 'tenant_last_sync_timestamp_seconds{tenant="cargo"}';
  expect(await value(sync)).toBeNaN();
  const items = [1, 2, 3].map((n) => ({ external_id: `P-${n}`, name: `Party ${n}` }));
  const began = Date.now() / 1000;
  await cargo.batch('dyn_party', items);
  await becomes('tenant_records{tenant="cargo"}', 3);
  const first = await value(sync);
  expect(first).toBeGreaterThanOrEqual(began - 1);
  await cargo.create('dyn_transport_order', {});
  await becomes('tenant_records{tenant="cargo"}', 4);
  expect(await value(sync)).toBe(first);
  await cargo.batch('dyn_party', items);
  expect(await value(sync)).toBeGreaterThan(first);
  expect(await value('tenant_last_sync_age_seconds{tenant="cargo"}')).toBeLessThan(30);
});

it('refused sign-ins and token requests are counted by tenant, kind and reason', async () => {
  const refused = (kind: string, reason: string) =>
    value(`sign_ins_refused_total{tenant="acme",kind="${kind}",reason="${reason}"}`);
  expect(await refused('user', 'wrong_credentials')).toBe(0);
  for (let n = 0; n < 12; n += 1) await askSession(acme(), 'nobody@example.com', `wrong ${n}`);
  expect(await refused('user', 'wrong_credentials')).toBe(10);
  expect(await refused('user', 'too_many_wrong')).toBe(2);
  const { email, password } = acme().admin;
  for (let n = 0; n < 4; n += 1) await askSession(acme(), email, password);
  expect(await refused('user', 'too_many_sessions')).toBeGreaterThanOrEqual(2);
  const body = { grant_type: 'client_credentials', client_id: acme().client.client_id, client_secret: 'wrong' };
  expect((await acme().send('POST', '/oauth/token', { token: null, body })).status).toBe(401);
  expect(await refused('client', 'wrong_credentials')).toBe(1);
  expect(await value('sign_ins_refused_total{tenant="cargo",kind="user",reason="wrong_credentials"}')).toBe(0);
});

it('METRICS_TENANTS bounds the series: all other tenants share one', async () => {
  const env = { METRICS_TENANTS: '1' };
  const service = await startService({ tenants: { one: 'dyn_stock_order', two: 'dyn_stock_order' }, env });
  try {
    for (const name of ['one', 'two']) await service.tenant(name).batch('dyn_item', [{ external_id: 'A', name: 'A' }]);
    const settled = async () => {
      for (;;) {
        const found = await scrape(service);
        if (found.get('tenant_records{tenant="_other"}') === 1) return found;
        await wait(50);
      }
    };
    const series = [...(await settled()).keys()].filter((each) => /^tenant_|^sign_ins/.test(each));
    const tenants = new Set(series.map((each) => /tenant="([^"]*)"/.exec(each)?.[1]));
    expect([...tenants].sort()).toEqual(['_other', expect.stringMatching(/^(one|two)$/)]);
    expect(series.filter((each) => each.startsWith('tenant_last_sync_age_seconds'))).toHaveLength(1);
  } finally {
    await service.dispose();
  }
});

it('the disk of the data directory, the log in it and the age of its last backup are told', async () => {
  const before = await scrape();
  expect(before.get('data_directory_free_bytes')).toBeGreaterThan(1_000_000);
  expect(before.get('data_directory_size_bytes')).toBeGreaterThan(before.get('data_directory_free_bytes') ?? 0);
  expect(before.get('event_log_bytes')).toBeGreaterThan(1_000);
  expect(before.get('backup_last_timestamp_seconds')).toBe(0);
  expect(before.has('backup_age_seconds')).toBe(false);
  const directory = await mkdtemp(join(tmpdir(), 'backup-'));
  const began = Date.now() / 1000;
  expect(await run.service.cli('backup', join(directory, 'one'))).toMatchObject({ code: 0, stderr: '' });
  const after = await scrape();
  expect(after.get('backup_last_timestamp_seconds')).toBeGreaterThanOrEqual(began - 1);
  expect(after.get('backup_age_seconds')).toBeLessThan(60);
  // One that fails is none.
  expect((await run.service.cli('backup', join(directory, 'one'))).code).toBe(1);
  expect(await value('backup_last_timestamp_seconds')).toBe(after.get('backup_last_timestamp_seconds'));
  await rm(directory, { recursive: true });
});
