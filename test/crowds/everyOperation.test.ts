/**
 * Every costly operation, 300 times at once, by one tenant that is as large as the limits allow, and requests that are refused and
 * cost much to read: what other tenants notice.
 * It runs in `npm run test:long`, as it needs the machine to itself; SHOW=1 prints the figures; ONLY names operations by a regular
 * expression.
 */
import { type Service, startService } from '../acceptance/service.js';
import { HOSTILE_REQUESTS } from '../attacks/hostileRequests.js';
import { scaled } from '../engines/timeScale.js';
import { type CrowdRequest, crowd } from './crowd.js';
import { type LargeTenant, makeLargeTenant, TAKES_TURNS } from './largeTenant.js';

const AT_ONCE = 300;
const HOSTILE_AT_ONCE = 100;
const LEAVE_AFTER_MS = 100;
const LONGEST_RUN_MS = 3_600_000;
const HEALTH_MS = scaled(150);
const OTHERS_P99_MS = scaled(250);
const ENDED_MS = scaled(1_000);
/** Node lets garbage lie while there is room. What the heap does not hold, such as bodies and pages of SQLite, comes on top. */
const HEAP_MB = 500;
const MEMORY_MB = 600;

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

/** 401: a session that has ended. 404 and 409: another of them was first. 413: a page that is too large. 422: a wrong password. 507: a quota is used up. */
const EXPECTED = new Set(['200', '201', '202', '204', '302', '401', '404', '409', '413', '422', '429', '503', '507']);

/** @returns what is more than it may be, of the least noticed of three times */
async function noticedOf(
  requests: readonly CrowdRequest[],
  isExpected: (status: string) => boolean,
  leaveAfterMs?: number,
) {
  for (let tries = 1; ; tries += 1) {
    const noticed = await crowd(service, service.tenant('other'), requests, leaveAfterMs);
    const { statuses, health, create, list, memoryMb, endedAfterMs } = noticed;
    if (process.env.SHOW === '1') console.log(requests[0]?.method, requests[0]?.path, JSON.stringify(noticed));
    const found = {
      statuses: Object.keys(statuses).filter((status) => !isExpected(status)),
      ...(health.longest > HEALTH_MS && { 'longest wait of /health/live': health.longest }),
      ...(create.p99 > OTHERS_P99_MS && { 'p99 of a create of another tenant': create.p99 }),
      ...(list.p99 > OTHERS_P99_MS && { 'p99 of a list of another tenant': list.p99 }),
      ...(memoryMb > MEMORY_MB && { 'memory in MB': memoryMb }),
      ...(endedAfterMs > ENDED_MS && { 'work after the last client': endedAfterMs }),
    };
    // Where the machine stood still, the same is tried again; what the service does, it does each time.
    if (tries === 3 || (found.statuses.length === 0 && Object.keys(found).length === 1)) return found;
  }
}

it('the large tenant has requests of every operation that takes turns', () => {
  expect(TAKES_TURNS.filter((operation) => !large.operations.includes(operation))).toEqual([]);
});

it(
  'none of them is noticed by others, also where the clients leave, nor are hostile ones',
  async () => {
    const noticed: { [request: string]: Awaited<ReturnType<typeof noticedOf>> } = {};
    const isWanted = (name: string) => new RegExp(process.env.ONLY ?? '').test(name);
    for (const operation of large.operations.filter(isWanted)) {
      const requests = large.requests(operation);
      noticed[operation] = await noticedOf(requests, (status) => EXPECTED.has(status));
      if (operation.startsWith('GET ') && TAKES_TURNS.includes(operation))
        noticed[`${operation}, left`] = await noticedOf(requests, () => true, LEAVE_AFTER_MS);
    }
    for (const { name, method, path, raw, headers, status } of HOSTILE_REQUESTS.filter(({ name }) => isWanted(name))) {
      const request = { method, path, headers: { ...large.headersOf(path), ...headers }, body: raw };
      const isExpected = (seen: string) => [String(status), '429', '503'].includes(seen);
      noticed[name] = await noticedOf(Array(HOSTILE_AT_ONCE).fill(request), isExpected);
    }
    const nothing = Object.fromEntries(Object.keys(noticed).map((name) => [name, { statuses: [] }]));
    expect(noticed).toEqual(nothing);
  },
  LONGEST_RUN_MS,
);
