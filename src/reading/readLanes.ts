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

/** @param lanes something of each lane, in their order */
export function laneOf<Part>(lanes: readonly Part[], tenant: string): Part {
  const lane = lanes[laneIndex(tenant, lanes.length)];
  if (lane === undefined) throw new Error('There is no lane.');
  return lane;
}

export function readLanes(lanes: readonly ReadModels[]): ReadModels {
  const [only] = lanes;
  if (lanes.length === 1 && only !== undefined) return only;
  const lanesOfReads: readonly Reads[] = lanes;
  return {
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
      await Promise.all(lanes.map((lane) => lane.close()));
    },
  };
}
