/** Where traces cannot be sent, the service goes on as if nothing were; where nobody wants any, nothing of them is loaded. */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { type Service, startService } from '../service.js';
import { TraceCollector } from '../traceCollector.js';

const line = z.looseObject({ msg: z.string(), level: z.int(), reason: z.string().optional() });
const linesOf = (service: Service, text: string) =>
  service.log
    .split('\n')
    .filter((each) => each.includes(text))
    .map((each) => line.parse(JSON.parse(each)));
const CANNOT = 'traces cannot be sent';
const WARN = 40;

/** Waits for what the service writes to its log. */
async function logged(service: Service, text: string): Promise<void> {
  while (!service.log.includes(text)) await new Promise((resolve) => setTimeout(resolve, 20));
}

async function createMany(service: Service, prefix: string): Promise<void> {
  const acme = service.tenant('acme');
  for (let number = 0; number < 30; number++) {
    const answer = await acme.postRecord('dyn_item', { external_id: `${prefix}${number}`, name: 'Tea' });
    expect(answer.status).toBe(201);
  }
}

describe('whoever takes the traces', () => {
  let collector: TraceCollector;
  let service: Service;
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

  it('hangs: requests are answered, what does not fit is dropped, and both are told once; then it goes on', async () => {
    collector.manner = 'hangs';
    await start({
      OTEL_EXPORTER_OTLP_TIMEOUT: '300',
      OTEL_BSP_MAX_QUEUE_SIZE: '20',
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '10',
    });
    await createMany(service, 'A');
    await logged(service, CANNOT);
    await createMany(service, 'B');
    await logged(service, 'spans because maxQueueSize');
    expect(collector.calls).toBeGreaterThan(1);
    expect(collector.spans).toEqual([]);
    collector.manner = 'takes';
    await createMany(service, 'C');
    await logged(service, 'traces are sent again');
    expect(collector.spans).not.toEqual([]);
    expect(linesOf(service, CANNOT)).toMatchObject([{ level: WARN, reason: expect.stringContaining('timed out') }]);
    expect(linesOf(service, 'spans because maxQueueSize')).toMatchObject([{ level: WARN }]);
    expect(service.loggedErrors).toEqual([]);
  });

  it('hangs: a stop waits for it no longer than two seconds', async () => {
    collector.manner = 'hangs';
    // Without a limit of its own, the stop would take as long as these say.
    await start({ OTEL_EXPORTER_OTLP_TIMEOUT: '900000', OTEL_BSP_EXPORT_TIMEOUT: '900000' });
    await createMany(service, 'A');
    expect(await service.stop()).toBe(0);
    expect(linesOf(service, CANNOT)).toMatchObject([{ reason: 'Not all were sent within 2 s.' }]);
  });

  it('is stopped with the service: what waits is sent before', async () => {
    await start({ OTEL_BSP_SCHEDULE_DELAY: '900000' });
    await createMany(service, 'A');
    expect(collector.spans).toEqual([]);
    expect(await service.stop()).toBe(0);
    expect(collector.spans.length).toBeGreaterThanOrEqual(30);
  });

  it('refuses them: told once, without its answer', async () => {
    collector.manner = 'refuses';
    await start();
    await createMany(service, 'A');
    await logged(service, CANNOT);
    const { calls } = collector;
    while (collector.calls < calls + 2) await createMany(service, `B${collector.calls}`);
    expect(linesOf(service, CANNOT)).toMatchObject([{ level: WARN, reason: 'Bad Request (400)' }]);
  });

  it('is asked for a part of the traces only, by the usual variables; a wrong one is told', async () => {
    await start({ OTEL_TRACES_SAMPLER: 'always_off' });
    await createMany(service, 'A');
    await service.stop();
    expect(collector.calls).toBe(0);
    await service.dispose();
    await start({ OTEL_TRACES_SAMPLER: 'sometimes' });
    await logged(service, 'OTEL_TRACES_SAMPLER value \\"sometimes\\" invalid');
  });
});

describe('OpenTelemetry', () => {
  /** Packages of it that each thread of a service has loaded from its start to its end. */
  async function loaded(env: { readonly [name: string]: string }): Promise<readonly string[]> {
    const service = await startService();
    try {
      await service.stop();
      const hook = join(service.dataDir, 'tellLoaded.cjs');
      await writeFile(hook, TELL_LOADED);
      const other = await startService({
        tenants: { acme: 'dyn_stock_order' },
        env: { ...env, NODE_OPTIONS: `--require ${hook}` },
      });
      await createMany(other, 'A');
      await other.dispose();
      const told = (await readdir(service.dataDir)).filter((name) => name.endsWith('.loaded'));
      // The main thread and the projector's are among them.
      expect(told.length).toBeGreaterThanOrEqual(2);
      const packages = await Promise.all(told.map((name) => readFile(join(service.dataDir, name), 'utf8')));
      return [...new Set(packages.flatMap((text) => text.split('\n')).filter((name) => name !== ''))].sort();
    } finally {
      await service.dispose();
    }
  }
  const TELL_LOADED = `
    const { writeFileSync } = require('node:fs');
    const { threadId } = require('node:worker_threads');
    process.on('exit', () => {
      const found = Object.keys(require.cache).map((path) => /node_modules.(@opentelemetry.[^/\\\\\\\\]+)/.exec(path)?.[1]);
      writeFileSync(__dirname + '/' + process.pid + '.' + threadId + '.loaded', [...new Set(found.filter(Boolean))].join('\\n'));
    });
  `;

  it('is not loaded where no traces are made, but for the interface that another package brings', async () => {
    // prom-client loads it, to look for a span of the caller's.
    expect(await loaded({})).toEqual(['@opentelemetry/api']);
  });

  it('is loaded where they are', async () => {
    const packages = await loaded({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' });
    expect(packages).toEqual(expect.arrayContaining(['@opentelemetry/api', '@opentelemetry/sdk-trace-base']));
  });
});
