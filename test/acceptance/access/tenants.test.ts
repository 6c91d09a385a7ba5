/** Isolation: the credentials of one tenant reach nothing of another (decisions, "Tenants"). */
import { addWebhook } from '../export.js';
import { expectInvalid, expectRefused } from '../refusals.js';
import { ASSETS } from '../tenant.js';
import { useService } from '../useService.js';

const { acme, service, tenant } = useService({ tenants: { acme: 'dyn_stock_order', rival: 'dyn_stock_order' } });
const rival = () => tenant('rival');
const ITEM = { external_id: 'SHARED', name: 'Secret tea' };

describe('tokens', () => {
  it('decision: a person’s session is bound to its tenant, as a token is', async () => {
    const token = await rival().signIn();
    for (const path of ['/orders', '/api-clients', '/webhooks', '/users', '/tenant', '/asset-types', '/session'])
      await expectRefused(service(), 401, () => acme().platform('GET', path, { token }));
    const { email, password } = rival().admin;
    await expectRefused(service(), 401, () =>
      acme().send('POST', '/api/v1/platform/session', { token: null, body: { email, password } }),
    );
  });
});

describe('ids', () => {
  it('§4: a record of another tenant is 404, and it does not show in lists', async () => {
    const item = await acme().create('dyn_item', { ...ITEM, external_id: 'I1' });
    await expectRefused(service(), 404, () => rival().getRecord('dyn_item', item.id));
    await expectRefused(service(), 404, () => rival().putRecord('dyn_item', item.id, { name: 'Mine' }));
    await expectRefused(service(), 404, () => rival().send('GET', `${ASSETS}/dyn_item/assets/${item.id}/history`));
    await expectRefused(service(), 404, () => rival().platform('GET', `/tables/dyn_item/assets/${item.id}/history`));
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
      () => rival().platform('POST', `/orders/${order.id}/approve`, { body: {} }),
    ];
    for (const call of calls) await expectRefused(service(), 404, call);
    await expectInvalid(service(), ['order_id'], () =>
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
      () => rival().platform('POST', `/webhooks/${webhook.id}/secret/rotate`, { body: {} }),
      () => rival().platform('DELETE', '/users/2'),
    ];
    for (const call of calls) await expectRefused(service(), 404, call);
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

  it('§1: a table that one tenant adds is not there for another', async () => {
    const fields = [{ name: 'external_id', type: 'String', required: true }];
    await acme().platformData('POST', '/asset-types', { name: 'dyn_own', fields });
    expect((await acme().list('dyn_own')).meta.total).toBe(0);
    await expectRefused(service(), 404, () => rival().getList('dyn_own'));
    await acme().platformData('POST', '/asset-types/dyn_item/fields', { name: 'colour', type: 'String' });
    await expectInvalid(service(), ['colour'], () =>
      rival().postRecord('dyn_item', { ...ITEM, external_id: 'C1', colour: 'red' }),
    );
  });
});

describe('hosts', () => {
  it('decision: what a trusted proxy passes on is the host, and is checked in the same way', async () => {
    const own = `${acme().name}.localhost`;
    const ask = (more: { readonly [name: string]: string }, token?: string) =>
      acme().send('GET', ASSETS, { headers: more, ...(token === undefined ? {} : { token }) });
    const outside = { 'x-forwarded-host': `${own}:8443`, 'x-forwarded-proto': 'https' };
    expect(await ask(outside)).toMatchObject({ status: 200, text: expect.stringContaining(`https://${own}:8443/`) });
    expect((await ask(outside, await rival().token())).status).toBe(401);
    for (const host of [`${own}:80@evil.example`, `${own}/evil`, `${own}:x`])
      await expectRefused(service(), 400, () => ask({ 'x-forwarded-host': host }));
    await expectRefused(service(), 400, () => ask({ 'x-forwarded-proto': 'javascript' }));
  });

  it('decision: a tenant made by the command line beside the running service is there at once, and once', async () => {
    const late = await service().createTenant('late', 'dyn_transport_order');
    expect((await late.list('dyn_location')).meta.total).toBe(0);
    const again = await service().cli('tenant', 'create', late.name, '--order-model', 'dyn_stock_order', '--json');
    expect(again).toMatchObject({ code: 1, stdout: '' });
  });
});
