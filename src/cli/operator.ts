/** Tools for operators' commands, with or without a running service. Opens only what the command needs. */
import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { newId, now } from '../commands/clock.js';
import { type Caller, NotFoundError } from '../commands/context.js';
import { TenantParkedError, tenantNow } from '../commands/identity/directoryWriter.js';
import type { WebhookCommands } from '../commands/webhooks/secrets.js';
import type { CheckTarget } from '../commands/webhooks/settings.js';
import { type Config, readConfig } from '../config.js';
import { Directory } from '../directory/directory.js';
import { nearestFirst } from '../domain/editDistance.js';
import type { Tenant } from '../domain/identity/directory.js';
import type { EventStore } from '../ports/eventStore.js';
import type { ParkedTenant } from '../ports/progress.js';
import { openQueries, type Queries } from '../queries/queries.js';
import { prepareDataDirectory } from '../service/dataDirectory.js';
import { openRowReads, openStoredDirectory } from '../service/engines.js';
import { openOwnLog } from '../service/ownLog.js';
import { operatorsBox } from '../service/signingKeys.js';
import { addressPolicy, createTargetCheck } from '../webhooks/targetAddress.js';
import { CliError, UnknownNameError } from './errors.js';
import { rowsNow } from './rowsNow.js';

/** The operator as the log records them. */
export function operator(tenant: string): Caller {
  const id = newId();
  return { tenant, actor: { kind: 'operator', id: userName() }, correlationId: id, causationId: id };
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // The user id is not in the system's user database, as in some containers.
    return 'operator';
  }
}

export type OperatorTools = {
  readonly commands: WebhookCommands;
  readonly checkTarget: CheckTarget;
};

/**
 * Runs `work` with an open event log. For one tenant with its clients, users and webhooks: reads only the tenant's
 * streams. @throws ConfigError; errors of the work
 */
export function withCommands<T>(
  work: (tools: OperatorTools) => Promise<T>,
  config: Config = readConfig(process.env),
): Promise<T> {
  refuseMissingLog(config);
  return withEventStore(config, async (eventStore) => work(await toolsOn(eventStore, config)));
}

/** `withCommands` for a command that has checked the place already. */
export const withToolsOn = <T>(config: Config, work: (tools: OperatorTools) => Promise<T>): Promise<T> =>
  withEventStore(config, async (eventStore) => work(await toolsOn(eventStore, config)));

/** The same; makes the data directory if there is none. */
export function withFirstCommands<T>(work: (tools: OperatorTools) => Promise<T>): Promise<T> {
  const config = readConfig(process.env);
  return withEventStore(config, async (eventStore) => work(await toolsOn(eventStore, config)));
}

/** A command at a wrong place would make an empty log there. @throws CliError that names the place */
export function refuseMissingLog({ DATA_DIR, EVENTSTORE_URL }: Config): void {
  if (EVENTSTORE_URL !== undefined || existsSync(join(DATA_DIR, 'events.db'))) return;
  throw new CliError(
    `There is no event log in ${DATA_DIR}. Set DATA_DIR to the directory of the service; "dynamic-assets start" and "dynamic-assets tenant create" make one.`,
  );
}

/**
 * `withCommands` for a tenant that must exist; it may be parked. @throws UnknownNameError, ConfigError; errors of the
 * work
 */
export function withTenant<T>(tenant: string, work: (tools: OperatorTools) => Promise<T>): Promise<T> {
  const config = readConfig(process.env);
  refuseMissingLog(config);
  return withEventStore(config, async (eventStore) => {
    await mustExist(eventStore, config, tenant).catch((error: unknown) => {
      if (!(error instanceof TenantParkedError)) throw error;
    });
    return work(await toolsOn(eventStore, config));
  });
}

/** @throws UnknownNameError */
async function mustExist(eventStore: EventStore, config: Config, tenant: string): Promise<Tenant> {
  try {
    return await tenantNow({ eventStore }, tenant);
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    const names = (await allTenants(eventStore, config)).tenants.map(({ name }) => name);
    const likely = nearestFirst(tenant, names);
    throw new UnknownNameError(
      `tenant ${tenant}`,
      likely,
      `${placeOf(config)} has none; make one with "dynamic-assets tenant create".`,
    );
  }
}

const placeOf = ({ DATA_DIR, EVENTSTORE_URL }: Config): string =>
  EVENTSTORE_URL === undefined ? DATA_DIR : 'The event log at EVENTSTORE_URL';

/**
 * Runs `work` for all tenants, sorted by name. Parked ones are as they were before the failing event.
 * @throws ConfigError; errors of the work
 */
export function withTenants<T>(
  work: (tenants: readonly Tenant[], tools: OperatorTools, parked: readonly ParkedTenant[]) => Promise<T>,
  config: Config = readConfig(process.env),
): Promise<T> {
  refuseMissingLog(config);
  return withEventStore(config, async (eventStore) => {
    const { tenants, parked } = await allTenants(eventStore, config);
    return work(tenants, await toolsOn(eventStore, config), parked);
  });
}

/** Continues from the stored directory of the service or an earlier command. */
async function allTenants(eventStore: EventStore, config: Config) {
  // If the log cannot be reached, the command fails by itself. The store is optional.
  const onError = (): void => undefined;
  const directory = await Directory.start(eventStore, onError, { store: openStoredDirectory(config), onError });
  const tenants = [...directory.tenants()].sort((a, b) => (a.name < b.name ? -1 : 1));
  const parked = directory.parked();
  await directory.stop();
  return { tenants, parked };
}

async function toolsOn(eventStore: EventStore, config: Config): Promise<OperatorTools> {
  const secretBox = await operatorsBox(config, { eventStore });
  // This process keeps no directory, so nothing has to wait for it.
  const directory = { waitFor: async () => undefined };
  return {
    commands: { eventStore, directory, now, newId, secretBox },
    checkTarget: createTargetCheck(addressPolicy(config.WEBHOOK_ALLOWED_NETWORKS, config.WEBHOOK_ALLOWED_PORTS)),
  };
}

export type ReadTools = { readonly eventStore: EventStore; readonly queries: Queries };

/**
 * Runs `work` with the rows of a tenant that must exist. They show the log as far as a service has followed it; standard error
 * says so where they lack something.
 * @throws UnknownNameError, ConfigError; errors of the work
 */
export function withReadModels<T>(tenant: string, work: (tools: ReadTools) => Promise<T>): Promise<T> {
  const config = readConfig(process.env);
  refuseMissingLog(config);
  return withEventStore(config, async (eventStore) => {
    await mustExist(eventStore, config, tenant);
    // One query needs only one reader.
    const rows = await openRowReads({ ...config, READER_THREADS: 1 });
    const onError = (): void => undefined;
    const directory = await Directory.start(eventStore, onError, { store: openStoredDirectory(config), onError });
    try {
      const { tenants } = await rowsNow(config, { eventStore, rows }, [tenant]);
      const since = tenants[0]?.lacksSince;
      if (since !== undefined) process.stderr.write(`The rows of ${tenant} lack what was written since ${since}.\n`);
      return await work({ eventStore, queries: openQueries({ rows, eventStore, tenants: directory }) });
    } finally {
      await directory.stop();
      await rows.close();
    }
  });
}

export async function withEventStore<T>(config: Config, work: (eventStore: EventStore) => Promise<T>): Promise<T> {
  await prepareDataDirectory(config);
  const eventStore = await openOwnLog(config, { acceptLog: false });
  try {
    return await work(eventStore);
  } finally {
    await eventStore.close();
  }
}
