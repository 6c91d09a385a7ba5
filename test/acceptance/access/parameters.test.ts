/** Query parameters: every operation names its own, and refuses any other. */
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
const tokenFor = (path: string): Promise<string> => (path.startsWith(PLATFORM) ? acme().signIn() : acme().token());

it('an unknown parameter is 400 and named, whatever the operation; nothing is written', async () => {
  const { paths } = documentOf.parse((await acme().send('GET', '/openapi.json', { token: null })).body);
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    ['get', 'put', 'post', 'delete'].filter((method) => item[method] !== undefined).map((method) => ({ method, path })),
  );
  expect(operations.length).toBeGreaterThan(90);
  for (const { method, path } of operations) {
    if (path === '/oauth/token') continue;
    const called = `${path.replaceAll(/\{[a-z_]+\}/g, ID)}?nonsense=1`;
    const answer = await expectRefused(run.service, 400, async () =>
      acme().send(method.toUpperCase(), called, { token: await tokenFor(path) }),
    );
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
    acme().send(method, path, { query: { [name]: 'true' }, body: {}, token: await tokenFor(path) }),
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
