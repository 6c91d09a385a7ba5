/** When traces are made at all, and what is loaded for them. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startService } from '../acceptance/service.js';
import { TraceCollector } from '../acceptance/traceCollector.js';

/** Run by each thread of a service as its first: it writes down, in the end, which packages of OpenTelemetry it has. */
const TELL_LOADED = `
const { writeFileSync } = require('node:fs');
const { sep } = require('node:path');
const { threadId } = require('node:worker_threads');
process.on('exit', () => {
  const packages = Object.keys(require.cache).flatMap((path) => {
    const [scope, name] = path.split('node_modules' + sep).at(-1).split(sep);
    return scope === '@opentelemetry' ? [scope + '/' + name] : [];
  });
  writeFileSync(__dirname + sep + process.pid + '-' + threadId + '.json', JSON.stringify(packages));
});
`;

/** Packages of OpenTelemetry that a service has loaded when it has done something, and how many threads told. */
async function loaded(env: { readonly [name: string]: string }) {
  const directory = await mkdtemp(join(tmpdir(), 'loaded-'));
  try {
    const hook = join(directory, 'tellLoaded.cjs');
    await writeFile(hook, TELL_LOADED);
    const service = await startService({
      tenants: { acme: 'dyn_stock_order' },
      env: { ...env, NODE_OPTIONS: `--require ${hook}` },
    });
    await service.tenant('acme').create('dyn_item', { external_id: 'A', name: 'Tea' });
    const { pid } = service;
    await service.dispose();
    // The command line that made the tenant tells as well.
    const told = (await readdir(directory)).filter((name) => name.startsWith(`${pid}-`));
    const packages = await Promise.all(
      told.map(async (name) => JSON.parse(await readFile(join(directory, name), 'utf8'))),
    );
    return { threads: told.length, packages: [...new Set(packages.flat())].sort() };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

it('nothing of OpenTelemetry is loaded where no traces are made, but the interface that another package brings', async () => {
  const { threads, packages } = await loaded({});
  // The main thread and the projector's, at least.
  expect(threads).toBeGreaterThanOrEqual(2);
  // prom-client loads it, to look for a span of the caller's.
  expect(packages).toEqual(['@opentelemetry/api']);
});

it('the SDK is loaded where they are', async () => {
  const { packages } = await loaded({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' });
  expect(packages).toEqual(expect.arrayContaining(['@opentelemetry/api', '@opentelemetry/sdk-trace-base']));
});

describe('the usual variables say which traces are kept', () => {
  let collector: TraceCollector;
  beforeAll(async () => {
    collector = await TraceCollector.start();
  });
  afterAll(() => collector.stop());

  it('none, with always_off: nothing is sent', async () => {
    const env = { ...collector.env, OTEL_TRACES_SAMPLER: 'always_off' };
    const service = await startService({ tenants: { acme: 'dyn_stock_order' }, env });
    await service.tenant('acme').create('dyn_item', { external_id: 'A', name: 'Tea' });
    await service.dispose();
    expect(collector.calls).toBe(0);
  });

  it('a value that is none is told, and all are kept', async () => {
    const service = await startService({ env: { ...collector.env, OTEL_TRACES_SAMPLER: 'sometimes' } });
    await service.send({ method: 'GET', path: '/openapi.json' });
    await service.dispose();
    expect(service.log).toContain('OTEL_TRACES_SAMPLER value \\"sometimes\\" invalid');
    expect(collector.calls).toBeGreaterThan(0);
  });

  it('an endpoint that is no URL stops the start', async () => {
    const start = startService({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' } });
    await expect(start).rejects.toThrow(/OTEL_EXPORTER_OTLP_ENDPOINT must be a URL such as/);
  });
});
