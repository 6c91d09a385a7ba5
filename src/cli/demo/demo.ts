/** The whole story over HTTP, on real data: the service, its clients and a receiver of webhooks. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type Config, readConfig } from '../../config.js';
import { CliError } from '../errors.js';
import { operator, withTenants } from '../operator.js';
import { printLines } from '../output.js';
import { nextSignal } from '../start/command.js';
import { type OpenedTenant, openTenant, placeholderEmail } from '../tenant.js';
import { ApiClient } from './apiClient.js';
import { type DemoLocation, loadPlaces, syncLocations } from './locations.js';
import { runOrders } from './orders.js';
import { WebhookReceiver } from './receiver.js';

export type DemoOptions = { readonly locations: number; readonly orders: number; readonly dataDir?: string };

const TRANSPORT = 'freight';
const STOCK = 'shop';

const ENTRY = fileURLToPath(new URL('../index.js', import.meta.url));
const LISTENING = /^Listening on http:\/\/[^:/]+:(\d+)$/;

export async function demo(options: DemoOptions): Promise<void> {
  const places = loadPlaces(options.locations);
  const interrupted = interruption();
  // It may be rejected before anything awaits it.
  interrupted.catch(() => undefined);
  const temporary = await mkdtemp(join(tmpdir(), 'dynamic-assets-demo-'));
  try {
    const dataDir = options.dataDir ?? join(temporary, 'data');
    const config = readConfig({ ...process.env, DATA_DIR: dataDir });
    const tenants = await openTenants(config);
    const receiver = await WebhookReceiver.start();
    try {
      const caFile = join(temporary, 'receiver.pem');
      await writeFile(caFile, receiver.certificate);
      const service = await startServiceProcess({
        DATA_DIR: config.DATA_DIR,
        LOG_LEVEL: process.env.LOG_LEVEL ?? 'warn',
        // Longer than the story takes: its clients do not renew their tokens.
        TOKEN_TTL_SECONDS: '86400',
        WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
        WEBHOOK_CA_FILE: caFile,
      });
      try {
        const client = (tenant: string) => new ApiClient(service.origin, `${tenant}.${config.BASE_HOST}`);
        printLines(`The service runs at ${service.origin}. Transport tenant "${TRANSPORT}":`);
        const story = { tenants, client, receiver, places, orders: options.orders };
        await Promise.race([interrupted, runStory(story)]);
      } finally {
        await service.stop();
      }
    } finally {
      await receiver.stop();
    }
    if (options.dataDir !== undefined) printLines('', `The data is in ${config.DATA_DIR}.`);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** Rejects on Ctrl-C, so that what was started is stopped and cleaned up. */
async function interruption(): Promise<never> {
  await nextSignal();
  throw new CliError('Interrupted; everything is cleaned up.');
}

/**
 * Starts the service as a process of its own, as in real use, on a free port. Resolves when it listens.
 * @throws Error when it ends before
 */
async function startServiceProcess(environment: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [ENTRY, 'start'], {
    env: { ...process.env, ...environment, HOST: '127.0.0.1', PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await exited;
  };
  // What it prints later is read as well, so that it never waits for a full pipe.
  const lines = createInterface({ input: child.stdout });
  const port = new Promise<string | undefined>((resolve) => {
    lines.on('line', (line) => LISTENING.test(line) && resolve(LISTENING.exec(line)?.[1]));
  });
  const ended = exited.then(() => {
    throw new Error('The service ended before it listened; its log is above.');
  });
  return { origin: `http://127.0.0.1:${await Promise.race([port, ended])}`, stop };
}

type Tenants = { readonly transport: OpenedTenant; readonly stock: OpenedTenant };

/** Made before the service starts, as an operator would. @throws CliError on a directory that is in use */
const openTenants = (config: Config): Promise<Tenants> =>
  withTenants(async (tenants, { commands }) => {
    if (tenants.length > 0) {
      throw new CliError(`There are tenants in ${config.DATA_DIR} already: the demo needs an empty data directory.`);
    }
    const open = (name: string, orderModel: string): Promise<OpenedTenant> =>
      openTenant(commands, operator(name), { orderModel, displayName: name, adminEmail: placeholderEmail(name) });
    return {
      transport: await open(TRANSPORT, 'dyn_transport_order'),
      stock: await open(STOCK, 'dyn_stock_order'),
    };
  }, config);

type Story = {
  readonly tenants: Tenants;
  readonly client: (tenant: string) => ApiClient;
  readonly receiver: WebhookReceiver;
  readonly places: readonly DemoLocation[];
  /** How many. */
  readonly orders: number;
};

async function runStory({ tenants, client, receiver, places, orders }: Story): Promise<void> {
  const { transport, stock } = tenants;
  const [freight, shop, platform] = [client(TRANSPORT), client(STOCK), client(STOCK)];
  const started = performance.now();
  try {
    await freight.useClientCredentials(credentialsOf(transport));
    await syncLocations(freight, places);

    printLines('', `Stock tenant "${STOCK}":`);
    await shop.useClientCredentials(credentialsOf(stock));
    await platform.signIn(stock.admin.email, stock.admin.password);
    await runOrders({ api: shop, platform, receiver }, orders);
    printLines('', `Done in ${((performance.now() - started) / 1000).toFixed(1)} s.`);
  } finally {
    await Promise.all([freight.close(), shop.close(), platform.close()]);
  }
}

const credentialsOf = ({ client }: OpenedTenant) => ({
  clientId: client.client_id,
  clientSecret: client.client_secret,
});
