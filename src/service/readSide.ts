/** The read models as the service reads them, behind a barrier. */
import type { TenantDirectory } from '../commands/context.js';
import { type Config, ROLES, type Role } from '../config.js';
import type { EventStore } from '../ports/eventStore.js';
import { interceptReads, type Read, type ReadMethod, type Reads } from '../ports/readSide.js';
import { type Lane, logOf, ONLY_LANE } from '../projector/lanes.js';
import { withoutErased } from '../reading/erasedReads.js';
import { LogEnd } from '../reading/logEnd.js';
import { OthersWrites } from '../reading/othersWrites.js';
import { ORDERS, waitScopeOf } from '../reading/pendingWrites.js';
import { ReadBarrier, type WaitRule } from '../reading/readBarrier.js';
import { ReadGate } from '../reading/readGate.js';
import { ALL_ARE_SHOWN, type ReadSide, readLanes } from '../reading/readLanes.js';
import { type EngineConfig, openReadModels, settledLanes } from './engines.js';

type ReadSideConfig = EngineConfig & Pick<Config, 'PROJECTION_LANES' | 'READ_MAX_STALENESS_SECONDS' | 'WRITE_WAIT_MS'>;

/**
 * Whether no other process projects, or reads what this one answers. Only with embedded engines: a log on a server may hang,
 * and reads would wait with it. `directoryUse.ts` keeps other processes out.
 */
export const isAlone = (settings: Pick<Config, 'EVENTSTORE_URL' | 'MONGODB_URL'>, roles: ReadonlySet<Role>): boolean =>
  settings.EVENTSTORE_URL === undefined && settings.MONGODB_URL === undefined && roles.size === ROLES.length;

/**
 * A process that is alone answers writes before they are shown, and lets reads wait for them. On a log that machines share,
 * reads of its own read models wait for the writes of others.
 */
export function readsWait(
  settings: Pick<Config, 'EVENTSTORE_URL' | 'MONGODB_URL' | 'WRITE_WAIT_MS'>,
  roles: ReadonlySet<Role>,
  directory: () => Pick<TenantDirectory, 'tenant'>,
): ReadSideOptions {
  const scopeOf = (tenant: string, table: string): string => {
    const assetType = directory().tenant(tenant)?.assetTypes.get(table);
    return assetType === undefined ? ORDERS : waitScopeOf(assetType);
  };
  const rule = { longestReadMs: settings.WRITE_WAIT_MS, scopeOf };
  const { EVENTSTORE_URL: server, MONGODB_URL: shared } = settings;
  if (isAlone(settings, roles)) return { early: rule };
  return server === undefined || shared !== undefined || !roles.has('api') ? {} : { ofOthers: rule };
}

/** Set where other machines can write to the log. */
export const openLogEnd = (
  { EVENTSTORE_URL: server }: Pick<Config, 'EVENTSTORE_URL'>,
  eventStore: EventStore,
  directory: Pick<TenantDirectory, 'waitFor'>,
  othersWrites: OthersWrites | undefined,
): LogEnd | undefined =>
  server === undefined
    ? undefined
    : new LogEnd(eventStore, othersWrites === undefined ? [directory] : [directory, othersWrites]);

export type ReadSideOptions = {
  readonly early?: WaitRule;
  readonly ofOthers?: WaitRule;
  /** Called when following the log for the writes of others is interrupted; it goes on by itself. */
  readonly onInterruption?: (error: unknown) => void;
  /** Called with each list that takes long, and how its rows were found. */
  readonly onSlowList?: (list: object) => void;
};

/** While MongoDB is away, the number of its lanes is unknown: each read then asks for it again. */
export async function openReadSide(
  config: ReadSideConfig,
  eventStore: EventStore,
  options: ReadSideOptions = {},
): Promise<ReadSide> {
  if (config.MONGODB_URL === undefined) return openLane(ONLY_LANE, config, eventStore, options);
  let opening: Promise<ReadSide> | undefined;
  let opened: ReadSide | undefined;
  const known = (): Promise<ReadSide> => {
    opening ??= openLanes(config, eventStore, options).then(
      (side) => {
        opened = side;
        return side;
      },
      (error: unknown) => {
        opening = undefined;
        throw error;
      },
    );
    return opening;
  };
  const close = async (): Promise<void> => {
    const side = await opening?.catch(() => undefined);
    await side?.readModels.close();
  };
  const reads = interceptReads(
    <Method extends ReadMethod>(method: Method): Read<Method> =>
      async (...args) => {
        const { readModels }: { readonly readModels: Reads } = await known();
        return readModels[method](...args);
      },
  );
  return {
    readModels: { ...reads, close },
    lanes: async () => (await known()).lanes(),
    barrier: {
      ...ALL_ARE_SHOWN,
      staleness: (tenant) => opened?.barrier.staleness(tenant) ?? 0,
      withheld: async () => (await known()).barrier.withheld(),
      behind: async () => (await known()).barrier.behind(),
    },
  };
}

async function openLanes(config: ReadSideConfig, eventStore: EventStore, options: ReadSideOptions): Promise<ReadSide> {
  const opened: ReadSide[] = [];
  try {
    for (const lane of await settledLanes(config)) opened.push(await openLane(lane, config, eventStore, options));
  } catch (error) {
    for (const { readModels } of opened) await readModels.close();
    throw error;
  }
  return readLanes(opened);
}

async function openLane(
  lane: Lane,
  config: ReadSideConfig,
  eventStore: EventStore,
  { early, ofOthers, onSlowList, onInterruption = () => undefined }: ReadSideOptions,
): Promise<ReadSide> {
  const models = await openReadModels(config, lane, onSlowList);
  const gate = new ReadGate(logOf(lane, eventStore), models, config.READ_MAX_STALENESS_SECONDS);
  const others =
    ofOthers &&
    new OthersWrites(
      { checkpoint: (name) => models.checkpoint(name), ...gate.waitsOf(models) },
      ofOthers.longestReadMs,
    );
  const barrier = new ReadBarrier(gate, ofOthers ?? early, others);
  const close = async (): Promise<void> => {
    await others?.stop();
    await models.close();
  };
  try {
    await others?.follow(eventStore, onInterruption);
  } catch (error) {
    await close();
    throw error;
  }
  const readModels = { ...withoutErased(barrier.guard(models), eventStore), close };
  return { readModels, barrier, lanes: async () => [readModels] };
}
