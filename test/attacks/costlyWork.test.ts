/** Documents of a large order, asked for all at once: what takes long must not be long for others. */
import { request } from 'node:http';
import { PLATFORM } from '../acceptance/tenant.js';
import { useService } from '../acceptance/useService.js';
import { scaled } from '../engines/timeScale.js';
import { watched } from './probe.js';

const LIMIT_MS = 10_000;
const LINES = 1_000;
const CROWD = 100;
/** One document takes a tenth of it; of a crowd of them, one after the other, others waited for more than ten seconds. */
const LONGEST_WAIT_MS = scaled(2_000);

const run = useService({
  tenants: { acme: 'dyn_stock_order' },
  env: { REQUEST_TIMEOUT_MS: String(LIMIT_MS), WRITE_WAIT_MS: '3000' },
});
const acme = () => run.tenant('acme');

let order: string;
beforeAll(async () => {
  await acme().platformData('POST', '/asset-types/dyn_item/fields', { name: 'story', type: 'LongText' });
  const item = await acme().create('dyn_item', { external_id: 'I', name: 'Tea', story: 'x'.repeat(14_000) });
  const lines = Array.from({ length: LINES }, (_, n) => ({ item_id: item.id, quantity: n + 1 }));
  order = (await acme().create('dyn_stock_order', { customer_reference: 'PO', lines })).id;
});

/** The status, without reading the document into memory; 'left' if the client leaves before. */
async function shown(leaveAfterMs?: number): Promise<number | 'left'> {
  const headers = { host: acme().host, authorization: `Bearer ${await acme().signIn()}` };
  const { port } = run.service;
  return new Promise((resolve, reject) => {
    const outgoing = request(
      { host: '127.0.0.1', port, path: `${PLATFORM}/orders/${order}`, headers, agent: false },
      (incoming) => {
        incoming.resume();
        incoming.on('end', () => resolve(incoming.statusCode ?? 0));
        incoming.on('error', () => resolve('left'));
      },
    );
    outgoing.on('error', (error) => (leaveAfterMs === undefined ? reject(error) : resolve('left')));
    outgoing.end();
    if (leaveAfterMs !== undefined) setTimeout(() => outgoing.destroy(), leaveAfterMs);
  });
}

it('others are answered in between, and each request gets one answer: the document, 429, or 503 at its time limit', async () => {
  const { result, longestWaitMs } = await watched(run.service, () =>
    Promise.all(Array.from({ length: CROWD }, () => shown())),
  );
  expect(result).toContain(200);
  expect(result.filter((status) => status !== 200 && status !== 429 && status !== 503)).toEqual([]);
  expect(longestWaitMs).toBeLessThan(LONGEST_WAIT_MS);
});

it('work for clients that have left ends, and keeps nobody waiting', async () => {
  const left = await Promise.all(Array.from({ length: CROWD / 2 }, () => shown(100)));
  expect(left.filter((status) => status === 'left').length).toBeGreaterThan(CROWD / 4);
  expect(await shown()).toBe(200);
});

it('hundreds of changes of one order at once are all made, one after the other', async () => {
  const lines = await Promise.all(
    Array.from({ length: 500 }, (_, n) => acme().postRecord('dyn_order_line', { order_id: order, quantity: n + 1 })),
  );
  expect(lines.map(({ status }) => status).filter((status) => status !== 201)).toEqual([]);
});
