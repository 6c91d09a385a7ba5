/** The trace collector is away, slow or hanging: the service works as usual. */
import { z } from 'zod';
import { type Service, startService } from '../acceptance/service.js';
import { TraceCollector } from '../acceptance/traceCollector.js';

const line = z.looseObject({ msg: z.string(), level: z.int(), reason: z.string().optional() });
const linesOf = ({ log }: Service, text: string) =>
  log
    .split('\n')
    .filter((each) => each.includes(text))
    .map((each) => line.parse(JSON.parse(each)));
const CANNOT = 'traces cannot be sent';
const AGAIN = 'traces are sent again';
const DROPPED = 'spans because maxQueueSize';
const WARN = 40;

let collector: TraceCollector;
let service: Service;
let created = 0;

const start = async (env: { readonly [name: string]: string } = {}): Promise<void> => {
  service = await startService({
    tenants: { acme: 'dyn_stock_order' },
    env: { ...collector.env, LOG_LEVEL: 'info', ...env },
  });
};
beforeEach(async () => {
  collector = await TraceCollector.start();
});
afterEach(async () => {
  await service.dispose();
  await collector.stop();
});

/** Each create is four spans. */
async function create(count: number): Promise<void> {
  for (let number = 0; number < count; number++) {
    created += 1;
    const answer = await service.tenant('acme').postRecord('dyn_item', { external_id: `E${created}`, name: 'Tea' });
    expect(answer.status).toBe(201);
    expect(answer.headers).not.toHaveProperty('projection-pending');
  }
}

/** Creates records until the service has logged this. */
async function createUntilLogged(text: string): Promise<void> {
  while (!service.log.includes(text)) await create(1);
}

it('hangs: requests are answered, and that spans are lost is told once; they come again when it is well', async () => {
  collector.manner = 'hangs';
  await start({ OTEL_EXPORTER_OTLP_TIMEOUT: '1000' });
  await createUntilLogged(CANNOT);
  const { calls } = collector;
  while (collector.calls < calls + 2) await create(1);
  expect(collector.spans).toEqual([]);
  collector.manner = 'takes';
  await createUntilLogged(AGAIN);
  expect(collector.spans).not.toEqual([]);
  expect(linesOf(service, CANNOT)).toMatchObject([{ level: WARN, reason: expect.stringContaining('timed out') }]);
  expect(service.loggedErrors).toEqual([]);
});

it('takes less than there is: what does not fit is dropped, which is told once', async () => {
  collector.manner = 'hangs';
  const endless = { OTEL_EXPORTER_OTLP_TIMEOUT: '900000', OTEL_BSP_EXPORT_TIMEOUT: '900000' };
  await start({ ...endless, OTEL_BSP_MAX_QUEUE_SIZE: '20', OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '10' });
  for (const times of [1, 2]) {
    collector.manner = 'hangs';
    await create(20);
    // The first ten, which hung, are sent again, then the twenty that waited.
    const before = collector.spans.length;
    collector.manner = 'takes';
    collector.cut();
    await collector.until(
      () => true,
      (found) => found.length >= before + 21,
    );
    await createUntilLogged(DROPPED);
    expect(collector.spans.length).toBeLessThan(times * 80);
  }
  expect(linesOf(service, DROPPED)).toMatchObject([{ level: WARN }]);
});

it('hangs when the service stops: that waits for it no longer than two seconds', async () => {
  collector.manner = 'hangs';
  // Without a limit of its own, the stop would take as long as these settings say.
  await start({ OTEL_EXPORTER_OTLP_TIMEOUT: '900000', OTEL_BSP_EXPORT_TIMEOUT: '900000' });
  await create(10);
  expect(await service.stop()).toBe(0);
  expect(linesOf(service, CANNOT)).toMatchObject([{ reason: 'Not all were sent within 2 s.' }]);
});

it('is well when the service stops: it is sent what waits', async () => {
  await start({ OTEL_BSP_SCHEDULE_DELAY: '900000' });
  await create(10);
  // A create is answered before it is projected, and the read waits for that: all its spans are there then.
  await service.tenant('acme').list('dyn_item');
  expect(collector.spans).toEqual([]);
  expect(await service.stop()).toBe(0);
  expect(collector.spans.length).toBeGreaterThanOrEqual(41);
  expect(collector.spans.filter(({ name }) => name === 'project')).toHaveLength(10);
});

it('refuses them: that is told once, without its answer', async () => {
  collector.manner = 'refuses';
  await start();
  await createUntilLogged(CANNOT);
  const { calls } = collector;
  while (collector.calls < calls + 2) await create(1);
  expect(linesOf(service, CANNOT)).toMatchObject([{ level: WARN, reason: 'Bad Request (400)' }]);
});
