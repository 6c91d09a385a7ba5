/** What one client may cost the others, with legal requests inside every limit. */

import { ASSETS, PLATFORM } from '../acceptance/tenant.js';
import { useService } from '../acceptance/useService.js';
import { atOnce, type Costly, type Seen } from './work/costly.js';

const run = useService({
  tenants: { acme: 'dyn_stock_order', other: 'dyn_stock_order' },
  env: { RATE_LIMIT: '100000/100000' },
});
const acme = () => run.tenant('acme');

const repeated = (count: number, request: Costly): readonly Costly[] => Array.from({ length: count }, () => request);

async function seen(
  name: string,
  who: 'client' | 'user',
  requests: readonly Costly[],
  leaveAfterMs?: number,
): Promise<Seen> {
  const token = who === 'client' ? await acme().token() : await acme().signIn();
  const found = await atOnce(
    run.service,
    { bystander: run.tenant('other'), token, host: acme().host },
    requests,
    leaveAfterMs,
  );
  process.stdout.write(`${name}: ${JSON.stringify(found)}\n`);
  return found;
}

let orderId: string;
beforeAll(async () => {
  await acme().platformData('POST', '/asset-types/dyn_item/fields', { name: 'story', type: 'LongText' });
  const item = await acme().create('dyn_item', { external_id: 'I', name: 'Tea', story: 'x'.repeat(14_000) });
  const lines = Array.from({ length: 1000 }, (_, n) => ({ item_id: item.id, quantity: n + 1 }));
  const order = await acme().create('dyn_stock_order', { customer_reference: 'PO', lines });
  orderId = order.id;
});

it('nothing', async () => {
  await seen('nothing', 'user', [{ method: 'GET', path: `${PLATFORM}/orders?perPage=10` }]);
  await new Promise((r) => setTimeout(r, 1000));
});
it('50 documents of an order of 1,000 lines', async () => {
  await seen('order documents', 'user', repeated(50, { method: 'GET', path: `${PLATFORM}/orders/${orderId}` }));
});
it('openapi', async () => {
  await seen('openapi', 'client', repeated(500, { method: 'GET', path: '/openapi.json' }));
});
it('batches refused with a key', async () => {
  const items = Array.from({ length: 1000 }, (_, n) => ({
    external_id: `B${n}`,
    name: 'y'.repeat(200),
    story: 'z'.repeat(6_500),
  }));
  const batch = { method: 'POST', path: `${ASSETS}/dyn_item/assets/batch`, body: { items } };
  await seen(
    '5 batches',
    'client',
    Array.from({ length: 5 }, (_, m) => ({
      ...batch,
      body: { items: items.map((item) => ({ ...item, name: `n${m}` })) },
    })),
  );
  await seen('operations', 'client', repeated(300, { method: 'GET', path: `${ASSETS}/dyn_item/operations` }));
  await seen('operations left', 'client', repeated(300, { method: 'GET', path: `${ASSETS}/dyn_item/operations` }), 100);
});
it('100 orders of 1,000 lines', async () => {
  const lines = Array.from({ length: 1000 }, (_, n) => ({ quantity: n + 1 }));
  await seen(
    'large orders',
    'client',
    repeated(100, {
      method: 'POST',
      path: `${ASSETS}/dyn_stock_order/assets`,
      body: { customer_reference: 'PO', lines },
    }),
  );
});
it('large records', async () => {
  const names = Array.from({ length: 14 }, (_, n) => `text_${n}`);
  for (const name of names)
    await acme().platformData('POST', '/asset-types/dyn_unit_code/fields', {
      name,
      type: 'LongText',
      filterable: true,
    });
  await seen(
    'large records',
    'client',
    Array.from({ length: 20 }, (_, m) => ({
      method: 'POST',
      path: `${ASSETS}/dyn_unit_code/assets`,
      body: {
        code: `C${m}`,
        value: 'v',
        ...Object.fromEntries(names.map((name, at) => [name, `${m} ${at} `.repeat(10_000).slice(0, 62_000)])),
      },
    })),
  );
});
