/** A tenant that writes more than is projected in time is slowed, alone; what its ERP reports is taken all the same. */
import { MAX_TENANT_BACKLOG_BYTES } from '#app/domain/limits.js';
import { useService } from '../acceptance/useService.js';

const BATCH_BYTES = 6_000_000;
const BATCHES = Math.ceil(MAX_TENANT_BACKLOG_BYTES / BATCH_BYTES) + 1;

// No answer waits until reads show it.
const run = useService({
  tenants: { acme: 'dyn_stock_order', other: 'dyn_stock_order' },
  env: { EVENTSTORE_URL: '', MONGODB_URL: '', RABBITMQ_URL: '', WRITE_WAIT_MS: '0' },
});
const acme = () => run.tenant('acme');

const text = (n: number): string =>
  Array.from({ length: 900 }, (_, word) => ((n * 7919 + word * 104729) % 1e7).toString(36)).join(' ');

it('creates and batches of the tenant are 429 until its batches are shown; status reports and other tenants are not', async () => {
  await acme().platformData('POST', '/asset-types/dyn_item/fields', {
    name: 'story',
    type: 'LongText',
    filterable: true,
  });
  const order = await acme().create('dyn_stock_order', { customer_reference: 'PO' });
  const story = text(1).slice(0, BATCH_BYTES / 1_000);
  for (let n = 0; n < BATCHES; n++) {
    const items = Array.from({ length: 1_000 }, (_, m) => ({
      external_id: `${n} ${m}`,
      name: 'Tea',
      story,
      _batch_id: 'b',
    }));
    await acme().postBatch('dyn_item', { items });
  }
  const refused = await acme().postRecord('dyn_item', { external_id: 'late', name: 'Tea' });
  expect([refused.status, refused.body]).toEqual([
    429,
    expect.objectContaining({ error: expect.stringContaining('not shown yet') }),
  ]);
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  expect((await acme().postBatch('dyn_item', { items: [{ external_id: 'late', name: 'Tea' }] })).status).toBe(429);

  await acme().update('dyn_stock_order', order.id, { processing_status: 'submitted' });
  await run.tenant('other').create('dyn_item', { external_id: 'another', name: 'Tea' });

  let later = refused;
  while (later.status === 429) later = await acme().postRecord('dyn_item', { external_id: 'late', name: 'Tea' });
  expect(later.status).toBe(201);
});
