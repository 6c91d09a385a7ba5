/** What commands work with that an operator runs, beside a running service or without one. Loads no more of the service than it needs. */
import { userInfo } from 'node:os';
import { damageOf, isDamage } from '../adapters/damagedFiles.js';
import { namingDamage } from '../adapters/readmodels/sqlite/damage.js';
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
import type { Parked } from '../ports/readModels.js';
import type { ReadModels } from '../ports/readSide.js';
import { logOf } from '../projector/lanes.js';
import { ofTenant } from '../reading/laneReadModels.js';
import type { VerifyDeps } from '../rebuild/verify.js';
import { prepareDataDirectory } from '../service/dataDirectory.js';
import { openReadModelWriter, openStoredDirectory } from '../service/engines.js';
import { openOwnLog } from '../service/ownLog.js';
import { ownLanes, readModelFile } from '../service/readModelFiles.js';
import { openReadSide } from '../service/readSide.js';
import { createSecretBox, installationKeys } from '../service/secretBox.js';
import { addressPolicy, createTargetCheck } from '../webhooks/targetAddress.js';
import { UnknownNameError } from './errors.js';

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

export type OperatorTools = {
  readonly commands: WebhookCommands;
  readonly checkTarget: CheckTarget;
};

/**
 * For one tenant, its clients, users and webhooks: opens the event log for the time of `work`, which reads no more of it
 * than the streams of that tenant. @throws ConfigError, and what the work throws
 */
export function withCommands<T>(
  work: (tools: OperatorTools) => Promise<T>,
  config: Config = readConfig(process.env),
): Promise<T> {
  return withEventStore(config, async (eventStore) => work(await toolsOn(eventStore, config)));
}

/** As `withCommands`, for a tenant that must exist, though it may be parked. @throws UnknownNameError, ConfigError, and what the work throws */
export function withTenant<T>(tenant: string, work: (tools: OperatorTools) => Promise<T>): Promise<T> {
  const config = readConfig(process.env);
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
    throw new UnknownNameError(`tenant ${tenant}`, likely, 'Make one with "dynamic-assets tenant create".');
  }
}

/**
 * For what is about all tenants, who are given by their names' order; those that are parked as they were before that.
 * @throws ConfigError, and what the work throws
 */
export function withTenants<T>(
  work: (tenants: readonly Tenant[], tools: OperatorTools, parked: readonly Parked[]) => Promise<T>,
  config: Config = readConfig(process.env),
): Promise<T> {
  return withEventStore(config, async (eventStore) => {
    const { tenants, parked } = await allTenants(eventStore, config);
    return work(tenants, await toolsOn(eventStore, config), parked);
  });
}

/** Reads on from where the directory was stored, by the service or by an earlier call. */
async function allTenants(eventStore: EventStore, config: Config) {
  // The command that needs the directory fails by itself when the log cannot be reached, and needs no store.
  const onError = (): void => undefined;
  const directory = await Directory.start(eventStore, onError, { store: openStoredDirectory(config), onError });
  const tenants = [...directory.tenants()].sort((a, b) => (a.name < b.name ? -1 : 1));
  const parked = directory.parked();
  await directory.stop();
  return { tenants, parked };
}

async function toolsOn(eventStore: EventStore, config: Config): Promise<OperatorTools> {
  const secretBox = createSecretBox(...(await installationKeys(config)));
  // This process keeps no directory that would have to hear of what it writes.
  const directory = { waitFor: async () => undefined };
  return {
    commands: { eventStore, directory, now, newId, secretBox },
    checkTarget: createTargetCheck(addressPolicy(config.WEBHOOK_ALLOWED_NETWORKS, config.WEBHOOK_ALLOWED_PORTS)),
  };
}

export type ProjectionTools = Pick<VerifyDeps, 'eventStore'> & {
  /** One or several, each with the tenants that are projected there. */
  readonly lanes: readonly VerifyDeps[];
  /** The tenant's; all of them without one. */
  readonly lanesOf: (tenant: string | undefined) => readonly VerifyDeps[];
  /** A tenant that must exist. @throws UnknownNameError */
  readonly tenant: (name: string) => Promise<Tenant>;
};

/** For the read models: opens them and the event log for the time of `work`. @throws ConfigError, and what the work throws */
export function withProjections<T>(work: (tools: ProjectionTools) => Promise<T>): Promise<T> {
  const config = readConfig(process.env);
  return withEventStore(config, async (eventStore) => {
    const lanes: VerifyDeps[] = [];
    try {
      for (const lane of await ownLanes(config)) {
        const writer = await openReadModelWriter(config, undefined, lane);
        lanes.push({ eventStore: logOf(lane, eventStore), writer, deliveryLogDays: config.DELIVERY_LOG_DAYS });
      }
      return await work({
        eventStore,
        lanes,
        lanesOf: (name) => (name === undefined ? lanes : [ofTenant(lanes, name)]),
        tenant: (name) => mustExist(eventStore, config, name),
      });
    } catch (error) {
      throw config.MONGODB_URL === undefined ? await namingFile(error, config) : error;
    } finally {
      for (const { writer } of lanes) await writer.close();
    }
  });
}

/**
 * For what a tenant's read models show, of one that must exist: opens them and the event log for the time of `work`.
 * @throws UnknownNameError, ConfigError, and what the work throws
 */
export function withReadModels<T>(
  tenant: string,
  work: (tools: { readonly eventStore: EventStore; readonly readModels: ReadModels }) => Promise<T>,
): Promise<T> {
  const config = readConfig(process.env);
  return withEventStore(config, async (eventStore) => {
    await mustExist(eventStore, config, tenant);
    // One reader is enough for one question.
    const { readModels } = await openReadSide({ ...config, READER_THREADS: 1 }, eventStore);
    return work({ eventStore, readModels }).finally(() => readModels.close());
  });
}

/** Damage of embedded read models, with the file that it is in. */
async function namingFile(error: unknown, config: Config): Promise<unknown> {
  if (!isDamage(error) && !(error instanceof Error && isDamage(error.cause))) return error;
  const files = (await ownLanes(config)).map((lane) => readModelFile(config, lane));
  const file = files.find((each) => damageOf(each, { isWhole: true }) !== undefined);
  return file === undefined ? error : namingDamage(file, isDamage(error) ? error : (error as Error).cause);
}

async function withEventStore<T>(config: Config, work: (eventStore: EventStore) => Promise<T>): Promise<T> {
  await prepareDataDirectory(config);
  const eventStore = await openOwnLog(config, { acceptLog: false });
  try {
    return await work(eventStore);
  } finally {
    await eventStore.close();
  }
}
