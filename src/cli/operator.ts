/** What commands work with that an operator runs, beside a running service or without one. Loads no more of the service than it needs. */
import { userInfo } from 'node:os';
import { newId, now } from '../commands/clock.js';
import type { Caller, SecretBox, TenantDirectory } from '../commands/context.js';
import type { DirectoryCommands } from '../commands/identity/directoryWriter.js';
import type { CheckTarget } from '../commands/webhooks/settings.js';
import { type Config, readConfig } from '../config.js';
import type { Tenant } from '../domain/identity/directory.js';
import type { EventStore } from '../ports/eventStore.js';
import { Directory } from '../projections/directory.js';
import type { RebuildDeps } from '../projections/rebuild.js';
import { prepareDataDirectory } from '../service/dataDirectory.js';
import { openEventStore, openReadModelWriter } from '../service/engines.js';
import { createSecretBox, installationKeys } from '../service/secretBox.js';
import { addressPolicy, createTargetCheck } from '../webhooks/targetAddress.js';

/** The person at the command line, as the log remembers what they do. */
export function operator(tenant: string): Caller {
  const id = newId();
  return { tenant, actor: { kind: 'operator', id: userName() }, correlationId: id, causationId: id };
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A user id without an entry in the system's user database, as in some containers.
    return 'operator';
  }
}

export const tenantsByName = (directory: Pick<TenantDirectory, 'tenants'>): readonly Tenant[] =>
  [...directory.tenants()].sort((a, b) => (a.name < b.name ? -1 : 1));

export type DirectoryTools = {
  readonly commands: DirectoryCommands & { readonly secretBox: SecretBox };
  readonly directory: Directory;
  readonly checkTarget: CheckTarget;
};

/** For tenants, clients, users and webhooks: opens the event log for the time of `work`. @throws ConfigError, and what the work throws */
export function withDirectory<T>(
  work: (tools: DirectoryTools) => Promise<T>,
  config: Config = readConfig(process.env),
): Promise<T> {
  return withEventStore(config, async (eventStore) => {
    const directory = await Directory.start(eventStore, () => {
      // The command that needs the directory fails by itself when the log cannot be reached.
    });
    try {
      const secretBox = createSecretBox(...(await installationKeys(config)));
      return await work({
        commands: { eventStore, directory, now, newId, secretBox },
        directory,
        checkTarget: createTargetCheck(addressPolicy(config.WEBHOOK_ALLOWED_NETWORKS, config.WEBHOOK_ALLOWED_PORTS)),
      });
    } finally {
      await directory.stop();
    }
  });
}

/** For the read models: opens them and the event log for the time of `work`. @throws ConfigError, and what the work throws */
export function withProjections<T>(work: (tools: RebuildDeps) => Promise<T>): Promise<T> {
  const config = readConfig(process.env);
  return withEventStore(config, async (eventStore) => {
    const writer = await openReadModelWriter(config);
    try {
      return await work({ eventStore, writer });
    } finally {
      await writer.close();
    }
  });
}

async function withEventStore<T>(config: Config, work: (eventStore: EventStore) => Promise<T>): Promise<T> {
  await prepareDataDirectory(config);
  const eventStore = await openEventStore(config);
  try {
    return await work(eventStore);
  } finally {
    await eventStore.close();
  }
}
