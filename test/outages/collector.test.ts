/** A collector that hangs holds up nothing. */
import { z } from 'zod';
import { PATIENT, type Service, startService } from '../acceptance/service.js';
import { TraceCollector } from '../acceptance/traceCollector.js';

const line = z.looseObject({ msg: z.string(), level: z.int(), reason: z.string().optional() });
const linesOf = ({ log }: Service, text: string) =>
  log
    .split('\n')
    .filter((each) => each.includes(text))
    .map((each) => line.parse(JSON.parse(each)));
const CANNOT = 'OpenTelemetry is in trouble';
const WARN = 40;

let collector: TraceCollector;
let service: Service;
let created = 0;

const start = async (env: { readonly [name: string]: string } = {}): Promise<void> => {
  service = await startService({
    tenants: { acme: 'dyn_stock_order' },
    env: { ...PATIENT, ...collector.env, LOG_LEVEL: 'info', ...env },
  });
};
beforeEach(async () => {
  collector = await TraceCollector.start();
});
afterEach(async () => {
  await service.dispose();
  await collector.stop();
});

/** Each create is two spans. */
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

it('hangs: requests are answered, and that spans are lost is told once a minute; they come again when it is well', async () => {
  collector.manner = 'hangs';
  await start({ OTEL_EXPORTER_OTLP_TIMEOUT: '1000' });
  await createUntilLogged(CANNOT);
  const { calls } = collector;
  while (collector.calls < calls + 2) await create(1);
  expect(collector.spans).toEqual([]);
  collector.manner = 'takes';
  while (collector.spans.length === 0) await create(1);
  expect(linesOf(service, CANNOT)).toMatchObject([{ level: WARN, reason: expect.stringContaining('timed out') }]);
  expect(service.loggedErrors).toEqual([]);
});

it('hangs when the service stops: that waits for it no longer than two seconds', async () => {
  collector.manner = 'hangs';
  // Without a limit of its own, the stop would take as long as these settings say.
  await start({ OTEL_EXPORTER_OTLP_TIMEOUT: '900000', OTEL_BSP_EXPORT_TIMEOUT: '900000' });
  await create(10);
  expect(await service.stop()).toBe(0);
  expect(linesOf(service, CANNOT)).toMatchObject([{ reason: 'Spans are lost: not all were sent within 2 s.' }]);
});
