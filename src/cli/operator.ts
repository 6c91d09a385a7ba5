/** What operators' commands work with, with or without a running service. Opens only what the command needs. */
import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { newId, now } from '../commands/clock.js';
import { type Caller, NotFoundError, TryLaterError } from '../commands/context.js';
import { tenantNow } from '../commands/identity/directoryWriter.js';
import type { WebhookCommands } from '../commands/webhooks/settings.js';
import { type Config, readConfig } from '../config.js';
import type { Tenant } from '../domain/identity/directory.js';
import type { EventStore } from '../ports/eventStore.js';
import type { ParkedTenant } from '../ports/rowStore.js';
import { Directory } from '../projections/directory/directory.js';
import { prepareDataDirectory } from '../service/dataDirectory.js';
import { storedDirectory } from '../service/engines.js';
import { operatorsBox } from '../service/keys.js';
import { openOwnLog } from '../service/ownLog.js';
import { CliError, UsageError } from './errors.js';

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

export type Tools = {
  readonly config: Config;
  readonly eventStore: EventStore;
  readonly commands: WebhookCommands;
  /** All tenants by name, from the stored directory on. Parked ones are as they were before the failing event. */
  readonly tenants: () => Promise<{ readonly all: readonly Tenant[]; readonly parked: readonly ParkedTenant[] }>;
};

/**
 * Runs `work` with the event log, which must be there: a command at a wrong place would make an empty one.
 * @throws CliError that names the place, ConfigError; errors of the work
 */
export async function withLog<T>(work: (tools: Tools) => Promise<T>): Promise<T> {
  const config = readConfig(process.env);
  refuseMissingLog(config);
  return withFirstLog(work, config);
}

/** The same; makes the log if there is none. */
export async function withFirstLog<T>(
  work: (tools: Tools) => Promise<T>,
  config: Config = readConfig(process.env),
): Promise<T> {
  await prepareDataDirectory(config);
  const eventStore = await openOwnLog(config);
  try {
    const secretBox = await operatorsBox(config, { eventStore });
    // This process keeps no directory, so nothing has to wait for it.
    const commands = { eventStore, directory: { waitFor: async () => undefined }, now, newId, secretBox };
    return await work({ config, eventStore, commands, tenants: () => allTenants(eventStore, config) });
  } finally {
    await eventStore.close();
  }
}

/** The same for a tenant that must exist; it may be parked. @throws UsageError */
export const withTenant = <T>(name: string, work: (tools: Tools) => Promise<T>): Promise<T> =>
  withLog(async (tools) => {
    await requireTenant(tools, name);
    return work(tools);
  });

/** @throws UsageError */
export const requireTenant = async ({ eventStore }: Tools, name: string): Promise<void> => {
  await tenantNow({ eventStore }, name).catch((error: unknown) => {
    if (error instanceof NotFoundError) throw new UsageError(error.message);
    // It is parked.
    if (!(error instanceof TryLaterError)) throw error;
  });
};

/** @throws CliError */
export function refuseMissingLog({ DATA_DIR, EVENTSTORE_URL }: Config): void {
  if (EVENTSTORE_URL !== undefined || existsSync(join(DATA_DIR, 'events.db'))) return;
  throw new CliError(
    `There is no event log in ${DATA_DIR}. Set DATA_DIR to the directory of the service; "dynamic-assets start" and "dynamic-assets tenant create" make one.`,
  );
}

async function allTenants(eventStore: EventStore, config: Config) {
  // If the log cannot be reached, the command fails by itself. The store is optional.
  const ignored = (): void => undefined;
  const directory = await Directory.start(eventStore, ignored, ignored, storedDirectory(config));
  const all = [...directory.tenants()].sort((a, b) => (a.name < b.name ? -1 : 1));
  const parked = directory.parked();
  await directory.stop();
  return { all, parked };
}
