/** Isolation: the credentials of one tenant reach nothing of another (decisions, "Tenants"). */
import { addWebhook } from '../export.js';
import { expectInvalid, expectRefused } from '../refusals.js';
import { ASSETS } from '../tenant.js';
import { useService } from '../useService.js';

const run = useService({
  tenants: { acme: 'dyn_stock_order', rival: 'dyn_stock_order' },
  env: { DEFAULT_TENANT: 'acme', WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' },
});
const acme = () => run.tenant('acme');
const rival = () => run.tenant('rival');
const ITEM = { external_id: 'SHARED', name: 'Secret tea' };

it('a program of this machine that resolves no host below localhost names the tenant by X-Tenant; tokens are bound to theirs', async () => {
  const item = await rival().create('dyn_item', { external_id: 'X-1', name: 'By header' });
  const get = async (tenant: string) => {
    const headers = { 'x-tenant': tenant, authorization: `Bearer ${await rival().token()}` };
    return fetch(`http://localhost:${run.service.port}${ASSETS}/dyn_item/assets/${item.id}`, { headers });
  };
  expect(await (await get('rival')).json()).toEqual({ data: item });
  expect((await get('acme')).status).toBe(401);
  expect((await get('nobody')).status).toBe(404);
  await expectRefused(run.service, 400, () => acme().info('dyn_item', { headers: { 'x-tenant': 'rival' } }));
});

describe('tokens', () => {
  it('decision: a token is bound to its tenant; on another host every endpoint is 401', async () => {
    const token = await rival().token();
    const item = await acme().create('dyn_item', { external_id: 'T1', name: 'Tea' });
    const order = await acme().create('dyn_stock_order', {});
    const calls = [
      () => acme().send('GET', ASSETS, { token }),
      () => acme().info('dyn_item', { token }),
      () => acme().getList('dyn_item', '', { token }),
      () => acme().getRecord('dyn_item', item.id, { token }),
      () => acme().postRecord('dyn_item', { external_id: 'T2', name: 'X' }, { token }),
      () => acme().putRecord('dyn_item', item.id, { name: 'X' }, { token }),
      () => acme().postBatch('dyn_item', { items: [ITEM] }, { token }),
      () => acme().postCleanUp('dyn_item', { batch_id: 'x' }, { token }),
      () => acme().putRecord('dyn_stock_order', order.id, { processing_status: 'completed' }, { token }),
      () => acme().send('GET', `${ASSETS}/dyn_stock_order/assets/${order.id}/history`, { token }),
    ];
    for (const call of calls) await expectRefused(run.service, 401, call);
    expect(await acme().get('dyn_item', item.id)).toEqual(item);
  });

  it('decision: a person’s session is bound to its tenant as well', async () => {
    const token = await rival().signIn();
    for (const path of ['/orders', '/api-clients', '/webhooks', '/users', '/tenant', '/asset-types', '/session'])
      await expectRefused(run.service, 401, () => acme().platform('GET', path, { token }));
    const { email, password } = rival().admin;
    await expectRefused(run.service, 401, () =>
      acme().send('POST', '/api/v1/platform/session', { token: null, body: { email, password } }),
    );
  });
});

describe('ids', () => {
  it('§4: a record of another tenant is 404, and it does not show in lists', async () => {
    const item = await acme().create('dyn_item', { ...ITEM, external_id: 'I1' });
    await expectRefused(run.service, 404, () => rival().getRecord('dyn_item', item.id));
    await expectRefused(run.service, 404, () => rival().putRecord('dyn_item', item.id, { name: 'Mine' }));
    await expectRefused(run.service, 404, () => rival().send('GET', `${ASSETS}/dyn_item/assets/${item.id}/history`));
    await expectRefused(run.service, 404, () => rival().platform('GET', `/tables/dyn_item/assets/${item.id}/history`));
    expect((await rival().list('dyn_item', { 'filter[name]': 'Secret' })).meta.total).toBe(0);
  });

  it('§4: an order of another tenant cannot be read, changed, extended, approved or audited', async () => {
    const order = await acme().create('dyn_stock_order', { delivery_date: '2026-12-01' });
    const line = await acme().create('dyn_order_line', { order_id: order.id, quantity: 1 });
    const history = `${ASSETS}/dyn_stock_order/assets/${order.id}/history`;
    const calls = [
      () => rival().getRecord('dyn_stock_order', order.id),
      () => rival().putRecord('dyn_stock_order', order.id, { processing_status: 'completed' }),
      () => rival().putRecord('dyn_order_line', line.id, { quantity: 9 }),
      () => rival().send('GET', history),
      () => rival().platform('GET', `/orders/${order.id}`),
      () => rival().platform('GET', `/orders/${order.id}/history`),
      () => rival().platform('PUT', `/orders/${order.id}`, { body: { notes: 'x' } }),
      () => rival().platform('POST', `/orders/${order.id}/approve`, { body: {} }),
      () => rival().platform('POST', `/orders/${order.id}/reject`, { body: {} }),
    ];
    for (const call of calls) await expectRefused(run.service, 404, call);
    await expectInvalid(run.service, ['order_id'], () =>
      rival().postRecord('dyn_order_line', { order_id: order.id, quantity: 1 }),
    );
    expect(await acme().get('dyn_stock_order', order.id)).toEqual(order);
    expect((await rival().platform('GET', '/orders')).text).not.toContain(order.id);
  });

  it('§5, §6: API clients, webhooks and users of another tenant cannot be managed', async () => {
    const webhook = await addWebhook(acme(), 'https://127.0.0.1:9/');
    const { client_id } = acme().client;
    await acme().addPerson('auditor');
    const calls = [
      () => rival().platform('DELETE', `/api-clients/${client_id}`),
      () => rival().platform('POST', `/api-clients/${client_id}/secret`, { body: {} }),
      () => rival().platform('DELETE', `/webhooks/${webhook.id}`),
      () => rival().platform('POST', `/webhooks/${webhook.id}/secret`, { body: {} }),
      () => rival().platform('DELETE', '/users/2'),
    ];
    for (const call of calls) await expectRefused(run.service, 404, call);
    for (const path of ['/api-clients', '/webhooks', '/users']) {
      const { text } = await rival().platform('GET', path);
      for (const secret of [client_id, webhook.id, acme().admin.email]) expect(text).not.toContain(secret);
    }
  });
});

describe('the same names', () => {
  it('§4.7: two tenants hold the same key, each its own record', async () => {
    const [one, two] = [
      await acme().create('dyn_item', ITEM),
      await rival().create('dyn_item', { ...ITEM, name: 'Plain tea' }),
    ];
    expect(one.id).not.toBe(two.id);
    await rival().batch('dyn_item', [{ ...ITEM, name: 'Changed', _batch_id: 'b' }]);
    await rival().cleanUp('dyn_item', 'none');
    expect(await acme().get('dyn_item', one.id)).toEqual(one);
  });

  it('§2.1: the id of a record of another tenant tells nothing, and may be used', async () => {
    const item = await acme().create('dyn_item', { external_id: 'ID1', name: 'Tea' });
    await rival().batch('dyn_item', [{ id: item.id, external_id: 'ID1', name: 'Coffee' }]);
    expect(await acme().get('dyn_item', item.id)).toEqual(item);
    expect(await rival().get('dyn_item', item.id)).toMatchObject({ name: 'Coffee' });
  });

  it('§1: a table that one tenant adds is not there for another', async () => {
    const fields = [{ name: 'external_id', type: 'String', required: true }];
    await acme().platformData('POST', '/asset-types', { name: 'dyn_own', fields });
    expect((await acme().list('dyn_own')).meta.total).toBe(0);
    await expectRefused(run.service, 404, () => rival().getList('dyn_own'));
    await acme().platformData('POST', '/asset-types/dyn_item/fields', { name: 'colour', type: 'String' });
    await expectInvalid(run.service, ['colour'], () =>
      rival().postRecord('dyn_item', { ...ITEM, external_id: 'C1', colour: 'red' }),
    );
  });
});

describe('hosts', () => {
  const items = `${ASSETS}/dyn_item/assets`;
  const at = async (host: string, headers: { [name: string]: string } = {}) =>
    acme().send('GET', items, { headers: { host, ...headers } });

  it.each([
    'nobody.localhost',
    'a.acme.localhost',
    'acme.example.com',
    'acmelocalhost.com',
    '.localhost',
    'acme..localhost',
    '-.localhost',
    '__proto__.localhost',
    'constructor.localhost',
  ])('decision: the host %s belongs to no tenant: 404, with and without a token', async (host) => {
    await expectRefused(run.service, 404, () => at(host));
    await expectRefused(run.service, 404, () => acme().send('GET', items, { token: null, headers: { host } }));
    await expectRefused(run.service, 404, () =>
      acme().send('POST', '/oauth/token', { token: null, body: {}, headers: { host } }),
    );
  });

  it('decision: the first label of the host is the tenant, in any case and with any port', async () => {
    for (const host of ['acme.localhost', 'ACME.LocalHost:1', 'acme.localhost:443'])
      expect((await at(host)).status).toBe(200);
  });

  it('decision: a bare host or IP address means DEFAULT_TENANT', async () => {
    for (const host of [
      'localhost',
      `localhost:${run.service.port}`,
      '127.0.0.1',
      `127.0.0.1:${run.service.port}`,
      '[::1]:80',
    ])
      expect((await at(host)).status).toBe(200);
    const token = await rival().token();
    const before = await run.service.logHead();
    expect((await acme().send('GET', items, { token, headers: { host: 'localhost' } })).status).toBe(401);
    expect(await run.service.logHead()).toBe(before);
  });

  it('decision: X-Forwarded-Host of somebody who is no trusted proxy is ignored', async () => {
    expect(
      (await at('acme.localhost', { 'x-forwarded-host': 'rival.localhost', forwarded: 'host=rival.localhost' })).status,
    ).toBe(200);
    const token = await rival().token();
    const headers = { 'x-forwarded-host': 'rival.localhost' };
    await expectRefused(run.service, 401, () => acme().getList('dyn_item', '', { token, headers }));
  });

  it('decision: a tenant made by the command line beside the running service is there at once', async () => {
    const late = await run.service.createTenant('late', 'dyn_transport_order');
    expect((await late.list('dyn_location')).meta.total).toBe(0);
    const again = await run.service.cli('tenant', 'create', 'late', '--order-model', 'dyn_stock_order', '--json');
    expect(again).toMatchObject({ stdout: '' });
    expect(again.code).not.toBe(0);
  });
});
