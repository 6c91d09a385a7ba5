/**
 * The whole story over HTTP: 170,000 places are synchronised, orders come in, one is exported by a signed webhook, and its
 * history is read.
 *
 *   npm run demo -- --locations 20000 --orders 500 --data-dir data
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { ApiClient } from './apiClient.js';
import { makePlaces, syncLocations } from './locations.js';
import { runOrders } from './orders.js';
import { WebhookReceiver } from './receiver.js';

const CLI = fileURLToPath(new URL('../../dist/bundle/index.js', import.meta.url));
const LISTENING = /^Listening on http:\/\/[^:/]+:(\d+)$/;
const TRANSPORT = 'freight';
const STOCK = 'shop';

const { values } = parseArgs({
  options: {
    locations: { type: 'string', default: '170000' },
    orders: { type: 'string', default: '3000' },
    'data-dir': { type: 'string' },
  },
});

function wholeNumber(option) {
  if (/^[1-9]\d{0,6}$/.test(values[option])) return Number(values[option]);
  process.stderr.write(`--${option} must be a whole number from 1 to 9999999.\n`);
  process.exit(2);
}

const options = { locations: wholeNumber('locations'), orders: wholeNumber('orders'), dataDir: values['data-dir'] };
try {
  await demo(options);
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

async function demo({ locations, orders, dataDir: kept }) {
  const places = makePlaces(locations);
  const interrupted = interruption();
  // It may reject before anything awaits it.
  interrupted.catch(() => undefined);
  const temporary = await mkdtemp(join(tmpdir(), 'dynamic-assets-demo-'));
  try {
    const dataDir = kept === undefined ? join(temporary, 'data') : resolve(kept);
    const tenants = await createTenants(dataDir);
    const receiver = await WebhookReceiver.start();
    try {
      const caFile = join(temporary, 'receiver.pem');
      await writeFile(caFile, receiver.certificate);
      const service = await startService({
        DATA_DIR: dataDir,
        LOG_LEVEL: process.env.LOG_LEVEL ?? 'warn',
        // The clients below do not renew their tokens.
        TOKEN_TTL_SECONDS: '86400',
        WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
        WEBHOOK_CA_FILE: caFile,
      });
      try {
        console.log(`The service runs at ${service.origin}. Transport tenant "${TRANSPORT}":`);
        await Promise.race([interrupted, runStory({ tenants, origin: service.origin, receiver, places, orders })]);
      } finally {
        await service.stop();
      }
    } finally {
      await receiver.stop();
    }
    if (kept !== undefined) console.log(`\nThe data is in ${dataDir}.`);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** Rejects on Ctrl-C, so that everything that was started is stopped. */
async function interruption() {
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  throw new Error('Interrupted; everything is cleaned up.');
}

/** Runs a command of the operator's. @returns the JSON that it prints */
async function command(dataDir, ...args) {
  const env = { ...process.env, DATA_DIR: dataDir };
  const { stdout } = await promisify(execFile)(process.execPath, [CLI, ...args, '--json'], { env });
  return JSON.parse(stdout);
}

/** As an operator would, before the service starts. @throws Error if the directory has a log */
async function createTenants(dataDir) {
  if (existsSync(join(dataDir, 'events.db'))) {
    throw new Error(`There are tenants in ${dataDir} already: the demo needs an empty data directory.`);
  }
  return {
    transport: await command(dataDir, 'tenant', 'create', TRANSPORT, '--order-model', 'dyn_transport_order'),
    stock: await command(dataDir, 'tenant', 'create', STOCK, '--order-model', 'dyn_stock_order'),
  };
}

/** Starts the service on a free port. Resolves when it listens. @throws Error if it ends before */
async function startService(settings) {
  const child = spawn(process.execPath, [CLI, 'start'], {
    env: { ...process.env, ...settings, HOST: '127.0.0.1', PORT: '0', TRUST_PROXY: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const stop = async () => {
    child.kill('SIGTERM');
    await exited;
  };
  // Later output is read as well, so that the service never waits for a full pipe.
  const lines = createInterface({ input: child.stdout });
  const port = new Promise((found) => {
    lines.on('line', (line) => LISTENING.test(line) && found(LISTENING.exec(line)[1]));
  });
  const ended = exited.then(() => {
    throw new Error('The service ended before it listened; its log is above.');
  });
  return { origin: `http://127.0.0.1:${await Promise.race([port, ended])}`, stop };
}

async function runStory({ tenants: { transport, stock }, origin, receiver, places, orders }) {
  const started = performance.now();
  const freight = new ApiClient(origin, TRANSPORT);
  await freight.useClientCredentials(transport.client);
  await syncLocations(freight, places);

  console.log(`\nStock tenant "${STOCK}":`);
  const [api, platform] = [new ApiClient(origin, STOCK), new ApiClient(origin, STOCK)];
  await api.useClientCredentials(stock.client);
  await platform.signIn(stock.admin.email, stock.admin.password);
  await runOrders({ api, platform, receiver }, orders);
  console.log(`\nDone in ${((performance.now() - started) / 1000).toFixed(1)} s.`);
}
