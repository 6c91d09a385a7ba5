/** The read models as the service reads them: of all lanes, and behind their gates. */
import type { Config } from '../config.js';
import type { EventStore } from '../ports/eventStore.js';
import type { ReadModels } from '../ports/readSide.js';
import { type Lane, logOf } from '../projections/lanes.js';
import { ReadGate } from '../projections/readGate.js';
import { type EngineConfig, openReadModels } from './engines.js';
import { type Gate, gateOf, readLanes } from './readLanes.js';
import { ownLanes } from './readModelFiles.js';

export type ReadSide = { readonly readModels: ReadModels; readonly gate: Gate };

type ReadSideConfig = EngineConfig & Pick<Config, 'PROJECTION_LANES' | 'READ_MAX_STALENESS_SECONDS'>;

/** Of a server that is away nobody knows how many lanes there are: whoever reads then asks again. */
export async function openReadSide(config: ReadSideConfig, eventStore: EventStore): Promise<ReadSide> {
  const open = async () => openLanes(await ownLanes(config), config, eventStore);
  if (config.MONGODB_URL === undefined) return open();
  let opening: Promise<ReadSide> | undefined;
  let opened: ReadSide | undefined;
  const known = (): Promise<ReadSide> => {
    opening ??= open().then(
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
  return {
    readModels: awaited(async () => (await known()).readModels, close),
    gate: {
      staleness: (tenant) => opened?.gate.staleness(tenant) ?? 0,
      isCurrent: (tenant) => opened?.gate.isCurrent(tenant) ?? false,
      withheld: async () => (await known()).gate.withheld(),
      behind: async () => (await known()).gate.behind(),
    },
  };
}

async function openLanes(lanes: readonly Lane[], config: ReadSideConfig, eventStore: EventStore): Promise<ReadSide> {
  const opened: { readonly models: ReadModels; readonly gate: ReadGate }[] = [];
  try {
    for (const lane of lanes) {
      const models = await openReadModels(config, lane);
      const gate = new ReadGate(logOf(lane, eventStore), models, config.READ_MAX_STALENESS_SECONDS);
      opened.push({ models, gate });
    }
  } catch (error) {
    for (const { models } of opened) await models.close();
    throw error;
  }
  return {
    readModels: readLanes(opened.map(({ models, gate }) => gate.guard(models))),
    gate: gateOf(opened.map(({ gate }) => gate)),
  };
}

/** @param known asked by each method */
function awaited(known: () => Promise<ReadModels>, close: ReadModels['close']): ReadModels {
  return {
    get: async (...asked) => (await known()).get(...asked),
    list: async (...asked) => (await known()).list(...asked),
    listBehind: async (...asked) => (await known()).listBehind(...asked),
    byIds: async (...asked) => (await known()).byIds(...asked),
    sweptIds: async (...asked) => (await known()).sweptIds(...asked),
    tableState: async (...asked) => (await known()).tableState(...asked),
    tableFigures: async (...asked) => (await known()).tableFigures(...asked),
    snapshot: async (...asked) => (await known()).snapshot(...asked),
    countOutsideBatch: async (...asked) => (await known()).countOutsideBatch(...asked),
    someOutsideBatch: async (...asked) => (await known()).someOutsideBatch(...asked),
    deletedRecords: async (...asked) => (await known()).deletedRecords(...asked),
    find: async (...asked) => (await known()).find(...asked),
    history: async (...asked) => (await known()).history(...asked),
    approvals: async (...asked) => (await known()).approvals(...asked),
    delivery: async (...asked) => (await known()).delivery(...asked),
    deliveries: async (...asked) => (await known()).deliveries(...asked),
    webhookHealth: async (...asked) => (await known()).webhookHealth(...asked),
    deliveryBacklog: async () => (await known()).deliveryBacklog(),
    checkpoint: async (...asked) => (await known()).checkpoint(...asked),
    checkpoints: async () => (await known()).checkpoints(),
    place: async () => (await known()).place(),
    parked: async () => (await known()).parked(),
    ahead: async () => (await known()).ahead(),
    waitFor: async (...asked) => (await known()).waitFor(...asked),
    waitForEvent: async (...asked) => (await known()).waitForEvent(...asked),
    close,
  };
}
