/** The read models of all lanes as one: a read that names a tenant goes to its lane, any other to every lane. */
import {
  interceptReads,
  READ_METHODS,
  type Read,
  type ReadMethod,
  type ReadModels,
  type Reads,
} from '../ports/readSide.js';
import { laneIndex } from '../projector/lanes.js';
import type { ReadBarrier } from './readBarrier.js';

/** Read models, and the barrier that reads of them have passed. */
export type ReadSide = {
  readonly readModels: ReadModels;
  readonly barrier: Pick<ReadBarrier, 'staleness' | 'withheld' | 'behind'>;
  /** How far each lane is. */
  readonly lanes: () => Promise<readonly Pick<ReadModels, 'checkpoints'>[]>;
};

/** @param lanes something of each lane, in their order */
export function laneOf<Part>(lanes: readonly Part[], tenant: string): Part {
  const lane = lanes[laneIndex(tenant, lanes.length)];
  if (lane === undefined) throw new Error('There is no lane.');
  return lane;
}

/** @param lanes in their order */
export function readLanes(lanes: readonly ReadSide[]): ReadSide {
  const [only] = lanes;
  if (lanes.length === 1 && only !== undefined) return only;
  const lanesOfReads: readonly Reads[] = lanes.map(({ readModels }) => readModels);
  const barriers = lanes.map(({ barrier }) => barrier);
  return {
    lanes: async () => lanes.map(({ readModels }) => readModels),
    readModels: {
      ...interceptReads(<Method extends ReadMethod>(method: Method): Read<Method> => {
        const { subjectOf, join } = READ_METHODS[method];
        const reads = lanesOfReads.map((lane): Read<Method> => lane[method]);
        return (...args) => {
          const { tenant = '' } = subjectOf(...args);
          if (tenant !== '' || join === undefined) return laneOf(reads, tenant)(...args);
          return Promise.all(reads.map((read) => read(...args))).then(join);
        };
      }),
      async close() {
        await Promise.all(lanes.map(({ readModels }) => readModels.close()));
      },
    },
    barrier: {
      staleness: (tenant) => laneOf(barriers, tenant).staleness(tenant),
      async withheld() {
        return (await Promise.all(barriers.map((each) => each.withheld()))).find((reason) => reason !== undefined);
      },
      async behind() {
        const found = (await Promise.all(barriers.map((each) => each.behind()))).filter((each) => each !== undefined);
        if (found.length === 0) return undefined;
        return {
          names: found.flatMap(({ names }) => names).sort(),
          isAll: found.every(({ isAll }) => isAll),
          seconds: Math.max(...found.map(({ seconds }) => seconds)),
        };
      },
    },
  };
}
