/** The lanes of read models in a database: their collections are told apart by what their names begin with. */
import type { Config } from '../config.js';
import type { Projectors } from '../ports/projectors.js';
import { LANE_RULE, type Lane } from '../projector/lanes.js';

/** By number and rule: what was shared out otherwise is not taken for it. Without lanes the names are those of before. */
export const collectionPrefix = ({ index, of }: Lane): string =>
  of === 1 ? '' : `lane${index + 1}of${of}r${LANE_RULE}_`;

/** Of the engine that several processes may project into; undefined for the embedded one. */
export async function openProjectors({
  MONGODB_URL: url,
}: Pick<Config, 'MONGODB_URL'>): Promise<Projectors | undefined> {
  if (url === undefined) return undefined;
  const { openMongoProjectors } = await import('../adapters/readmodels/mongodb/projectors.js');
  return openMongoProjectors(url);
}
