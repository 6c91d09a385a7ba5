/** What an operator sees of a process: figures of each minute of a day. */
import { Gauge } from 'prom-client';
import { ServiceMetrics } from '#app/api/metrics.js';

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
