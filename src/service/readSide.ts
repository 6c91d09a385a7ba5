/** The read models as the service reads them, behind a barrier. */
import { type Config, ROLES, type Role } from '../config.js';
import type { EventStore } from '../ports/eventStore.js';
import { interceptReads, type Read, type ReadMethod, type Reads } from '../ports/readSide.js';
import { type Lane, logOf, ONLY_LANE } from '../projector/lanes.js';
import { withoutErased } from '../reading/erasedReads.js';
import { ReadBarrier } from '../reading/readBarrier.js';
import { ReadGate } from '../reading/readGate.js';
import { type ReadSide, readLanes } from '../reading/readLanes.js';
import { type EngineConfig, openReadModels, settledLanes } from './engines.js';

type ReadSideConfig = EngineConfig & Pick<Config, 'PROJECTION_LANES' | 'READ_MAX_STALENESS_SECONDS'>;

/**
 * Whether no other process projects, or reads what this one answers. Only with embedded engines: a log on a server may hang,
 * and reads would wait with it. `directoryUse.ts` keeps other processes out.
 */
export const isAlone = (settings: Pick<Config, 'EVENTSTORE_URL' | 'MONGODB_URL'>, roles: ReadonlySet<Role>): boolean =>
  settings.EVENTSTORE_URL === undefined && settings.MONGODB_URL === undefined && roles.size === ROLES.length;

export type ReadSideOptions = {
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
  { onSlowList }: ReadSideOptions,
): Promise<ReadSide> {
  const models = await openReadModels(config, lane, onSlowList);
  const gate = new ReadGate(logOf(lane, eventStore), models, config.READ_MAX_STALENESS_SECONDS);
  const barrier = new ReadBarrier(gate);
  const readModels = { ...withoutErased(barrier.guard(models), eventStore), close: () => models.close() };
  return { readModels, barrier, lanes: async () => [readModels] };
}
