/** The read models as the service reads them: of all lanes, and behind their gates. */
import type { Config } from '../config.js';
import type { EventStore } from '../ports/eventStore.js';
import { type ReadModels, readModelsBy } from '../ports/readSide.js';
import { type Lane, logOf } from '../projector/lanes.js';
import { type Gate, gateOf, readLanes } from '../reading/laneReadModels.js';
import { ReadGate } from '../reading/readGate.js';
import { type EngineConfig, openReadModels } from './engines.js';
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
    readModels: readModelsBy(
      (method) =>
        async (...asked) =>
          method((await known()).readModels)(...asked),
      close,
    ),
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
