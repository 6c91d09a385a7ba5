/** Hosts and schemes that would lead somebody who follows our links elsewhere (RFC 9110 §7.2). */
import { Agent } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { send } from '../acceptance/http.js';
import { expectRefused } from '../acceptance/refusals.js';
import { startService } from '../acceptance/service.js';
import { ASSETS } from '../acceptance/tenant.js';
import { useService } from '../acceptance/useService.js';

const run = useService({ tenants: { acme: 'dyn_stock_order' }, env: { DEFAULT_TENANT: 'acme' } });
const acme = () => run.tenant('acme');
const HOSTS = [
  'acme.localhost:80@evil.example',
  'acme.localhost/evil',
  'acme.localhost, evil.example',
  'acme.localhost:x',
];

it.each(HOSTS)('the host %s is 400 on every path that needs a tenant, and its text is in no link', async (host) => {
  const headers = { host };
  const calls = [
    () => acme().send('GET', ASSETS, { headers }),
    () => acme().send('GET', `${ASSETS}/dyn_item/assets`, { headers }),
    () => acme().send('POST', '/oauth/token', { token: null, body: {}, headers }),
    () => acme().send('GET', '/api/v1/platform/session', { headers }),
    () => acme().send('GET', '/openapi.json', { token: null, headers }),
  ];
  for (const call of calls) {
    const { status, text: body } = await call();
    expect(status).toBe(400);
    expect(body).not.toContain('evil');
  }
});

it('a second Host header is 400, not passed over', async () => {
  const socket = connect(run.service.port, '127.0.0.1');
  socket.write(`GET ${ASSETS} HTTP/1.1\r\nHost: acme.localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n`);
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 /);
});

it('a request without a host is 400, also with a default tenant', async () => {
  const socket = connect(run.service.port, '127.0.0.1');
  socket.write(`GET ${ASSETS} HTTP/1.0\r\n\r\n`);
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 /);
});

it('what a trusted proxy passes on is checked in the same way', async () => {
  const service = await startService({ tenants: { acme: 'dyn_stock_order' }, env: { TRUST_PROXY: '1' } });
  const agent = new Agent();
  try {
    const headers = { host: 'acme.localhost', authorization: `Bearer ${await service.tenant('acme').token()}` };
    const ask = (more: { [name: string]: string }) =>
      send(agent, service.port, { method: 'GET', path: ASSETS, headers: { ...headers, ...more } });
    const good = await ask({ 'x-forwarded-host': 'acme.localhost:8443', 'x-forwarded-proto': 'https' });
    expect(good.status).toBe(200);
    expect(good.text).toContain('https://acme.localhost:8443/');
    for (const host of HOSTS.filter((each) => !each.includes(',')))
      await expectRefused(service, 400, () => ask({ 'x-forwarded-host': host }));
    await expectRefused(service, 400, () => ask({ 'x-forwarded-proto': 'javascript' }));
  } finally {
    agent.destroy();
    await service.dispose();
  }
});
