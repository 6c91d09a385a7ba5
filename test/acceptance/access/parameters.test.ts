/** Query parameters, and header fields that promise something: every operation names its own, and refuses any other. */
import { z } from 'zod';
import { expectRefused } from '../refusals.js';
import { ASSETS, PLATFORM } from '../tenant.js';
import { useService } from '../useService.js';

const run = useService({ tenants: { acme: 'dyn_stock_order' } });
const acme = () => run.tenant('acme');
const ITEMS = `${ASSETS}/dyn_item/assets`;
const ID = '01a1feb1-9a64-76fa-95fa-131ef9230738';

const documentOf = z.object({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) });

/** Who a refused request is sent as, by the path. */
it('an unknown parameter is 400 and named, whatever the operation; nothing is written', async () => {
  const { paths } = documentOf.parse((await acme().send('GET', '/openapi.json', { token: null })).body);
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    ['get', 'put', 'post', 'delete'].filter((method) => item[method] !== undefined).map((method) => ({ method, path })),
  );
  expect(operations.length).toBeGreaterThan(90);
  for (const { method, path } of operations) {
    // Pages of the console read their parameters themselves.
    if (path === '/oauth/token' || path.startsWith('/console')) continue;
    const called = `${path.replaceAll(/\{[a-z_]+\}/g, ID)}?nonsense=1`;
    const token = await acme().tokenFor(path);
    const answer = await expectRefused(run.service, 400, () => acme().send(method.toUpperCase(), called, { token }));
    expect({ method, path, body: answer.body }).toEqual({
      method,
      path,
      body: { message: 'Bad request.', error: expect.stringMatching(/^Unknown parameter nonsense; /) },
    });
  }
});

it.each([
  ['POST', `${ITEMS}/batch`, 'dryRun', 'dry_run'],
  ['POST', `${ITEMS}/clean-up`, 'dryrun', 'dry_run'],
  ['GET', ITEMS, 'per_page', 'perPage'],
  ['GET', ITEMS, 'Page', 'page'],
  ['GET', ITEMS, 'sort[name]', 'sort'],
  ['GET', ITEMS, 'filters[name]', 'filter[<field>]'],
  ['GET', `${PLATFORM}/orders`, 'que', 'queue'],
  ['GET', `${PLATFORM}/webhooks/${ID}/deliveries`, 'orderId', 'order_id'],
])('%s %s?%s=… is 400 and says which was meant', async (method, path, name, meant) => {
  const answer = await expectRefused(run.service, 400, async () =>
    acme().send(method, path, { query: { [name]: 'true' }, body: {}, token: await acme().tokenFor(path) }),
  );
  expect(answer.body).toEqual({
    message: 'Bad request.',
    error: `Unknown parameter ${name}; did you mean ${meant}?`,
  });
});

it.each(['__proto__', 'constructor', 'x'.repeat(5000), ''])('%.20j as a parameter is 400', async (name) => {
  await expectRefused(run.service, 400, () => acme().getList('dyn_item', { [name]: '1' }));
});

it('who may not call an operation is not told about its parameters', async () => {
  await expectRefused(run.service, 401, () => acme().send('GET', ITEMS, { query: 'nonsense=1', token: null }));
  await expectRefused(run.service, 404, () => acme().getList('dyn_thing', 'nonsense=1'));
  const token = await acme().token('read:order_data');
  await expectRefused(run.service, 403, () => acme().getList('dyn_item', 'nonsense=1', { token }));
});

it('the token endpoint ignores unknown parameters (RFC 6749 §3.2)', async () => {
  const { client_id, client_secret } = acme().client;
  const body = { grant_type: 'client_credentials', client_id, client_secret };
  expect((await acme().send('POST', '/oauth/token?nonsense=1', { body, token: null })).status).toBe(200);
});

describe('header fields that promise something', () => {
  const ORDER = `${PLATFORM}/orders/${ID}`;
  it.each([
    ['If-Match', '"1"', 'POST', ITEMS],
    ['If-Match', '*', 'POST', `${ITEMS}/batch`],
    ['If-Match', '"1"', 'POST', `${ORDER}/approve`],
    ['If-Match', '"1"', 'GET', ITEMS],
    ['If-None-Match', '*', 'POST', ITEMS],
    ['If-None-Match', '*', 'PUT', `${ITEMS}/${ID}`],
    ['If-Unmodified-Since', 'Sun, 22 Nov 2026 10:00:00 GMT', 'PUT', `${ITEMS}/${ID}`],
    ['Content-Range', 'bytes 0-1/2', 'PUT', `${ITEMS}/${ID}`],
    ['Prefer', 'tx=rollback', 'POST', `${ITEMS}/clean-up`],
    ['Idempotency-Key', 'k-1', 'PUT', `${ITEMS}/${ID}`],
    ['Idempotency-Key', 'k-1', 'POST', `${ORDER}/reject`],
    ['Idempotency-Key', 'k-1', 'POST', `${PLATFORM}/webhooks`],
    ['Idempotency-Key', 'k-1', 'POST', `${ASSETS}/dyn_item/syncs`],
    ['Idempotency-Key', 'k-1', 'POST', `${ASSETS}/dyn_item/syncs`],
    ['X-Idempotency-Key', 'k-1', 'POST', ITEMS],
    ['X-HTTP-Method-Override', 'DELETE', 'POST', ITEMS],
  ])('%s: %s on %s %s is 400, and nothing is written', async (name, value, method, path) => {
    const answer = await expectRefused(run.service, 400, async () =>
      acme().send(method, path, {
        ...(method === 'GET' ? {} : { body: {} }),
        headers: { [name]: value },
        token: await acme().tokenFor(path),
      }),
    );
    expect(answer.body).toMatchObject({ error: expect.stringContaining(`does not honour ${name.toLowerCase()} here`) });
  });

  it.each(['items=0-24', 'bytes=0-99', 'bytes=-1,', 'nonsense'])(
    'Range: %s is ignored: the whole is sent, and the answer says so (RFC 9110 §14.2)',
    async (range) => {
      const whole = await acme().getList('dyn_item');
      for (const headers of [
        { range },
        { range, 'if-range': String(whole.headers.etag) },
        { range, 'if-range': '"x"' },
      ]) {
        const answer = await acme().getList('dyn_item', '', { headers });
        expect(answer).toMatchObject({ status: 200, text: whole.text, headers: { 'accept-ranges': 'none' } });
        expect(answer.headers['content-range']).toBeUndefined();
        expect((await acme().send('HEAD', ITEMS, { headers })).status).toBe(200);
        expect((await acme().send('GET', '/docs', { headers, token: null })).status).toBe(200);
        expect((await acme().postRecord('dyn_item', {}, { headers })).status).toBe(422);
      }
    },
  );

  it('wishes about the answer are none: a read without them is the same', async () => {
    const headers = {
      'if-modified-since': 'Sun, 22 Nov 2026 10:00:00 GMT',
      prefer: 'wait=10',
      accept: 'application/xml',
    };
    expect(await acme().getList('dyn_item', '', { headers })).toMatchObject({ status: 200 });
  });
});
