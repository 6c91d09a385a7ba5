/**
 * Every operation, 300 times at once, by one tenant that is as large as the limits allow, and requests that are refused and
 * cost much to read: what other tenants notice.
 * It runs in `npm run test:long`, as it needs the machine to itself; SHOW=1 prints the figures.
 */
import { type Service, startService } from '../acceptance/service.js';
import { HOSTILE_REQUESTS } from '../attacks/hostileRequests.js';
import { scaled } from '../engines/timeScale.js';
import { crowd, type Noticed } from './crowd.js';
import { COSTLY_READS, type LargeTenant, makeLargeTenant, OPERATIONS } from './largeTenant.js';

const AT_ONCE = 300;
const HOSTILE_AT_ONCE = 100;
const LEAVE_AFTER_MS = 100;
const HEALTH_MS = scaled(150);
const OTHERS_P99_MS = scaled(250);
const ENDED_MS = scaled(1_000);
/** Node lets garbage lie while there is room. What the heap does not hold, such as bodies and pages of SQLite, comes on top. */
const HEAP_MB = 500;
const MEMORY_MB = 1_200;

// Where the machine stood still, the same is tried again; what the service does, it does each time.
jest.retryTimes(2, { logErrorsBeforeRetry: true });

let service: Service;
let large: LargeTenant;
beforeAll(async () => {
  service = await startService({
    tenants: { acme: 'dyn_stock_order', other: 'dyn_stock_order' },
    env: {
      NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}`,
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
      // Half of the usual time: what cannot be answered takes as long as it may.
      REQUEST_TIMEOUT_MS: '5000',
    },
  });
  large = await makeLargeTenant(service.tenant('acme'), AT_ONCE);
});
afterAll(async () => {
  await service.dispose();
  expect(service.loggedErrors).toEqual([]);
});

/** 401: a session that has ended. 404 and 409: another of them was first. 413: a page that is too large. 422: a wrong password. 507: no room for another past table. */
const EXPECTED = new Set(['200', '201', '202', '204', '302', '401', '404', '409', '413', '422', '429', '503', '507']);

function expectUnnoticed({ statuses, health, create, list, memoryMb, endedAfterMs }: Noticed): void {
  const unexpected = Object.keys(statuses).filter((status) => !EXPECTED.has(status));
  const tooMuch = Object.entries({
    'longest wait of /health/live': health.longest > HEALTH_MS && health.longest,
    'p99 of a create of another tenant': create.p99 > OTHERS_P99_MS && create.p99,
    'p99 of a list of another tenant': list.p99 > OTHERS_P99_MS && list.p99,
    'memory in MB': memoryMb > MEMORY_MB && memoryMb,
    'work after the last client': endedAfterMs > ENDED_MS && endedAfterMs,
  }).filter(([, figure]) => figure !== false);
  expect({ unexpected, tooMuch }).toEqual({ unexpected: [], tooMuch: [] });
}

it('the large tenant has requests of every operation of the route table', () => {
  expect(large.operations.toSorted()).toEqual(OPERATIONS.toSorted());
});

it.each(OPERATIONS)('%s', async (operation) => {
  const noticed = await crowd(service, service.tenant('other'), large.requests(operation));
  if (process.env.SHOW === '1') console.log(operation, JSON.stringify(noticed));
  expectUnnoticed(noticed);
});

it.each(COSTLY_READS)('%s, and the clients leave', async (operation) => {
  const noticed = await crowd(service, service.tenant('other'), large.requests(operation), LEAVE_AFTER_MS);
  expectUnnoticed({ ...noticed, statuses: {} });
});

it.each(HOSTILE_REQUESTS)('hostile: $name', async ({ name, method, path, raw, headers, status }) => {
  const request = { method, path, headers: { ...large.headersOf(path), ...headers }, body: raw };
  const noticed = await crowd(service, service.tenant('other'), Array(HOSTILE_AT_ONCE).fill(request));
  if (process.env.SHOW === '1') console.log(name, JSON.stringify(noticed));
  expectUnnoticed({ ...noticed, statuses: {} });
  expect(
    Object.keys(noticed.statuses).filter((seen) => seen !== String(status) && seen !== '429' && seen !== '503'),
  ).toEqual([]);
});
