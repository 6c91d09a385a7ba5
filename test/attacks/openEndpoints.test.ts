/** What somebody without a token sees: nothing that tells who the tenants are, or what they have. */
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { addPerson } from '../acceptance/people.js';
import { expectRefused } from '../acceptance/refusals.js';
import { type Service, startService } from '../acceptance/service.js';
import { useService } from '../acceptance/useService.js';

const METRICS_TOKEN = 'scrape-3f9c1b7e5a2d4c68';
const run = useService({ tenants: { acme: 'dyn_stock_order', other: 'dyn_stock_order' } });
const acme = () => run.tenant('acme');
/** A proxy on this machine adds it: the caller is elsewhere. */
const ELSEWHERE = { 'x-forwarded-for': '192.0.2.1' };

/** A request byte by byte, without anything that a client adds. */
async function raw(service: Service, path: string, fields: readonly string[], version = '1.1') {
  const socket = connect(service.port, '127.0.0.1');
  socket.write(`GET ${path} HTTP/${version}\r\n${[...fields, 'Connection: close'].join('\r\n')}\r\n\r\n`);
  const answer = await text(socket);
  return { status: Number(answer.split(' ')[1]), text: answer };
}

const OWN = ['dyn_secret_project', 'secret_field', 'Secret label'];

beforeAll(async () => {
  const fields = [{ name: 'external_id', type: 'String', required: true }];
  await acme().platformData('POST', '/asset-types', { name: 'dyn_secret_project', label: 'Secret label', fields });
  await acme().platformData('POST', '/asset-types/dyn_item/fields', { name: 'secret_field', type: 'String' });
});

describe('/openapi.json', () => {
  const ask = (
    options: { token?: string | null; headers?: { readonly [name: string]: string }; query?: string } = {},
  ) => acme().send('GET', '/openapi.json', { token: null, ...options });

  it('shows the standard tables to anyone, and nothing that the tenant has added', async () => {
    const { status, text } = await ask({ headers: ELSEWHERE });
    expect(status).toBe(200);
    expect(text).toContain('/dyn/dyn_order_line/assets');
    expect(text).toContain('"title":"Dynamic Assets API"');
    for (const secret of OWN) expect(text).not.toContain(secret);
  });

  it('shows all to a client and a user of the tenant, and to programs of this machine', async () => {
    const cookie = { cookie: `da_session=${await acme().signIn()}` };
    for (const { text } of [
      await ask(),
      await ask({ headers: ELSEWHERE, token: await acme().token('read:order_data') }),
      await ask({ headers: ELSEWHERE, token: await acme().signIn() }),
      await ask({ headers: { ...ELSEWHERE, ...cookie } }),
    ])
      for (const own of OWN) expect(text).toContain(own);
  });

  it('is 401 for a token that is not good here', async () => {
    for (const token of ['nonsense', await run.tenant('other').token(), await run.tenant('other').signIn()])
      await expectRefused(run.service, 401, () => ask({ token, headers: ELSEWHERE }));
  });

  it('shows the tables asked for; of others it tells nothing', async () => {
    const { text } = await ask({ query: 'table=dyn_item,dyn_party', headers: ELSEWHERE });
    expect(text).toContain('/dyn/dyn_party/assets');
    expect(text).not.toContain('/dyn/dyn_unit_code/assets');
    expect((await ask({ query: 'table=dyn_secret_project' })).status).toBe(200);
    await expectRefused(run.service, 404, () => ask({ query: 'table=dyn_secret_project', headers: ELSEWHERE }));
    await expectRefused(run.service, 404, () => ask({ query: 'table=__proto__' }));
  });

  it('of many wide tables at once it is 413, and says how to ask for fewer', async () => {
    const wide = run.tenant('other');
    const column = (n: number) => ({ name: `column_number_${n}`, type: 'String', filterable: true, sortable: true });
    const columns = Array.from({ length: 199 }, (_, n) => column(n));
    const fields = [{ name: 'external_id', type: 'String', required: true }, ...columns];
    for (let n = 0; n < 24; n += 1) await wide.platformData('POST', '/asset-types', { name: `dyn_wide_${n}`, fields });
    const refused = await expectRefused(run.service, 413, () => wide.send('GET', '/openapi.json', { token: null }));
    expect(refused.text).toContain('?table=');
    const some = await wide.send('GET', '/openapi.json', { token: null, query: 'table=dyn_wide_1&table=dyn_wide_2' });
    expect(some.status).toBe(200);
    expect(some.text.length).toBeLessThan(4_200_000);
  });
});

describe('/metrics', () => {
  let guarded: Service;
  beforeAll(async () => {
    guarded = await startService({ tenants: { acme: 'dyn_stock_order' }, env: { METRICS_TOKEN } });
  });
  afterAll(() => guarded.dispose());
  const ask = (service: Service, headers: { readonly [name: string]: string } = {}) =>
    service.send({ method: 'GET', path: '/metrics', headers });

  it('answers programs of this machine, and nobody who comes through a proxy', async () => {
    expect((await ask(run.service)).status).toBe(200);
    for (const headers of [
      ELSEWHERE,
      { forwarded: 'for=192.0.2.1' },
      { via: '1.1 proxy' },
      { 'x-real-ip': '192.0.2.1' },
    ]) {
      const answer = await ask(run.service, headers);
      expect(answer.status).toBe(403);
      expect(answer.text).toContain('METRICS_TOKEN');
    }
  });

  it.each([
    ...['localhost', 'LOCALHOST:80', 'localhost.', 'localhost.:3000', 'acme.localhost', '127.0.0.1', '127.9.8.7:1'],
    ...['[::1]', '[::1]:3000', '[0:0:0:0:0:0:0:1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]:80'],
  ])('asked at %s, an address of this machine or the base host, it answers', async (host) => {
    expect((await raw(run.service, '/metrics', [`Host: ${host}`])).status).toBe(200);
  });

  // A page can have its own name resolve to 127.0.0.1, but its browser sends that name.
  const FOREIGN_HOSTS = [
    ...['evil.example', 'localhost.evil.example', '127.0.0.1.nip.io', 'evil-localhost', 'evillocalhost:3000', 'assets'],
    ...['localhost:1@evil.example', 'evil.example@localhost', 'localhost/evil', 'localhost, evil', 'localhost..', ''],
    ...['127.1', '0.0.0.0', '127.0.0.256', '10.0.0.7', '2130706433', '[::2]', '[::ffff:10.0.0.7]', '[::1', '[::1]evil'],
  ];

  it.each(FOREIGN_HOSTS)(
    'asked at %j from this machine, it tells nothing: no figures, no tenant’s tables',
    async (host) => {
      expect(await raw(run.service, '/metrics', [`Host: ${host}`])).toMatchObject({
        status: 403,
        text: expect.not.stringContaining('process_'),
      });
      const { text } = await raw(run.service, '/openapi.json', [`Host: ${host}`]);
      for (const own of OWN) expect(text).not.toContain(own);
      expect((await raw(guarded, '/metrics', [`Host: ${host}`, `Authorization: Bearer ${METRICS_TOKEN}`])).status).toBe(
        200,
      );
    },
  );

  it('asked without a host, it tells nothing', async () => {
    expect((await raw(run.service, '/metrics', [], '1.0')).status).toBe(403);
  });

  it('asked by a page of another site in a browser on this machine, it tells nothing', async () => {
    const host = 'Host: localhost:3000';
    for (const field of [
      ...['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Site: same-site', 'Sec-Fetch-Site: x'],
      ...['Origin: https://evil.example', 'Origin: null', 'Origin: http://localhost:8080'],
    ])
      expect((await raw(run.service, '/metrics', [host, field])).status).toBe(403);
    for (const field of ['Sec-Fetch-Site: none', 'Sec-Fetch-Site: same-origin', 'Origin: http://localhost:3000'])
      expect((await raw(run.service, '/metrics', [host, field])).status).toBe(200);
  });

  it('below a base host it answers programs of this machine there as well', async () => {
    const service = await startService({ tenants: { acme: 'dyn_stock_order' }, env: { BASE_HOST: 'assets.example' } });
    try {
      for (const [host, status] of [
        ...[['assets.example', 200] as const, ['acme.assets.example:443', 200] as const, ['localhost', 200] as const],
        ...[['evilassets.example', 403] as const, ['assets.example.evil', 403] as const, ['example', 403] as const],
      ])
        expect([host, (await raw(service, '/metrics', [`Host: ${host}`])).status]).toEqual([host, status]);
    } finally {
      await service.dispose();
    }
  });

  it('with METRICS_TOKEN it answers those who send it, from anywhere, and nobody else', async () => {
    const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
    expect((await ask(guarded, { ...ELSEWHERE, ...bearer(METRICS_TOKEN) })).status).toBe(200);
    const token = await guarded.tenant('acme').token();
    for (const headers of [{}, bearer(`${METRICS_TOKEN}x`), bearer(METRICS_TOKEN.slice(0, -1)), bearer(token)]) {
      const answer = await ask(guarded, headers);
      expect(answer).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Bearer realm="metrics"' } });
    }
  });

  it('the token is shown by no command', async () => {
    const { stdout, stderr } = await guarded.cli('config');
    expect(stdout + stderr).not.toContain(METRICS_TOKEN);
  });
});

it('health tells of no tenant', async () => {
  await addPerson(acme(), 'anna', ['admin']);
  for (const path of ['/health/live', '/health/ready']) {
    const { status, text } = await run.service.send({ method: 'GET', path, headers: ELSEWHERE });
    expect(status).toBe(200);
    expect(text).not.toMatch(/acme|other|secret/);
  }
});
