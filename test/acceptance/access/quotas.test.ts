/** Quotas of a tenant, and the reserve of the disk: what grows is refused with 507, all else goes on. */
import { statSync } from 'node:fs';
import { readdir, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { newId } from '#app/commands/clock.js';
import { REPORTS_BEYOND_QUOTA_PERCENT } from '#app/domain/limits.js';
import type { Answer } from '../http.js';
import { Operator } from '../operator.js';
import { expectErrorBody, expectRefused } from '../refusals.js';
import { type Service, startService } from '../service.js';
import type { TenantClient } from '../tenant.js';
import { useService } from '../useService.js';

const run = useService({ tenants: { acme: 'dyn_stock_order', other: 'dyn_stock_order' } });
const acme = () => run.tenant('acme');
const other = () => run.tenant('other');

const items = (count: number, batchId = 'one') =>
  Array.from({ length: count }, () => ({ external_id: newId(), name: 'Tea', _batch_id: batchId }));
const batch = (tenant: TenantClient, count = 1) => tenant.postBatch('dyn_item', { items: items(count) });
const create = (tenant: TenantClient) => tenant.postRecord('dyn_item', { external_id: newId(), name: 'Tea' });
const order = (tenant: TenantClient) => tenant.postRecord('dyn_stock_order', {});

/** Sends until it is answered with this status; figures may be two seconds old. */
async function until(status: number, send: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await send();
    if (answer.status === status) return answer;
    await wait(50);
  }
}
/** Sends until it is refused for this quota. */
async function untilUsedUp(quota: string, send: () => Promise<Answer>): Promise<void> {
  const answer = await until(507, send);
  expectErrorBody(answer);
  expect(answer.body).toMatchObject({
    message: 'A quota of this tenant is used up; nothing was written.',
    error: expect.stringMatching(new RegExp(`^${quota}: at most \\d+ .*, and there are \\d+\\. .* ask the operator`)),
  });
}

/** Of acme. */
async function setQuotas(...options: readonly string[]): Promise<void> {
  const { code, stderr } = await run.service().cli('tenant', 'quotas', acme().name, ...options);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
}

const use = z.strictObject({ limit: z.number().nullable(), used: z.number().nullable() });
const shownTenant = z.looseObject({ quotas: z.record(z.string(), use) });
const shown = async (tenant: TenantClient) => shownTenant.parse(await tenant.platformData('GET', '/tenant')).quotas;

/** Bytes in the log of acme, when the rows show all of it. */
async function allBytes(): Promise<number> {
  for (let before = -1; ; await wait(200)) {
    const used = (await shown(acme())).log_bytes?.used ?? 0;
    if (used === before) return used;
    before = used;
  }
}

it('a tenant with as many records as it may have creates no more, until a clean-up has made room', async () => {
  await setQuotas('--records', '5');
  await untilUsedUp('records', () => batch(acme(), 3));
  await expectRefused(run.service(), 507, () => create(acme()));
  await expectRefused(run.service(), 507, () => order(acme()));
  expect((await batch(other())).status).toBe(200);
  expect((await create(other())).status).toBe(201);

  const { data } = await acme().list('dyn_item', { perPage: '1000' });
  const [first] = data;
  expect((await acme().putRecord('dyn_item', first?.id ?? '', { name: 'Coffee' })).status).toBe(200);
  const dryRun = { query: { dry_run: 'true' } };
  expect((await acme().postBatch('dyn_item', { items: items(2) }, dryRun)).status).toBe(200);
  await acme().cleanUp('dyn_item', 'nothing has this', data.length);
  expect((await until(200, () => batch(acme()))).status).toBe(200);
  await setQuotas('--records', 'default');
});

it('a tenant whose log is full reads, signs in, reports, cleans up and manages its clients, and changes no data', async () => {
  await acme().create('dyn_party', { external_id: 'C-1', name: 'Kade' });
  const unit = await acme().create('dyn_unit_code', { code: 'PCE', value: 'Piece' });
  const item = await acme().create('dyn_item', { external_id: newId(), name: 'Tea', base_unit_code_id: unit.id });
  const { id } = await acme().create('dyn_stock_order', {
    buyer_customer_party_id: 'C-1',
    delivery_date: '2026-12-01',
    customer_reference: 'PO 1',
    lines: [{ quantity: 3, item_id: item.id, unit_code_id: unit.id }],
  });
  await acme().update('dyn_stock_order', id, { processing_status: 'validated' });
  const quota = await allBytes();
  await setQuotas('--log-bytes', String(quota));
  await untilUsedUp('log_bytes', () => create(acme()));
  const approve = () => acme().platform('POST', `/orders/${id}/approve`);
  for (const send of [
    () => batch(acme()),
    () => order(acme()),
    () => acme().putRecord('dyn_item', item.id, { name: 'Coffee' }),
    () => acme().putRecord('dyn_stock_order', id, { processing_status: 'saved', notes: 'more' }),
    () => acme().startSync('dyn_item'),
    approve,
  ])
    await expectRefused(run.service(), 507, send);
  expect((await acme().getRecord('dyn_item', item.id)).status).toBe(200);
  await acme().signIn(acme().admin);
  expect((await acme().putRecord('dyn_stock_order', id, { processing_status: 'submitted' })).status).toBe(200);
  expect((await acme().platform('POST', '/api-clients', { body: { name: 'Another' } })).status).toBe(201);
  await acme().cleanUp('dyn_item', 'nothing has this', (await acme().list('dyn_item', {})).meta.total);
  expect((await create(other())).status).toBe(201);
  // Reports end as well, when they have used their part beyond the quota.
  const reasons = () => ({ processing_status: 'submit_failed', error_reason: [newId()] });
  await untilUsedUp('log_bytes', () => acme().putRecord('dyn_stock_order', id, reasons()));
  expect(await allBytes()).toBeGreaterThanOrEqual(quota * (1 + REPORTS_BEYOND_QUOTA_PERCENT / 100));
  await setQuotas('--log-bytes', 'default');
  expect((await until(201, () => create(acme()))).status).toBe(201);
});

describe('what the operator sets', () => {
  let service: Service;
  const one = () => service.tenant('acme');
  const two = () => service.tenant('other');
  beforeAll(async () => {
    const { bavail, bsize } = await statfs(tmpdir());
    const env = { DISK_RESERVE: String(Math.round(1.5 * bavail * bsize)), BACKUP_DIR: 'backups' };
    service = await startService({ tenants: { acme: 'dyn_stock_order', other: 'dyn_stock_order' }, env });
  });
  afterAll(() => service.dispose());

  it.each([
    ['QUOTA_RECORDS', '2', 'records'],
    ['QUOTA_LOG_BYTES', '1', 'log_bytes'],
  ])('%s is that of a tenant that has none of its own', async (setting, most, quota) => {
    const limited = await startService({ tenants: { acme: 'dyn_stock_order' }, env: { [setting]: most } });
    await untilUsedUp(quota, () => batch(limited.tenant('acme')));
    await limited.dispose();
  });

  it('below the reserve of the disk nothing grows, and reads go on', async () => {
    const answer = await until(507, () => batch(one(), 500));
    expect(answer.body).toEqual({
      message: 'The disk of the service is nearly full; nothing was written.',
      error: expect.stringMatching(/^\d+ bytes are free, .*\(DISK_RESERVE\)\. Reads, status reports/),
    });
    expect((await create(two())).status).toBe(507);
    expect((await one().getList('dyn_item')).status).toBe(200);
  });

  it('below the reserve of the disk no backup is made, and nothing of it is left', async () => {
    const operator = await Operator.of(service);
    const [size, recent] = ['', '-wal'].map((end) => statSync(join(service.dataDir, `events.db${end}`)).size);
    const needed = `The backup needs ${Number(size) + Number(recent)} bytes`;
    const error = expect.stringMatching(RegExp(`^${needed}: \\d+ are free .*\\(DISK_RESERVE\\)\\.$`));
    expect(await operator.ended(await operator.begin({ kind: 'backup' }))).toMatchObject({ state: 'failed', error });
    expect(await readdir(join(service.dataDir, 'backups'))).toEqual([]);
  });
});
