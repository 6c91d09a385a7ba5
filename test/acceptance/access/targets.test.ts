/** Request targets and hosts as RFC 9112 §3.2 and RFC 9110 §4.2 have them, byte by byte. */
import { errorOf, sendLines, sendText } from '../rawHttp.js';
import { startService } from '../service.js';
import { ASSETS } from '../tenant.js';
import { useService } from '../useService.js';

const run = useService({ tenants: { acme: 'dyn_stock_order', globex: 'dyn_transport_order' } });
const port = () => run.service.port;
const ITEMS = `${ASSETS}/dyn_item/assets`;

/** One request with acme's token; whether it was answered as acme shows in the status. */
async function ask(target: string, host: string, more: readonly string[] = [], method = 'GET') {
  const token = `Authorization: Bearer ${await run.tenant('acme').token()}`;
  return sendLines(port(), [`${method} ${target} HTTP/1.1`, `Host: ${host}`, token, 'Connection: close', ...more]);
}

describe('an absolute target', () => {
  it('wins over Host, for the tenant and for the path, and links go by it (RFC 9112 §3.2.2)', async () => {
    const answer = await ask(`http://acme.localhost:${port()}${ITEMS}?perPage=25`, 'globex.localhost');
    expect(answer.status).toBe(200);
    expect(answer.body).toContain(`http://acme.localhost:${port()}${ITEMS}?page=1`);
    expect((await ask(`http://globex.localhost${ITEMS}`, 'acme.localhost')).status).toBe(401);
    expect((await ask(`http://nobody.localhost${ITEMS}`, 'acme.localhost')).status).toBe(404);
  });

  it.each(['HTTP://ACME.LOCALHOST', 'http://acme.localhost.', 'http://acme.localhost.:80', 'http://acme.localhost:'])(
    'may begin with %s',
    async (origin) => expect((await ask(`${origin}${ITEMS}`, 'localhost')).status).toBe(200),
  );

  it('without a path means /', async () => {
    expect(await ask('http://acme.localhost', 'acme.localhost')).toMatchObject({ status: 302 });
    expect(await ask('http://acme.localhost?x=1', 'acme.localhost')).toMatchObject({ status: 400 });
  });

  it('does without a Host in HTTP/1.0 alone (RFC 9112 §3.2)', async () => {
    const target = 'http://acme.localhost/openapi.json';
    expect((await sendLines(port(), [`GET ${target} HTTP/1.0`])).status).toBe(200);
    expect((await sendLines(port(), [`GET ${target} HTTP/1.1`, 'Connection: close'])).status).toBe(400);
  });

  it.each(['https://acme.localhost', 'ftp://acme.localhost', 'ws://acme.localhost'])(
    'of %s is 421 on a connection without TLS (RFC 9110 §7.4)',
    async (origin) => {
      const answer = await ask(`${origin}${ITEMS}`, 'acme.localhost');
      expect(answer.status).toBe(421);
      expect(errorOf(answer)).toBe('This connection is for http URLs.');
    },
  );

  it.each([
    ['user information', 'http://evil@acme.localhost/'],
    ['a password', 'http://acme.localhost:1@evil.example/'],
    ['no host', 'http:///openapi.json'],
    ['a port without a host', 'http://:80/openapi.json'],
    ['a port that is none', 'http://acme.localhost:x/'],
  ])('with %s is 400 (RFC 9110 §4.2)', async (_what, target) => {
    expect((await ask(target, 'acme.localhost')).status).toBe(400);
  });

  it('does not excuse a Host that is none', async () => {
    expect((await ask(`http://acme.localhost${ITEMS}`, 'acme.localhost/evil')).status).toBe(400);
  });

  it('lets X-Tenant name the tenant where it names this machine', async () => {
    const elsewhere = 'acme.localhost';
    expect((await ask(`http://localhost:${port()}${ITEMS}`, elsewhere, ['X-Tenant: ACME'])).status).toBe(200);
    expect((await ask(`http://globex.localhost${ITEMS}`, elsewhere, ['X-Tenant: acme'])).status).toBe(400);
  });

  it('may be https where a trusted proxy ends TLS', async () => {
    const service = await startService({ tenants: { acme: 'dyn_stock_order' }, env: { TRUST_PROXY: '1' } });
    try {
      const answer = await sendLines(service.port, [
        `GET https://acme.localhost${ITEMS} HTTP/1.1`,
        'Host: inside',
        `Authorization: Bearer ${await service.tenant('acme').token()}`,
        'X-Forwarded-Proto: https',
        'Connection: close',
      ]);
      expect(answer.status).toBe(200);
      expect(answer.body).toContain(`https://acme.localhost${ITEMS}?page=1`);
    } finally {
      await service.dispose();
    }
  });
});

describe('other targets', () => {
  it.each(['acme.localhost:80', 'acme.localhost', '*', 'openapi.json', '?x'])('GET %s is 400', async (target) => {
    expect((await ask(target, 'acme.localhost')).status).toBe(400);
  });

  it('OPTIONS * says what the service can do, to anybody (RFC 9110 §9.3.7)', async () => {
    const answer = await sendLines(port(), ['OPTIONS * HTTP/1.1', 'Host: acme.localhost', 'Connection: close']);
    expect(answer.status).toBe(204);
    expect(answer.headers.get('allow')).toBe('GET, HEAD, POST, PUT, DELETE');
  });

  it('CONNECT is 501, and the service goes on', async () => {
    const [answer] = await sendText(port(), 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n');
    expect(answer?.status).toBe(501);
    expect((await ask(ITEMS, 'acme.localhost')).status).toBe(200);
  });

  it.each([
    '/api/v1/%64ynamic-assets/dyn/dyn_%69tem/assets',
    '/%61pi/v1/dynamic%2Dassets/dyn/dyn%5fitem/%61ssets?perPage=25',
  ])('%s has escapes that change nothing (RFC 3986 §6.2.2.2)', async (target) => {
    expect((await ask(target, 'acme.localhost')).status).toBe(200);
  });

  it('a slash that is escaped separates nothing', async () => {
    expect((await ask(ITEMS.replace('/assets', '%2Fassets'), 'acme.localhost')).status).toBe(404);
  });
});

describe('a host', () => {
  it.each(['acme.localhost.', 'acme.localhost.:3000', 'ACME.Localhost', 'Acme.LocalHost.:80'])(
    'may be written %s (RFC 9110 §4.2.3, RFC 1034 §3.1)',
    async (host) => {
      const answer = await ask(ITEMS, host);
      expect(answer.status).toBe(200);
      expect(answer.body).toContain(`http://${host}${ITEMS}?page=1`);
    },
  );

  it.each(['localhost.', 'LOCALHOST.:3000', '127.0.0.1'])(
    'of this machine, %s, goes with X-Tenant, in either case',
    async (host) => {
      expect((await ask(ITEMS, host, ['X-Tenant: Acme'])).status).toBe(200);
      expect((await ask(ITEMS, host, ['X-Tenant: nobody'])).status).toBe(404);
    },
  );

  it('with two dots at its end is none of ours', async () => {
    expect((await ask(ITEMS, 'acme.localhost..')).status).toBe(404);
  });

  it('is known below a BASE_HOST that was set with a dot and in capitals', async () => {
    const env = { BASE_HOST: 'Assets.Example.' };
    const service = await startService({ tenants: { acme: 'dyn_stock_order' }, env });
    try {
      for (const host of ['acme.assets.example', 'ACME.assets.example.']) {
        const answer = await sendLines(service.port, [
          'GET /openapi.json HTTP/1.1',
          `Host: ${host}`,
          'Connection: close',
        ]);
        expect(answer.status).toBe(200);
      }
    } finally {
      await service.dispose();
    }
  });
});
