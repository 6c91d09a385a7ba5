/** The command `start`. */
import { once } from 'node:events';
import { InvalidArgumentError } from 'commander';
import { destination, type Logger, pino, stdTimeFunctions } from 'pino';
import type { OpenedTenant } from '../commands/identity/tenants.js';
import { type Config, commaSeparated, ROLES, type Role, readConfig } from '../config.js';
import type { RunningService } from '../main.js';
import { retry } from '../supervision/keepRunning.js';
import { command, flag, parsed, printLines } from './command.js';
import { DEMO_TENANT, openDemoTenant } from './demo.js';

export const start = command({
  name: 'start',
  about: 'Start the service. SIGINT or SIGTERM stops it after the requests in flight.',
  example: 'PORT=8080 DATA_DIR=/var/lib/dynamic-assets dynamic-assets start',
  options: {
    role: parsed('<list>', `roles of this process, separated by commas: ${ROLES.join(', ')} (default: all)`, rolesIn),
    acceptLog: flag(
      'accept a different event log than before: rows are made from it, and its open webhook deliveries are sent',
    ),
    demo: flag(
      `make a tenant "${DEMO_TENANT}" with sample data if the embedded event log is empty, and print its credentials`,
    ),
  },
  notes: '\nSettings are environment variables: see "dynamic-assets config".\n',
  async run({ role: roles = new Set(ROLES), acceptLog, demo: isDemo }) {
    const config = readConfig(process.env);
    const log = pino(
      { level: config.LOG_LEVEL, timestamp: stdTimeFunctions.isoTime },
      destination({ dest: 2, sync: true }),
    );
    // Loaded only here, so that other commands start fast.
    const { startService } = await import('../main.js');
    // A bare localhost means the sample tenant if it exists; otherwise such requests stay 404.
    const settings = { ...config, DEFAULT_TENANT: config.DEFAULT_TENANT ?? DEMO_TENANT };
    let service = await startService(settings, log, roles, acceptLog);
    const signal = nextSignal();
    const address = shownAddress(service.address);
    const demo = isDemo ? await openDemoTenantOnce(service, config) : undefined;
    printLines(`Listening on ${address}`);
    if (demo !== undefined) printLines(...welcome(address, demo));
    else if (service.directory.isEmpty && roles.has('api')) printLines(NO_TENANT);
    const samePort = { ...settings, PORT: Number(new URL(service.address).port || config.PORT) };
    // Nothing of the former log is left in memory. The engine may still be coming back.
    while ((await Promise.race([signal, service.replaced])) === undefined) {
      await service.stop().catch((err: unknown) => log.warn({ err }, 'not all of the service could be closed'));
      const begin = () => startService(samePort, log, roles);
      const starting = retry(begin, { until: Date.now() + RESTART_MS, backoff: BACKOFF, isTransient: () => true });
      const next = await Promise.race([signal, starting]);
      if (typeof next === 'string') process.exit(0);
      service = next;
    }
    log.info({ signal: await signal }, 'stopping: requests in flight are finished first');
    await stopOrGiveUp(service, log);
  },
});

const BACKOFF = { firstMs: 500, longestMs: 10_000 };
const RESTART_MS = 600_000;

function rolesIn(given: string): ReadonlySet<Role> {
  const names = commaSeparated(given);
  const roles = ROLES.filter((role) => names.includes(role));
  if (names.length === 0 || names.some((name) => !roles.some((role) => role === name)))
    throw new InvalidArgumentError(`It must be one or more of ${ROLES.join(', ')}.`);
  return new Set(roles);
}

const NO_TENANT =
  'There is no tenant yet. Make one with "dynamic-assets tenant create <name> --order-model dyn_stock_order".';

/** Only on an empty embedded event log: a shared engine must not get sample data. */
const openDemoTenantOnce = async (service: RunningService, config: Config): Promise<OpenedTenant | undefined> =>
  service.directory.isEmpty && config.EVENTSTORE_URL === undefined ? openDemoTenant(service.commands) : undefined;

/** Replaces this machine's addresses by a name that works in a browser. */
function shownAddress(address: string): string {
  const url = new URL(address);
  if (['127.0.0.1', '0.0.0.0', '[::1]', '[::]'].includes(url.hostname)) url.hostname = 'localhost';
  return url.origin;
}

/** The first of SIGINT and SIGTERM from now on. */
async function nextSignal(): Promise<NodeJS.Signals> {
  const [signal] = await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  return signal;
}

/** A second signal exits at once. The log is durable, so no acknowledged write is lost. */
async function stopOrGiveUp(service: RunningService, log: Logger): Promise<void> {
  const secondSignal = nextSignal().then(() => {
    log.info('stopped at once');
    process.exit(1);
  });
  await Promise.race([service.stop(), secondSignal]);
  process.exit(0);
}

/** New credentials, and where to go with them. */
function welcome(address: string, { admin, client }: OpenedTenant): string[] {
  return [
    '',
    `The data directory was empty, so a tenant "${DEMO_TENANT}" with sample data was made:`,
    '20 items, 5 customers, 3 orders. These credentials are shown only now:',
    '',
    `  admin e-mail   ${admin.email}`,
    `  admin password ${admin.password}`,
    `  client id      ${client.client_id}`,
    `  client secret  ${client.client_secret}`,
    '',
    `Sign in as the admin at ${address}/console to see the orders.`,
    `Guides, from the first token on, and the API reference: ${address}/docs (for programs: ${address}/openapi.json)`,
  ];
}
