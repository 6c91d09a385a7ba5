/** What is asked of the records of tables: lists, single records, and the snapshots that decisions are made on. */
import type { AssetType } from '../domain/assetTypes/assetType.js';
import type { Tenant } from '../domain/identity/directory.js';
import { AnswerTooLargeError } from '../domain/jsonSize.js';
import { MAX_PAGE_BYTES, MAX_READ_BYTES } from '../domain/limits.js';
import type { Position } from '../ports/eventStore.js';
import type { PageQuery, RowReads, RowsQuery, SpaceRef, StoredRow } from '../ports/rowStore.js';
import type { Cancellation } from '../supervision/cancellation.js';
import {
  ALL_ROWS,
  conditionsOf,
  type Filter,
  type RecordJson,
  recordOf,
  roomFor,
  rowText,
  rowView,
  type StoredRecord,
  sortOf,
  storedId,
} from './asking.js';

/** The tenants as this process knows them: they say which fields a table has, and in which order. */
export type Tenants = {
  tenant(name: string): Pick<Tenant, 'assetTypes'> | undefined;
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
  readonly sort: PageQuery['sort'];
  readonly offset: number;
  readonly limit: number;
};

export type RecordPage = {
  /** The records' JSON texts joined by commas. */
  readonly records: string;
  readonly total: number;
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

/** Of the present, or of an earlier moment. A table that does not exist is empty. */
export class RecordQueries {
  constructor(
    private readonly rows: RowReads,
    private readonly tenants: Tenants,
    private readonly at?: Position,
  ) {}

  /** One record, or undefined. A malformed id is not found. */
  async get(table: TableRef, id: string): Promise<RecordJson | undefined> {
    return (await this.byIds(table, [id]))[0] ?? undefined;
  }

  /** @throws AnswerTooLargeError when the page has more than MAX_PAGE_BYTES; the cancellation's reason */
  async list(table: TableRef, query: RecordQuery, cancellation?: Cancellation): Promise<RecordPage> {
    const { offset, limit, sort, filters } = query;
    const assetType = this.#typeOf(table);
    const conditions = conditionsOf(filters);
    const asked = { conditions, sort: sortOf(sort), offset, limit, withTotal: true, maxCharacters: MAX_PAGE_BYTES };
    const { rows, total = 0 } = await this.#page(table, asked, cancellation);
    const texts = onePage(rows.map((row) => rowText(row, assetType)));
    if (texts.length < Math.min(limit, total - offset)) throw new AnswerTooLargeError(PAGE_TOO_LARGE);
    return { records: texts.join(), total };
  }

  /**
   * Records in the order of creation: at most `limit`, and at most MAX_PAGE_BYTES. Following `next` to the end returns each
   * record that existed throughout exactly once. @throws the cancellation's reason
   */
  async listBehind(table: TableRef, query: ListBehind, cancellation?: Cancellation): Promise<RecordsBehind> {
    const assetType = this.#typeOf(table);
    const rows = await this.#oneMore(table, query, cancellation);
    const texts = onePage(rows.slice(0, query.limit).map((row) => rowText(row, assetType)));
    return { records: texts.join(), next: texts.length === rows.length ? undefined : rows[texts.length - 1]?.n };
  }

  /** The same records as objects; and whether these are all. */
  async recordsBehind(table: TableRef, query: ListBehind, cancellation?: Cancellation) {
    const assetType = this.#typeOf(table);
    const rows = await this.#oneMore(table, query, cancellation);
    const fits = roomFor(query.limit, MAX_PAGE_BYTES);
    const end = rows.findIndex(({ data }) => !fits(data.length));
    const records = (end < 0 ? rows : rows.slice(0, end)).map((row) => rowView(row, assetType));
    return { records, isAll: end < 0 };
  }

  async #oneMore(table: TableRef, { limit, direction, behind, filters }: ListBehind, cancellation?: Cancellation) {
    const conditions = conditionsOf(filters);
    // Enough that where it ends the page, it is longer than an answer may be: a row is far shorter.
    const maxCharacters = 2 * MAX_PAGE_BYTES;
    const asked = { conditions, sort: [{ field: 'n', direction }], limit: limit + 1, behind, maxCharacters };
    return (await this.#page(table, asked, cancellation)).rows;
  }

  /** As many of the first as fit in MAX_PAGE_BYTES, at least one; null for an id without a record. */
  async byIds(table: TableRef, ids: readonly string[]): Promise<readonly (RecordJson | null)[]> {
    const assetType = this.#typeOf(table);
    const asked = ids.map((id) => storedId(id) ?? '');
    const { rows } = await this.#found(table, { ids: asked });
    const byId = new Map(rows.map((row) => [row.id, rowText(row, assetType)]));
    return onePage(asked.map((id) => byId.get(id) ?? null));
  }

  /**
   * The data for a decision, read at one moment.
   * @returns records with one of these unique keys or ids, and those with one of the former ids; `revision`: of the table's
   *   stream, -1 before its first event; `lastEventAt`: '' before it; `formerIds`: for keys without a record, the id that the
   *   key's last record had when a clean-up deleted it
   */
  async snapshot(table: TableRef, wanted: RowsQuery) {
    const ids = wanted.ids.flatMap((id) => storedId(id) ?? []);
    for (;;) {
      const { rows: named, formerIds, state } = await this.#found(table, { ...wanted, ids });
      const former = formerIds.size === 0 ? undefined : await this.#found(table, { ids: [...formerIds.values()] });
      // Both of one moment.
      if (former !== undefined && former.state.changed !== state.changed) continue;
      const rows = new Map([...named, ...(former?.rows ?? [])].map((row) => [row.id, row]));
      const { revision, lastEventAt } = state;
      return { revision, lastEventAt, formerIds, records: this.#decided(table, [...rows.values()]) };
    }
  }

  /**
   * How many records a clean-up with this batch id would delete (`count`) and keep (`inside`), at which revision; and the unique
   * keys of the first `limit` that it would delete.
   */
  async outsideBatch(table: TableRef, batch: string, limit: number) {
    const conditions = [{ kind: 'outsideBatch', batch }] as const;
    const asked = { conditions, limit, withTotal: true, maxCharacters: MAX_PAGE_BYTES };
    const { rows, total: count = 0, state } = await this.#page(table, asked);
    const { revision, lastEventAt } = state;
    return { revision, lastEventAt, count, inside: state.rows - count, keys: rows.map(({ key }) => key ?? '') };
  }

  /** Records with one of these ids, or of these values of their unique field; in the order of ids. */
  async find(table: TableRef, field: string, values: readonly string[]): Promise<readonly StoredRecord[]> {
    const ids = values.flatMap((id) => storedId(id) ?? []);
    const { rows } = await this.#found(table, field === 'id' ? { ids } : { keys: values });
    return this.#decided(
      table,
      rows.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    );
  }

  #typeOf({ tenant, table }: TableRef): Pick<AssetType, 'fields'> {
    return this.tenants.tenant(tenant)?.assetTypes.get(table) ?? { fields: [] };
  }

  #found(table: TableRef, query: Partial<RowsQuery>) {
    return this.rows.rows(spaceOf(table), { ids: [], keys: [], ...query, at: this.at });
  }

  #page(table: TableRef, query: Partial<PageQuery>, cancellation?: Cancellation) {
    return this.rows.page(spaceOf(table), { ...ALL_ROWS, ...query, at: this.at }, cancellation);
  }

  /** @throws AnswerTooLargeError */
  #decided(table: TableRef, rows: readonly StoredRow[]): readonly StoredRecord[] {
    if (rows.reduce((sum, { data }) => sum + data.length, 0) > MAX_READ_BYTES)
      throw new AnswerTooLargeError(
        `The records that this is about have more than ${MAX_READ_BYTES} bytes together. Name fewer at once.`,
      );
    const assetType = this.#typeOf(table);
    return rows.map((row) => recordOf(row, assetType));
  }
}

const spaceOf = ({ tenant, table }: TableRef): SpaceRef => ({ tenant, space: table });

const PAGE_TOO_LARGE = `A page has at most ${MAX_PAGE_BYTES} bytes. Ask for fewer entries with perPage, or for others with filters.`;

/** As many of the first as fit on a page; between two of them is a comma. */
function onePage<Text extends RecordJson | null>(texts: readonly Text[]): readonly Text[] {
  const fits = roomFor(texts.length, MAX_PAGE_BYTES + 1);
  const end = texts.findIndex((text) => !fits(Buffer.byteLength(text ?? 'null') + 1));
  return end < 0 ? texts : texts.slice(0, end);
}
