/** Rate limits: a token bucket for each client, settable for each tenant up to what the operator sets (spec §8). */
import { z } from 'zod';
import type { Answer } from '../http.js';
import { expectRefused } from '../refusals.js';
import { useService } from '../useService.js';

/** Asks in turn until it is served, or refused: a busy machine may take so long that more requests are free meanwhile. */
async function until(isSo: (status: number) => boolean, ask: () => Promise<Answer>): Promise<Answer> {
  let answer = await ask();
  while (!isSo(answer.status)) answer = await ask();
  return answer;
}

describe('as long as the operator sets none', () => {
  const { acme, service, tenant } = useService({ tenants: { acme: 'dyn_stock_order', other: 'dyn_stock_order' } });
  const setLimit = (per_second: number, burst: number) =>
    acme().platformData('PUT', '/tenant', { rate_limit: { per_second, burst } });
  const list = (token?: string) => acme().getList('dyn_item', '', token === undefined ? {} : { token });
  const allServed = async (times: number) =>
    expect(
      new Set((await Promise.all(Array.from({ length: times }, () => list()))).map(({ status }) => status)),
    ).toEqual(new Set([200]));

  it('§8: a tenant that sets no limit has the high one of the service', async () => {
    expect((await list()).headers['ratelimit-policy']).toBe('"client";q=20000;w=2');
    await allServed(100);
  });

  it('§8, decision: over the limit of its tenant a client gets 429 with Retry-After and RateLimit headers, and others go on', async () => {
    await setLimit(1, 3);
    const other = z.looseObject({}).parse(await acme().platformData('POST', '/api-clients', { name: 'Other' }));
    const granted = await acme().requestToken({ grant_type: 'client_credentials', ...other });
    const { access_token } = z.object({ access_token: z.string() }).parse(granted.body);

    const answers = [await list(), await list(), await list()];
    for (const { status, headers } of answers) {
      expect(status).toBe(200);
      expect(headers['ratelimit-policy']).toBe('"client";q=3;w=3');
      expect(headers.ratelimit).toMatch(/r=[0-2]/);
    }
    expect(answers[0]?.headers.ratelimit).toBe('"client";r=2;t=0');
    const post = () => acme().postRecord('dyn_item', { name: 'X' });
    const refused = await expectRefused(service(), 429, () => until((status) => status === 429, post));
    expect(refused.body).toEqual({ message: 'Too many requests.', error: expect.any(String) });
    expect(refused.headers).toMatchObject({ 'retry-after': '1', ratelimit: expect.stringMatching(/r=0/) });
    expect((await list(access_token)).status).toBe(200);
    expect((await tenant('other').getList('dyn_item')).status).toBe(200);
    await until((status) => status !== 429, list);
  });
});

describe('where the operator sets one', () => {
  const { acme, tenant } = useService({
    tenants: { acme: 'dyn_stock_order', other: 'dyn_stock_order' },
    env: { RATE_LIMIT_PER_SECOND: '3', TRUST_PROXY: '1' },
  });
  const fromNetwork = (address: string) => ({ token: null, headers: { 'x-forwarded-for': address } });

  /** Of 20 requests at once, 6 are served, and some more where the machine is slow. */
  async function expectLimited(send: () => Promise<Answer>, status = 200): Promise<void> {
    const answers = await Promise.all(Array.from({ length: 20 }, send));
    const refused = answers.filter((answer) => answer.status !== status);
    for (const { status, headers, body } of refused) {
      expect({ status, body }).toEqual({
        status: 429,
        body: { message: 'Too many requests.', error: 'At most 3 requests a second, 6 at once.' },
      });
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    }
    expect(refused.length).toBeGreaterThan(2);
    expect(refused.length).toBeLessThanOrEqual(14);
  }

  it('a tenant cannot have more than that', async () => {
    await acme().platformData('PUT', '/tenant', { rate_limit: { per_second: 1_000_000, burst: 1_000_000 } });
    await acme().token();
    await expectLimited(() => acme().getList('dyn_item'));
  });

  it('it counts for each user of the platform, and not for others', async () => {
    const other = tenant('other');
    await other.signIn();
    await expectLimited(() => other.platform('GET', '/orders'));
    expect((await other.getList('dyn_item')).status).toBe(200);
  });

  it.each<[string, () => Promise<Answer>, number]>([
    ['token requests', () => acme().requestToken({}, { 'x-forwarded-for': '192.0.2.1' }), 400],
    ['the document', () => acme().send('GET', '/openapi.json', fromNetwork('192.0.2.3')), 200],
    ['sign-ins', () => acme().send('POST', '/api/v1/platform/session', { ...fromNetwork('192.0.2.4'), body: {} }), 422],
    ['refused tokens', () => acme().getList('dyn_item', '', { ...fromNetwork('192.0.2.5'), token: 'a.b.c' }), 401],
  ])('it counts for each network where nobody is known: %s', (_what, send, status) => expectLimited(send, status));
});
