/** Rate limits: a token bucket for each client, settable for each tenant (spec §8). */
import { Agent, type ClientRequest, request } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import type { Answer } from '../http.js';
import { expectInvalid, expectRefused } from '../refusals.js';
import { type Service, startService } from '../service.js';
import { useService } from '../useService.js';

const run = useService({ tenants: { acme: 'dyn_stock_order', other: 'dyn_stock_order' } });
const acme = () => run.tenant('acme');
const setLimit = (body: unknown) => acme().platform('PUT', '/tenant/rate-limit', { body });
const fromNetwork = (address: string) => ({ token: null, headers: { 'x-forwarded-for': address } });
const list = (token?: string) => acme().getList('dyn_item', '', token === undefined ? {} : { token });

it('§8: as long as a tenant sets no limit it has the high one of the service', async () => {
  const { headers } = await list();
  expect(headers['ratelimit-policy']).toBe('"client";q=20000;w=2');
  const answers = await Promise.all(Array.from({ length: 100 }, () => list()));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
});

it('§8, decision: over the limit of its tenant a client gets 429 with Retry-After and RateLimit headers, and nothing is stored', async () => {
  expect((await setLimit({ per_second: 1, burst: 3 })).status).toBe(200);
  const other = z
    .object({ client_id: z.string(), client_secret: z.string() })
    .parse(await acme().platformData('POST', '/api-clients', { name: 'Other' }));
  const { access_token } = z
    .object({ access_token: z.string() })
    .parse((await acme().requestToken({ grant_type: 'client_credentials', ...other })).body);

  const answers = [await list(), await list(), await list()];
  for (const { status, headers } of answers) {
    expect(status).toBe(200);
    expect(headers['ratelimit-policy']).toBe('"client";q=3;w=3');
    expect(headers.ratelimit).toMatch(/r=[0-2]/);
  }
  expect(answers[0]?.headers.ratelimit).toBe('"client";r=2;t=0');
  const refused = await expectRefused(run.service, 429, () =>
    acme().postRecord('dyn_item', { external_id: 'R1', name: 'X' }),
  );
  expect(refused.body).toEqual({ message: 'Too many requests.', error: expect.any(String) });
  expect(refused.headers).toMatchObject({ 'retry-after': '1', ratelimit: expect.stringMatching(/r=0/) });
  expect((await list(access_token)).status).toBe(200);
  expect((await run.tenant('other').getList('dyn_item')).status).toBe(200);

  await wait(Number(refused.headers['retry-after']) * 1000);
  expect((await list()).status).toBe(200);
});

it('§8: a higher limit counts at once', async () => {
  expect((await setLimit({ per_second: 100_000, burst: 100_000 })).status).toBe(200);
  await wait(50);
  const answers = await Promise.all(Array.from({ length: 50 }, () => list()));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
});

describe('where the operator sets a limit', () => {
  let limited: Service;
  const tenant = () => limited.tenant('acme');
  const setOwn = (body: unknown) => tenant().platform('PUT', '/tenant/rate-limit', { body });
  beforeAll(async () => {
    limited = await startService({
      tenants: { acme: 'dyn_stock_order', other: 'dyn_stock_order' },
      env: { RATE_LIMIT_PER_SECOND: '2', RATE_LIMIT_BURST: '6', TRUST_PROXY: '1' },
    });
  });
  afterAll(() => limited.dispose());
  const answersOf = async (send: () => Promise<Answer>, times = 20) => {
    const answers = await Promise.all(Array.from({ length: times }, send));
    for (const { status, headers, body } of answers.filter((each) => each.status !== 200)) {
      expect({ status, body }).toEqual({
        status: 429,
        body: { message: 'Too many requests.', error: 'At most 2 requests a second, 6 at once.' },
      });
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    }
    return answers.filter(({ status }) => status === 200).length;
  };

  it('a tenant cannot have more than that', async () => {
    expect((await setOwn({ per_second: 1_000_000, burst: 1_000_000 })).status).toBe(200);
    await tenant().token();
    expect(await answersOf(() => tenant().getList('dyn_item'))).toBeLessThan(18);
  });

  it('it counts for each user of the platform, and not for others', async () => {
    const other = limited.tenant('other');
    await other.signIn();
    expect(await answersOf(() => other.platform('GET', '/orders'))).toBeLessThan(18);
    expect(await answersOf(() => other.platform('GET', '/session'))).toBeLessThan(18);
    expect((await other.getList('dyn_item')).status).toBe(200);
  });

  it.each([
    ['token requests', () => tenant().requestToken({}, { 'x-forwarded-for': '192.0.2.1' }), 400],
    ['public keys', () => tenant().send('GET', '/.well-known/jwks.json', fromNetwork('192.0.2.2')), 200],
    ['the document', () => tenant().send('GET', '/openapi.json', fromNetwork('192.0.2.3')), 200],
    [
      'sign-ins',
      () => tenant().send('POST', '/api/v1/platform/session', { ...fromNetwork('192.0.2.4'), body: {} }),
      422,
    ],
    ['refused tokens', () => tenant().getList('dyn_item', '', { ...fromNetwork('192.0.2.5'), token: 'a.b.c' }), 401],
  ])('it counts for each network where nobody is known: %s', async (_what, send, status) => {
    const answers = await Promise.all(Array.from({ length: 20 }, send));
    const served = answers.filter((each) => each.status === status).length;
    expect(served).toBeGreaterThanOrEqual(6);
    expect(served).toBeLessThan(18);
    expect(answers.filter((each) => each.status === 429)).toHaveLength(20 - served);
  });
});

it('§8: of one tenant so many requests are answered at once; more are 429, and other tenants are served', async () => {
  const narrow = await startService({
    tenants: { acme: 'dyn_stock_order', other: 'dyn_stock_order' },
    env: { REQUESTS_IN_FLIGHT: '3' },
  });
  const agent = new Agent({ maxSockets: 10 });
  try {
    const tenant = narrow.tenant('acme');
    const headers = {
      host: tenant.host,
      authorization: `Bearer ${await tenant.token()}`,
      'content-type': 'application/json',
    };
    const slow: ClientRequest[] = [];
    let refused = await tenant.getList('dyn_item');
    // Requests whose bodies do not end stay in flight.
    for (let n = 0; refused.status === 200 && n < 9; n += 1) {
      const path = '/api/v1/dynamic-assets/dyn/dyn_item/assets';
      const outgoing = request({ agent, host: '127.0.0.1', port: narrow.port, method: 'POST', path, headers });
      outgoing.on('error', () => {});
      outgoing.write('{');
      slow.push(outgoing);
      await wait(100);
      refused = await tenant.getList('dyn_item');
    }
    expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '1' } });
    expect((await narrow.tenant('other').getList('dyn_item')).status).toBe(200);
    for (const each of slow) each.destroy();
    for (const until = Date.now() + 5_000; refused.status !== 200 && Date.now() < until; await wait(20))
      refused = await tenant.getList('dyn_item');
    expect(refused.status).toBe(200);
  } finally {
    agent.destroy();
    await narrow.dispose();
  }
});

it.each([
  ['zero', { per_second: 0, burst: 1 }, ['per_second']],
  ['a negative number', { per_second: 1, burst: -1 }, ['burst']],
  ['a fraction', { per_second: 1.5, burst: 1 }, ['per_second']],
  ['texts', { per_second: '1', burst: '1' }, ['burst', 'per_second']],
  ['nothing', {}, ['burst', 'per_second']],
  ['an unknown field', { per_second: 1, burst: 1, day: 1 }, ['day']],
])('§7: a rate limit of %s is 422', async (_what, body, fields) => {
  await expectInvalid(run.service, fields, () => setLimit(body));
});

it('§5: only an admin sets the rate limit', async () => {
  const token = await acme().addPerson('validator');
  const body = { per_second: 1, burst: 1 };
  await expectRefused(run.service, 403, () => acme().platform('PUT', '/tenant/rate-limit', { body, token }));
});
