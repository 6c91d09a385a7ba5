/**
 * Hosts and request targets, byte by byte (RFC 9110 §4.2, §7.2; RFC 9112 §3.2): which tenant they mean, that false ones lead nobody
 * elsewhere, and what the metrics tell to whom. No proxy is trusted here.
 */
import { askSession } from '../people.js';
import { sendLines, sendText } from '../rawHttp.js';
import { expectRefused } from '../refusals.js';
import { ASSETS } from '../tenant.js';
import { useService } from '../useService.js';

// Set with a dot and in capitals, which changes nothing.
const { acme, service } = useService({
  tenants: { acme: 'dyn_stock_order', globex: 'dyn_transport_order' },
  env: { BASE_HOST: 'Assets.Example.', DEFAULT_TENANT: 'acme' },
});
const port = () => service().port;
const ACME = 'acme.assets.example';
const ITEMS = `${ASSETS}/dyn_item/assets`;

/** One request with acme's token; whether it was answered as acme shows in the status. */
async function ask(target: string, host: string, more: readonly string[] = [], method = 'GET') {
  const token = `Authorization: Bearer ${await acme().token()}`;
  return sendLines(port(), [`${method} ${target} HTTP/1.1`, `Host: ${host}`, token, 'Connection: close', ...more]);
}

describe('a host', () => {
  it.each([ACME, `${ACME}.`, 'ACME.Assets.EXAMPLE', 'localhost', '127.0.0.1', '[::1]:80', 'assets.example'])(
    '%s means acme: by its first label in any case, or as the default (RFC 9110 §4.2.3, RFC 1034 §3.1)',
    async (host) => {
      const answer = await ask(ITEMS, host);
      expect(answer.status).toBe(200);
      expect(answer.body).toContain(`http://${host}${ITEMS}?page=1`);
    },
  );

  it.each([
    ...[
      'nobody.assets.example',
      `a.${ACME}`,
      'acme.example',
      'acmeassets.example',
      'acme.localhost',
      '-.assets.example',
    ],
    ...[
      `${ACME}..`,
      '.assets.example',
      'acme..assets.example',
      '__proto__.assets.example',
      'constructor.assets.example',
    ],
  ])('%s belongs to no tenant: 404, with and without a token', async (host) => {
    const headers = { host };
    await expectRefused(service(), 404, () => acme().send('GET', ITEMS, { headers }));
    await expectRefused(service(), 404, () => acme().send('GET', ITEMS, { token: null, headers }));
    await expectRefused(service(), 404, () => acme().send('POST', '/oauth/token', { token: null, body: {}, headers }));
  });

  it.each([`${ACME}:80@evil.example`, `${ACME}/evil`, `${ACME}, evil.example`, `${ACME}:x`])(
    '%s is 400 on every path that needs a tenant, and its text is in no link',
    async (host) => {
      for (const path of [ASSETS, ITEMS, '/oauth/token', '/api/v1/platform/session', '/openapi.json']) {
        const { status, text } = await acme().send(path === '/oauth/token' ? 'POST' : 'GET', path, {
          headers: { host },
        });
        expect([path, status, text.includes('evil')]).toEqual([path, 400, false]);
      }
    },
  );

  it('given twice, or not at all, is 400, also where there is a default', async () => {
    expect((await ask(ITEMS, ACME, ['Host: evil.example'])).status).toBe(400);
    expect((await sendLines(port(), [`GET ${ITEMS} HTTP/1.0`])).status).toBe(400);
  });

  it('that somebody passes on who is no trusted proxy is ignored', async () => {
    for (const field of ['X-Forwarded-Host: globex.assets.example', 'Forwarded: host=globex.assets.example'])
      expect((await ask(ITEMS, ACME, [field])).status).toBe(200);
  });

  it('of this machine goes with X-Tenant, in either case; another host does not', async () => {
    for (const host of ['localhost.', '127.0.0.1']) {
      expect((await ask(ITEMS, host, ['X-Tenant: Acme'])).status).toBe(200);
      expect((await ask(ITEMS, host, ['X-Tenant: globex'])).status).toBe(401);
      expect((await ask(ITEMS, host, ['X-Tenant: nobody'])).status).toBe(404);
    }
    expect((await ask(ITEMS, ACME, ['X-Tenant: globex'])).status).toBe(400);
  });

  it('other than those of this machine has the session cookie Secure, also where no proxy tells of TLS', async () => {
    const { email, password } = acme().admin;
    const cookieAt = async (host: string) =>
      String((await askSession(acme(), email, password, { host })).headers['set-cookie']);
    expect(await cookieAt(ACME)).toMatch(/; Secure/);
    expect(await cookieAt('localhost')).not.toMatch(/; Secure/);
  });
});

describe('other targets', () => {
  it.each([
    [400, `${ACME}:80`],
    [400, ACME],
    [400, '*'],
    [400, `http://${ACME}${ITEMS}`],
    [200, `${ASSETS}/dyn%5fitem/assets?perPage=25`],
    [404, ITEMS.replace('/assets', '%2Fassets')],
  ])('are %i: GET %s (RFC 3986 §6.2.2.2)', async (status, target) => {
    expect((await ask(target, ACME)).status).toBe(status);
  });

  it('OPTIONS * is 404 and CONNECT 501, and the service goes on', async () => {
    const answer = await sendLines(port(), ['OPTIONS * HTTP/1.1', `Host: ${ACME}`, 'Connection: close']);
    expect(answer.status).toBe(404);
    const [refused] = await sendText(port(), 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n');
    expect(refused?.status).toBe(501);
    expect((await ask(ITEMS, ACME)).status).toBe(200);
  });
});

describe('/metrics', () => {
  const scrape = async (...fields: readonly string[]) =>
    sendLines(port(), ['GET /metrics HTTP/1.1', ...fields, 'Connection: close']);
  const HERE = 'Host: localhost:3000';

  it.each([
    ...[
      'localhost',
      'LOCALHOST:80',
      'localhost.:3000',
      '127.9.8.7:1',
      '[::1]:3000',
      '[::ffff:7f00:1]:80',
      'acme.localhost',
    ],
    ...['assets.example', `${ACME}:443`],
  ])('asked at %s, an address of this machine or the base host, it answers', async (host) => {
    expect((await scrape(`Host: ${host}`)).status).toBe(200);
  });

  // A page can have its own name resolve to 127.0.0.1, but its browser sends that name.
  it.each([
    ...['evil.example', 'localhost.evil.example', '127.0.0.1.nip.io', 'evillocalhost:3000', 'evilassets.example'],
    ...['assets.example.evil', 'example', 'localhost:1@evil.example', 'localhost, evil', 'localhost..', ''],
    ...['127.1', '0.0.0.0', '127.0.0.256', '10.0.0.7', '2130706433', '[::2]', '[::ffff:10.0.0.7]', '[::1]evil'],
  ])('asked at %j from this machine, it tells nothing', async (host) => {
    expect(await scrape(`Host: ${host}`)).toMatchObject({ status: 403, body: expect.not.stringContaining('process_') });
  });

  it.each([
    ...['X-Forwarded-For: 192.0.2.1', 'Forwarded: for=192.0.2.1', 'Via: 1.1 proxy', 'X-Real-IP: 192.0.2.1'],
    ...['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Site: same-site', 'Sec-Fetch-Site: x'],
    ...['Origin: https://evil.example', 'Origin: null', 'Origin: http://localhost:8080'],
  ])('asked with %s, through a proxy or by a page of another site, it says what is needed', async (field) => {
    expect(await scrape(HERE, field)).toMatchObject({ status: 403, body: expect.stringContaining('METRICS_TOKEN') });
  });
});

it('§5: what needs no tenant is answered at any host', async () => {
  for (const path of ['/health/live', '/health/ready']) {
    const answer = await service().send({ method: 'GET', path, headers: { host: 'nobody.example.com' } });
    expect([path, answer.status, /acme|globex/.test(answer.text)]).toEqual([path, 200, false]);
  }
});
