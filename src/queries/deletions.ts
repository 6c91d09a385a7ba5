/** What clean-ups deleted, and which events changed a record, for those that ask by revisions of the table's stream. */
import type { AssetType } from '../domain/assetTypes/assetType.js';
import { type Fields, ownValue } from '../domain/assetTypes/fieldTypes.js';
import { MAX_UNDONE_CHARACTERS } from '../domain/limits.js';
import { ACTIVITY } from '../domain/spaces.js';
import { tableStream } from '../domain/streams.js';
import type { DecisionReads, DeletedPage } from '../ports/decisionReads.js';
import type { EventStore, Position, Revision } from '../ports/eventStore.js';
import type { CleanedUpRecord, RecordReads, TableRef } from '../ports/readModels.js';
import type { RowReads, StoredVersion, VersionQuery } from '../ports/rowStore.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { entryOf } from './activity.js';
import type { Tenants } from './records.js';
import { storedId } from './rowText.js';

/** States of a record that are looked at. */
const STATES = 10_000;

type Deleted = { readonly versions: readonly StoredVersion[]; readonly total: number };

export class DeletionQueries {
  readonly #rows: RowReads;
  readonly #log: Pick<EventStore, 'readSlice'>;
  readonly #tenants: Tenants;

  constructor(rows: RowReads, log: Pick<EventStore, 'readSlice'>, tenants: Tenants) {
    this.#rows = rows;
    this.#log = log;
    this.#tenants = tenants;
  }

  async recordEvents(
    table: TableRef,
    id: string,
    { before, limit }: Parameters<RecordReads['recordEvents']>[2],
    cancellation?: Cancellation,
  ): Promise<readonly Revision[]> {
    const states = await this.#statesOf(table, id);
    const positions = states.flatMap(({ from, to, how }) =>
      how === 'deleted' && to !== undefined ? [to, from] : [from],
    );
    const entries = await this.#activityAt(table, [...new Set(positions)], cancellation);
    const revisions = entries.map(({ revision }) => revision);
    return revisions.filter((revision) => revision < (before ?? revision + 1)).slice(0, limit);
  }

  async cleanedUpRecord(table: TableRef, id: string): Promise<CleanedUpRecord | undefined> {
    const assetType = this.#tenants.tenant(table.tenant)?.assetTypes.get(table.table);
    if (assetType === undefined) return undefined;
    for (const state of await this.#statesOf(table, id)) {
      if (state.how !== 'deleted' || state.to === undefined) continue;
      const entries = await this.#activityAt(table, [state.to]);
      const cleanUp = entries.find(({ kind }) => kind === 'table.clean_up');
      if (cleanUp !== undefined) return { revision: cleanUp.revision, fields: allFields(state, assetType) };
    }
    return undefined;
  }

  async cleanedUpIds(
    table: TableRef,
    cleanUp: Revision,
    { behind, limit }: Parameters<RecordReads['cleanedUpIds']>[2],
    cancellation?: Cancellation,
  ): Promise<readonly string[]> {
    const { versions } = await this.#deletedBy(table, cleanUp, { behind, limit }, cancellation);
    return versions.map(({ id }) => id);
  }

  async deletedRecords(
    table: TableRef,
    cleanUp: Revision,
    { after, limit, isCounted = false }: Parameters<DecisionReads['deletedRecords']>[2],
  ): Promise<DeletedPage> {
    const assetType = this.#tenants.tenant(table.tenant)?.assetTypes.get(table.table);
    const { versions, total } = await this.#deletedBy(table, cleanUp, { behind: after, limit: limit + 1, isCounted });
    let characters = 0;
    const end = versions.findIndex(({ data }, index) => {
      characters += data.length;
      return index === limit || (index > 0 && characters > MAX_UNDONE_CHARACTERS);
    });
    const read = end < 0 ? versions : versions.slice(0, end);
    const isLast = await Promise.all(read.map((version) => this.#isLastOfItsId(table, version)));
    const records = read.flatMap((version, index) => {
      const isKept = assetType !== undefined && isLast[index] === true;
      return isKept ? [{ id: version.id, batchId: version.batch, fields: allFields(version, assetType) }] : [];
    });
    const next = end < 0 ? undefined : read.at(-1)?.id;
    return { records, ...(isCounted && { total }), ...(next !== undefined && { next }) };
  }

  /** In the order of their creation. */
  async #deletedBy(
    table: TableRef,
    cleanUp: Revision,
    page: { readonly behind?: string | undefined; readonly limit: number; readonly isCounted?: boolean },
    cancellation?: Cancellation,
  ): Promise<Deleted> {
    const position = await this.#positionOf(table, cleanUp);
    if (position === undefined) return { versions: [], total: 0 };
    const place = page.behind === undefined ? undefined : await this.#placeOf(table, page.behind, position);
    const query: VersionQuery = {
      ended: [position - 1, position],
      how: 'deleted',
      direction: 'asc',
      behind: place,
      limit: page.limit,
      withTotal: page.isCounted ?? false,
    };
    const { versions, total = 0 } = await this.#rows.versions(spaceOf(table), query, cancellation);
    return { versions, total };
  }

  async #placeOf(table: TableRef, id: string, position: Position): Promise<readonly [Position, number] | undefined> {
    const version = (await this.#statesOf(table, id)).find(({ to }) => to === position);
    return version && [position, version.n];
  }

  async #positionOf({ tenant, table }: TableRef, revision: Revision): Promise<Position | undefined> {
    if (revision < 0) return undefined;
    const asked = { from: revision, to: revision, maxCount: 1 };
    return (await this.#log.readSlice(tableStream(tenant, table), asked)).events[0]?.position;
  }

  async #isLastOfItsId(table: TableRef, { id, to }: StoredVersion): Promise<boolean> {
    const [last] = await this.#statesOf(table, id, 'deleted', 1);
    return last?.to === to;
  }

  /** The latest first. */
  async #statesOf(
    table: TableRef,
    id: string,
    how?: StoredVersion['how'],
    limit = STATES,
  ): Promise<readonly StoredVersion[]> {
    const asked = storedId(id);
    if (asked === undefined) return [];
    const query: VersionQuery = { id: asked, how, direction: 'desc', limit, withTotal: false };
    return (await this.#rows.versions(spaceOf(table), query)).versions;
  }

  /** Of the table's own events, the latest first. */
  async #activityAt({ tenant, table }: TableRef, positions: readonly Position[], cancellation?: Cancellation) {
    if (positions.length === 0) return [];
    const conditions = [
      { kind: 'equals', field: 'position', anyOf: positions },
      { kind: 'equals', field: 'table', anyOf: [table] },
    ] as const;
    const { rows } = await this.#rows.page(
      { tenant, space: ACTIVITY.name },
      {
        conditions,
        sort: [{ field: 'n', direction: 'desc' }],
        offset: 0,
        limit: STATES,
        withTotal: false,
        maxCharacters: Number.MAX_SAFE_INTEGER,
      },
      cancellation,
    );
    return rows.map(entryOf);
  }
}

const spaceOf = ({ tenant, table }: TableRef) => ({ tenant, space: table });

function allFields({ data }: StoredVersion, { fields }: AssetType): Fields {
  const set: Fields = JSON.parse(data);
  return Object.fromEntries(fields.map(({ name }) => [name, ownValue(set, name) ?? null]));
}
