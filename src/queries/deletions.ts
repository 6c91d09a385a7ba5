/** The records that a clean-up deleted, for its undo. */
import type { AssetType } from '../domain/assetTypes/assetType.js';
import { type Fields, ownValue } from '../domain/assetTypes/fieldTypes.js';
import { MAX_UNDONE_CHARACTERS } from '../domain/limits.js';
import type { Position } from '../ports/eventStore.js';
import type { RowReads, SpaceRef, StoredVersion, VersionQuery } from '../ports/rowStore.js';
import type { StoredRecord } from './storedRecord.js';

/** A record as it was when a clean-up deleted it. */
type DeletedRecord = Pick<StoredRecord, 'id' | 'batchId' | 'fields'>;

type DeletedPage = {
  /** In the order of their creation. */
  readonly records: readonly DeletedRecord[];
  /** How many come after `after`, this page included. Only if asked for, since counting reads all of them. */
  readonly total?: number | undefined;
  /** `after` of the next page: the last id that was read; undefined at the end. */
  readonly next?: string | undefined;
};

type AskedPage = { readonly after?: string | undefined; readonly limit: number; readonly isCounted?: boolean };

/** States of a record that are looked at. */
const STATES = 10_000;

/**
 * Records deleted by the clean-up at this position, except those whose id was deleted again later: at most `limit` after the
 * id `after`, and at most MAX_UNDONE_CHARACTERS of text.
 */
export async function deletedRecords(
  rows: RowReads,
  tenant: string,
  assetType: AssetType,
  cleanUp: Position,
  { after, limit, isCounted = false }: AskedPage,
): Promise<DeletedPage> {
  const space = { tenant, space: assetType.name };
  const { versions, total = 0 } = await rows.versions(space, {
    ended: [cleanUp - 1, cleanUp],
    how: 'deleted',
    direction: 'asc',
    behind: after === undefined ? undefined : await placeOf(rows, space, after, cleanUp),
    limit: limit + 1,
    withTotal: isCounted,
  });
  let characters = 0;
  const end = versions.findIndex(({ data }, index) => {
    characters += data.length;
    return index === limit || (index > 0 && characters > MAX_UNDONE_CHARACTERS);
  });
  const read = end < 0 ? versions : versions.slice(0, end);
  const last = await Promise.all(read.map(({ id }) => deletionsOf(rows, space, id, 1)));
  const kept = read.filter((_, index) => last[index]?.[0]?.to === cleanUp);
  const records = kept.map((version): DeletedRecord => {
    return { id: version.id, batchId: version.batch, fields: allFields(version, assetType) };
  });
  const next = end < 0 ? undefined : read.at(-1)?.id;
  return { records, ...(isCounted && { total }), ...(next !== undefined && { next }) };
}

async function placeOf(
  rows: RowReads,
  space: SpaceRef,
  id: string,
  cleanUp: Position,
): Promise<readonly [Position, number] | undefined> {
  const version = (await deletionsOf(rows, space, id.toLowerCase(), STATES)).find(({ to }) => to === cleanUp);
  return version && [cleanUp, version.n];
}

/** The latest first. */
async function deletionsOf(
  rows: RowReads,
  space: SpaceRef,
  id: string,
  limit: number,
): Promise<readonly StoredVersion[]> {
  const query: VersionQuery = { id, how: 'deleted', direction: 'desc', limit, withTotal: false };
  return (await rows.versions(space, query)).versions;
}

function allFields({ data }: StoredVersion, { fields }: AssetType): Fields {
  const set: Fields = JSON.parse(data);
  return Object.fromEntries(fields.map(({ name }) => [name, ownValue(set, name) ?? null]));
}
