/** What is asked of the records of tables: lists, single records, and the snapshots that decisions are made on. */
import type { AssetType } from '../domain/assetTypes/assetType.js';
import type { Tenant } from '../domain/identity/directory.js';
import { MAX_DECISION_BYTES, MAX_DIFFERENCE_CHARACTERS, MAX_PAGE_BYTES } from '../domain/limits.js';
import { ACTIVITY } from '../domain/spaces.js';
import type { Position, Revision } from '../ports/eventStore.js';
import type { FoundRows, PageQuery, RowReads, SpaceRef, SpaceState, StoredRow } from '../ports/rowStore.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { ALL_ROWS, where } from './asking.js';
import { conditionsOf, type Filter, type SortTerm, sortOf } from './conditions.js';
import {
  AnswerTooLargeError,
  type RecordJson,
  recordOf,
  rowText,
  type StoredRecord,
  storedId,
} from './storedRecord.js';

/** The tenants as this process knows them: they say which fields a table has, and in which order. */
export type Tenants = {
  tenant(name: string): Pick<Tenant, 'assetTypes' | 'orderModel'> | undefined;
  tenants(): Iterable<{ readonly name: string; readonly webhooks: ReadonlyMap<string, unknown> }>;
};

/** Names one table of one tenant. No query can be built without a tenant. */
export type TableRef = { readonly tenant: string; readonly table: string };

export type RecordQuery = {
  /** All must hold. `created_at` and `updated_at` may be filtered too, except with `contains`. */
  readonly filters: readonly Filter[];
  /**
   * Applied in order. Strings ignore case; null comes first ascending. Without terms, records come in the order of
   * creation (created_at). Ties are broken by id in the direction of the last term.
   */
  readonly sort: readonly SortTerm[];
  readonly offset: number;
  readonly limit: number;
};

export type RecordPage = {
  /** The records' JSON texts joined by commas. */
  readonly records: string;
  readonly total: number;
  /** `tableState` at the moment of this page. */
  readonly state?: string | undefined;
};

/** Record count of a table and the time of its last event. */
export type TableFigures = TableRef & {
  readonly records: number;
  /** Time of the last applied event (ISO 8601); '' before the first. */
  readonly lastEventAt: string;
};

export type ListBehind = Pick<RecordQuery, 'filters' | 'limit'> & {
  readonly direction: 'asc' | 'desc';
  /** Starts behind the record with this number in the order of creation, whether or not it still exists. */
  readonly behind?: number | undefined;
};

export type RecordsBehind = Pick<RecordPage, 'records'> & {
  /** Number of the last record; undefined on the last page. */
  readonly next?: number | undefined;
};

/** The data for a decision about a table, read at one moment. */
type TableSnapshot = {
  /** Revision of the table's stream that this snapshot shows; -1 before its first event. */
  readonly revision: Revision;
  /** occurredAt of the last event applied to the table; '' before the first. */
  readonly lastEventAt: string;
  /** Matching records: by key or id as asked, and those with one of the former ids. */
  readonly records: readonly StoredRecord[];
  /** For keys without a record: the id that the key's last record had when a clean-up deleted it. */
  readonly formerIds: ReadonlyMap<string, string>;
};

const WHOLE: PageQuery = { ...ALL_ROWS, maxCharacters: MAX_PAGE_BYTES };

type Table = { readonly space: SpaceRef; readonly assetType: AssetType };

/** Of the present, or of an earlier moment. A cancelled search ends soon and rejects with the reason. */
export class RecordQueries {
  readonly #rows: RowReads;
  readonly #tenants: Tenants;
  readonly #at: Position | undefined;

  constructor(rows: RowReads, tenants: Tenants, at?: Position) {
    this.#rows = rows;
    this.#tenants = tenants;
    this.#at = at;
  }

  /** One record, or undefined. A malformed id is not found. */
  async get(table: TableRef, id: string): Promise<RecordJson | undefined> {
    return (await this.byIds(table, [id]))[0] ?? undefined;
  }

  /** @throws AnswerTooLargeError when the page has more than MAX_PAGE_BYTES */
  async list(table: TableRef, query: RecordQuery, cancellation?: Cancellation): Promise<RecordPage> {
    const { offset, limit, sort, filters } = query;
    const found = this.#filtered(table, filters);
    if (found === undefined) return { records: '', total: 0, state: await this.tableState(table) };
    const asked = { conditions: found.conditions, sort: sortOf(sort), offset, limit, withTotal: true };
    const { rows, total = 0, state } = await this.#page(found, asked, cancellation);
    const texts = this.#texts(found, rows);
    if (texts.length < Math.min(limit, total - offset)) throw new AnswerTooLargeError(PAGE_TOO_LARGE);
    return { records: texts.join(), total, state: tagOf(state) };
  }

  /**
   * A tag of the table's whole content: while it is unchanged, every query has the same answer. Fit for an ETag (RFC 9110
   * §8.8.3). Undefined before the first record.
   */
  async tableState(table: TableRef): Promise<string | undefined> {
    return tagOf((await this.#rows.rows(spaceOf(table), { ids: [], keys: [] })).state);
  }

  /** Figures of the tables that exist. The cost does not depend on the number of records. */
  async tableFigures(tables: readonly TableRef[]): Promise<readonly TableFigures[]> {
    const tenants = [...new Set(tables.map(({ tenant }) => tenant))];
    const spaces = new Map(
      await Promise.all(tenants.map(async (tenant) => [tenant, await this.#rows.spaces(tenant)] as const)),
    );
    const figures = tables.map(async (table) => {
      const state = spaces.get(table.tenant)?.get(table.table)?.state;
      return state === undefined
        ? []
        : [{ ...table, records: state.rows, lastEventAt: await this.#lastEventAt(table, state) }];
    });
    return (await Promise.all(figures)).flat();
  }

  /** Of tables without a stream of their own, which are those of orders: by the activity at the last change. */
  async #lastEventAt({ tenant }: TableRef, { lastEventAt, changed }: SpaceState): Promise<string> {
    if (lastEventAt !== '' || changed === 0) return lastEventAt;
    const asked = { ...WHOLE, conditions: where({ position: changed }), limit: 1 };
    return (await this.#rows.page({ tenant, space: ACTIVITY.name }, asked)).rows[0]?.created ?? '';
  }

  /**
   * Records in the order of creation: at most `limit`, and at most MAX_PAGE_BYTES. Following `next` to the end returns each
   * record that existed throughout exactly once.
   */
  async listBehind(table: TableRef, query: ListBehind, cancellation?: Cancellation): Promise<RecordsBehind> {
    const { limit, direction, behind, filters } = query;
    const found = this.#filtered(table, filters);
    if (found === undefined) return { records: '' };
    const { conditions } = found;
    // Enough that where it ends the page, it is longer than an answer may be: a row is far shorter.
    const maxCharacters = 2 * MAX_PAGE_BYTES;
    const asked = { conditions, sort: [{ field: 'n', direction }], limit: limit + 1, behind, maxCharacters };
    const { rows } = await this.#page(found, asked, cancellation);
    const texts = this.#texts(found, rows.slice(0, limit));
    return { records: texts.join(), next: texts.length === rows.length ? undefined : rows[texts.length - 1]?.n };
  }

  /** As many of the first as fit in MAX_PAGE_BYTES, at least one; null for an id without a record. */
  async byIds(
    table: TableRef,
    ids: readonly string[],
    cancellation?: Cancellation,
  ): Promise<readonly (RecordJson | null)[]> {
    const known = this.#table(table);
    if (known === undefined) return ids.map(() => null);
    const asked = ids.map((id) => storedId(id) ?? '');
    const { rows } = await this.#found(known, { ids: asked }, cancellation);
    const byId = new Map(rows.map((row) => [row.id, rowText(row, known.assetType)]));
    return fitting(asked.map((id) => byId.get(id) ?? null));
  }

  /** Records with one of these unique keys or ids, and the revision at which they were read. */
  async snapshot(
    table: TableRef,
    wanted: { readonly keys: readonly string[]; readonly ids: readonly string[] },
  ): Promise<TableSnapshot> {
    const known = this.#table(table);
    if (known === undefined) return { revision: -1, lastEventAt: '', records: [], formerIds: new Map() };
    const ids = wanted.ids.flatMap((id) => storedId(id) ?? []);
    const query = { ids, keys: wanted.keys };
    for (;;) {
      const found = await this.#rows.rows(known.space, query);
      const { formerIds, state } = found;
      const former = formerIds.size === 0 ? undefined : await this.#found(known, { ids: [...formerIds.values()] });
      // Both of one moment.
      if (former !== undefined && former.state.changed !== state.changed) continue;
      const rows = new Map([...found.rows, ...(former?.rows ?? [])].map((row) => [row.id, row]));
      const { revision, lastEventAt } = state;
      return { revision, lastEventAt, formerIds, records: this.#decided(known, [...rows.values()]) };
    }
  }

  /** How many records a clean-up with this batch id would delete (`count`) and keep (`inside`), at which revision. */
  async countOutsideBatch(table: TableRef, batch: string) {
    const asked = { ...WHOLE, conditions: [{ kind: 'outsideBatch', batch }], limit: 0, withTotal: true } as const;
    const { total: count = 0, state } = await this.#rows.page(spaceOf(table), asked);
    const { revision, lastEventAt, rows } = state;
    return { revision, lastEventAt, count, inside: rows - count };
  }

  /** Records that such a clean-up would delete: at most `limit`, and MAX_DIFFERENCE_CHARACTERS of text. */
  async someOutsideBatch(table: TableRef, batch: string, limit: number): Promise<readonly StoredRecord[]> {
    const known = this.#table(table);
    if (known === undefined) return [];
    const maxCharacters = MAX_DIFFERENCE_CHARACTERS;
    const { rows } = await this.#page(known, { conditions: [{ kind: 'outsideBatch', batch }], limit, maxCharacters });
    return rows.map((row) => recordOf(row, known.assetType));
  }

  /** Records with one of these exact values in the field. */
  async find(table: TableRef, field: string, values: readonly string[]): Promise<readonly StoredRecord[]> {
    const known = this.#table(table);
    if (known === undefined) return [];
    const rows = await this.#rowsWith(known, field, values);
    return this.#decided(
      known,
      rows.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    );
  }

  async #rowsWith(table: Table, field: string, values: readonly string[]): Promise<readonly StoredRow[]> {
    if (field === 'id') return (await this.#found(table, { ids: values.flatMap((id) => storedId(id) ?? []) })).rows;
    if (field === table.assetType.uniqueField) return (await this.#found(table, { keys: values })).rows;
    const conditions = conditionsOf([{ kind: 'equals', field, anyOf: values }], table.assetType);
    if (conditions === undefined) return [];
    const page = await this.#page(table, { conditions, withTotal: true, maxCharacters: MAX_DECISION_BYTES });
    if (page.rows.length < (page.total ?? 0)) throw decisionTooLarge();
    return page.rows;
  }

  #table(table: TableRef): Table | undefined {
    const assetType = this.#tenants.tenant(table.tenant)?.assetTypes.get(table.table);
    return assetType && { space: spaceOf(table), assetType };
  }

  /** Undefined if there is no such table, or no record can pass the filters. */
  #filtered(table: TableRef, filters: readonly Filter[]) {
    const known = this.#table(table);
    const conditions = known && conditionsOf(filters, known.assetType);
    return conditions && { ...known, conditions };
  }

  #found(
    { space }: Table,
    { ids = [], keys = [] }: { readonly ids?: readonly string[]; readonly keys?: readonly string[] },
    cancellation?: Cancellation,
  ): Promise<FoundRows> {
    return this.#rows.rows(space, { ids, keys, at: this.#at }, cancellation);
  }

  #page({ space }: Table, query: Partial<PageQuery>, cancellation?: Cancellation) {
    return this.#rows.page(space, { ...WHOLE, ...query, at: this.#at }, cancellation);
  }

  /** As many of the first as fit on a page. */
  #texts({ assetType }: Table, rows: readonly StoredRow[]): readonly RecordJson[] {
    return fitting(rows.map((row) => rowText(row, assetType)));
  }

  /** @throws AnswerTooLargeError */
  #decided({ assetType }: Table, rows: readonly StoredRow[]): readonly StoredRecord[] {
    if (charactersOf(rows) > MAX_DECISION_BYTES) throw decisionTooLarge();
    return rows.map((row) => recordOf(row, assetType));
  }
}

const spaceOf = ({ tenant, table }: TableRef): SpaceRef => ({ tenant, space: table });

/** While it is the same, so is every answer. It names more than the position, as a log may be put back to a copy. */
const tagOf = ({ changed, rows, revision, lastEventAt }: SpaceState): string | undefined =>
  changed === 0 ? undefined : `${changed}.${rows}.${revision}.${lastEventAt}`;

const PAGE_TOO_LARGE = `A page has at most ${MAX_PAGE_BYTES} bytes. Ask for fewer entries with perPage, or for others with filters.`;

/** As many of the first as fit on a page, at least one. */
function fitting<Text extends RecordJson | null>(texts: readonly Text[]): readonly Text[] {
  let bytes = 0;
  const end = texts.findIndex((text, index) => {
    // Between two records is a comma.
    bytes += Buffer.byteLength(text ?? 'null') + 1;
    return index > 0 && bytes > MAX_PAGE_BYTES + 1;
  });
  return end < 0 ? texts : texts.slice(0, end);
}

const charactersOf = (rows: readonly StoredRow[]): number => rows.reduce((sum, { data }) => sum + data.length, 0);

const decisionTooLarge = (): AnswerTooLargeError =>
  new AnswerTooLargeError(
    `The records that this is about have more than ${MAX_DECISION_BYTES} bytes together. Name fewer at once.`,
  );
