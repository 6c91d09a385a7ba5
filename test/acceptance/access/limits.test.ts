/** Rate limits: a token bucket for each client, settable for each tenant (spec §8). */
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { expectInvalid, expectRefused } from '../refusals.js';
import { useService } from '../useService.js';

const run = useService({ tenants: { acme: 'dyn_stock_order', other: 'dyn_stock_order' } });
const acme = () => run.tenant('acme');
const setLimit = (body: unknown) => acme().platform('PUT', '/tenant/rate-limit', { body });
const list = (token?: string) => acme().getList('dyn_item', '', token === undefined ? {} : { token });

it('§8: there is no limit as long as none is set', async () => {
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
