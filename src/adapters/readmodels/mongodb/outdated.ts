/** Which tables were laid out for an earlier version of their asset types. */
import { catalogOf, recordsEntryId } from './catalog.js';
import type { LaneDb } from './laneDb.js';
import { isOutdated } from './layout.js';
import { shapeOf } from './recordDocument.js';

/** No id of an entry of the tenant's tables comes before the first, nor at or behind the second: `/` follows `.`. */
const boundsOf = (tenant: string) => {
  const first = recordsEntryId({ tenant, table: '' });
  return [first, `${first.slice(0, -1)}/`] as const;
};

export async function nextTenant(db: LaneDb, after?: string): Promise<string | undefined> {
  const behind = after === undefined ? 'records.' : boundsOf(after)[1];
  const entry = await catalogOf(db).findOne(
    { _id: { $gte: behind, $lt: 'records/' }, rebuild: null },
    { sort: { _id: 1 }, projection: { tenant: 1 } },
  );
  return entry?.tenant;
}

/** A table without records is laid out with its first one. */
export async function outdatedTables(db: LaneDb, tenant: string): Promise<readonly string[]> {
  const [from, to] = boundsOf(tenant);
  const entries = await catalogOf(db)
    .find({ _id: { $gte: from, $lt: to }, rebuild: null, made: true })
    .toArray();
  return entries.flatMap((entry) => {
    const { assetType, layout } = shapeOf(entry);
    return isOutdated(assetType, layout) ? [entry.table] : [];
  });
}
