/** Making and managing webhooks (spec §6): admins only, HTTPS only, no way into private networks. */

import { itOfRequests } from '../../onProductionEngines/repetition.js';
import { addWebhook } from '../export.js';
import { expectInvalid, expectRefused } from '../refusals.js';
import { useService } from '../useService.js';

const { acme, service, tenant } = useService({ tenants: { acme: 'dyn_stock_order', other: 'dyn_stock_order' } });
const post = (body: unknown) => acme().platform('POST', '/webhooks', { body });
const GOOD = 'https://127.0.0.1:9/orders';

/** Everything that changes a webhook, below its path. */
const CHANGES = [
  ['PUT', ''],
  ['DELETE', ''],
  ['POST', '/secret/rotate'],
] as const;

it('§6, §6.3: an admin creates a webhook; its secret is shown this once', async () => {
  const made = await addWebhook(acme(), GOOD, { events: ['order.approved'], name: 'ERP' });
  expect(made).toMatchObject({ url: GOOD, events: ['order.approved'], name: 'ERP' });
  const list = await acme().platform('GET', '/webhooks');
  expect(list.text).toContain(made.id);
  expect(list.text).not.toContain(made.secret);
  expect(list.text).not.toMatch(/secret/i);
});

it('§6: made with its URL alone, it is named by its host, for approvals, without custom data; made at once, all are there', async () => {
  const made = await Promise.all([1, 2, 3].map((n) => addWebhook(acme(), `https://127.0.0.1:9/${n}`)));
  for (const { id } of made)
    expect(await acme().platformData('GET', `/webhooks/${id}`)).toMatchObject({
      name: '127.0.0.1:9',
      events: ['order.approved'],
      custom_data: {},
    });
});

itOfRequests.each([
  'https://user:secret@127.0.0.1/',
  'https://10.0.0.1/',
  'https://169.254.169.254/latest/meta-data',
  'https://[::1]/',
  'https://[::ffff:10.0.0.1]/',
  'https://0xA000001/',
])(
  '§6.2: a target with credentials, or with an address that is not among the allowed networks, is 422: %s',
  async (url) => {
    await expectInvalid(service(), ['url'], () => post({ url }));
  },
);

itOfRequests.each([
  ['an unknown kind of event', { url: GOOD, events: ['order.eaten'] }, 'events.0'],
  ['no kind of event', { url: GOOD, events: [] }, 'events'],
  ['an unknown field', { url: GOOD, colour: 'red' }, 'colour'],
  ['a secret of one’s own', { url: GOOD, secret: 'mine' }, 'secret'],
  ['no URL', {}, 'url'],
])('§7: a webhook with %s is 422', async (_what, body, field) => {
  await expectInvalid(service(), [field], () => post(body));
});

it('§6.4, decision: the waits between attempts are 30 s, 2 min, 10 min and 1 h, unless set otherwise', async () => {
  const { stdout } = await service().cli('config', '--json');
  expect(JSON.parse(stdout)).toContainEqual(
    expect.objectContaining({ name: 'WEBHOOK_BACKOFF_MS', default: '30000,120000,600000,3600000' }),
  );
});

it('§6: an unknown webhook, one that was removed, or another tenant’s, is 404', async () => {
  const foreign = await addWebhook(tenant('other'), GOOD);
  const removed = await addWebhook(acme(), GOOD);
  expect((await acme().platform('DELETE', `/webhooks/${removed.id}`)).status).toBe(204);
  for (const id of [foreign.id, removed.id, 'abc', '__proto__']) {
    await expectRefused(service(), 404, () => acme().platform('GET', `/webhooks/${id}`));
    for (const [method, below] of CHANGES) {
      await expectRefused(service(), 404, () => acme().platform(method, `/webhooks/${id}${below}`, { body: {} }));
    }
  }
  expect((await tenant('other').platform('GET', '/webhooks')).text).toContain(foreign.id);
});
