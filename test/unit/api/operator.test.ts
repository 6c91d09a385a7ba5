/** What an operator sees of a process, figures of each minute of a day; and the search of a long log. */
import { Gauge } from 'prom-client';
import type { Api } from '#app/api/deps.js';
import { ServiceMetrics } from '#app/api/metrics.js';
import { operatorLog } from '#app/api/operator/log.js';
import type { Call } from '#app/api/routes/operation.js';

const MINUTE_MS = 60_000;

test('a point a minute, at most a day of them: rates since the one before, and figures as they were', async () => {
  jest.useFakeTimers({ now: 0 });
  const metrics = new ServiceMetrics();
  const position = new Gauge({ registers: [metrics.registry], name: 'event_log_position', help: 'Of the log.' });
  position.set(10);
  await metrics.watch('/dev/null/history.json', {} as never);
  position.set(70);
  for (let n = 0; n < 119; n++) metrics.observeRequest('GET', '/api', '/orders', 200, 0.004);
  metrics.observeRequest('GET', '/api', '/orders', 503, 3);
  // Who looks at the service is not counted.
  metrics.observeRequest('GET', '', '/health/ready', 200, 0.9);
  metrics.observeRequest('GET', '/api/v1/operator', '/overview', 200, 0.9);
  await jest.advanceTimersByTimeAsync(MINUTE_MS);
  position.set(100);
  await jest.advanceTimersByTimeAsync(MINUTE_MS / 2);
  const none = { requests_per_second: 0, errors_per_second: 0, p99_ms: null };
  const unknown = { lag: null, deliveries_waiting: null, disk_free_bytes: null, backup_age_seconds: null };
  const rates = { requests_per_second: 2, errors_per_second: 1 / 60, p99_ms: 5 };
  expect(await metrics.history(60)).toEqual([
    { at: '1970-01-01T00:01:00.000Z', stored_per_second: 1, ...rates, ...unknown },
    { at: '1970-01-01T00:01:30.000Z', stored_per_second: 1, ...none, ...unknown },
  ]);
  await jest.advanceTimersByTimeAsync(1_500 * MINUTE_MS);
  const [day, hour] = [await metrics.history(1_440), await metrics.history(60)];
  expect([day.length, hour.length, day[0]?.at]).toEqual([1_440, 60, '1970-01-01T01:03:00.000Z']);
  await metrics.stop();
  jest.useRealTimers();
});

test('a search for a type ends after a second or with a full page, and the next one goes on from there', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  /** Positions found in a log where these are of the type, and each read takes 300 ms; where the next page begins. */
  async function found(isWanted: (position: number) => boolean, cursor: number) {
    const readBackwards = async (count: number, before = 0) => {
      jest.advanceTimersByTime(300);
      const positions = Array.from({ length: count }, (_, n) => before - 1 - n).filter((position) => position > 0);
      const typeOf = (position: number) => (isWanted(position) ? 'UserAdded' : 'SignedIn');
      const events = positions.map((position) => ({ stream: '', metadata: {}, position, type: typeOf(position) }));
      return { events, next: before > count + 1 ? before - count : undefined };
    };
    const api = { config: {}, operator: { eventStore: { readBackwards } } } as unknown as Api;
    const req = { headers: { host: 'localhost' }, protocol: 'http', baseUrl: '', path: '/log' };
    const query = new URLSearchParams({ type: 'UserAdded', cursor: String(cursor) });
    const reply = await operatorLog.operations['GET /log']?.handle(api, { req, query } as unknown as Call, {} as never);
    const { data, links } = JSON.parse(String(reply?.body));
    return [data.map(({ position }: { position: number }) => position), /cursor=(\d+)/.exec(links.next)?.[1]];
  }
  const isRare = (position: number) => position % 500 === 0;
  expect(await found(isRare, 501)).toEqual([[500], '401']);
  expect(await found(isRare, 401)).toEqual([[], '301']);
  expect(await found(isRare, 101)).toEqual([[], undefined]);
  const [full, next] = await found((position) => position % 3 > 0, 38);
  expect([full.length, full.at(-1), next]).toEqual([25, 1, undefined]);
  expect(await found((position) => position % 3 > 0, 39)).toEqual([[38, ...full.slice(0, -1)], '2']);
  jest.useRealTimers();
});
