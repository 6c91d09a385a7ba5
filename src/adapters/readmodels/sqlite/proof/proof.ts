/** The proof of the served copy, or of a rebuild's, in the embedded read models. */

import type { ProofPart, ProofQuestion, ProofSlice, ReadModelProof } from '../../../../ports/readModelProof.js';
import type { RebuildScope } from '../../../../ports/readModelWriter.js';
import type { Database } from '../../../openSqlite.js';
import { behindRecords, EVENTS_PASS, ofEvents, recordEventComparison, sizeOfEntry } from '../../shared/entryProof.js';
import { type Comparison, catalogFindings, compareSides, inPart, type Keyed, sideOf } from '../../shared/proof.js';
import { LIVE } from '../ddl.js';
import { layoutIn, type StoredLayout } from '../layout.js';
import { RECORD_EVENTS, recordEventRows } from '../recordEvents.js';
import { CLEANED_UP_RECORDS, SMALL_TABLES, type StoredTable } from '../tableStorage.js';
import { LISTS } from '../write/discarded.js';
import { deliveryComparison, entriesOf, webhookRows } from './entries.js';
import { recordComparison, sizeOf, storedRows } from './records.js';
import { missingTables, unsound, wholeCopy, wholeTable } from './tables.js';

type CatalogRow = StoredLayout & {
  readonly id: number;
  readonly made: number;
  readonly row_count: number;
  readonly revision: number;
  readonly last_event_at: string;
};

type Slice = Omit<ProofSlice, 'exact'>;

export class SqliteProof implements ReadModelProof {
  readonly #db: Database;
  readonly #scope: RebuildScope;
  readonly #copy: number;
  readonly #isAtOnePosition: () => boolean;

  /** @param isAtOnePosition asked within a snapshot: are the served copy and the other one at the same position? */
  constructor(db: Database, scope: RebuildScope, copy: number, isAtOnePosition: () => boolean) {
    this.#db = db;
    this.#scope = scope;
    this.#copy = copy;
    this.#isAtOnePosition = isAtOnePosition;
  }

  readonly parts: ReadModelProof['parts'] = async () => {
    const { projection, tenant, table } = this.#scope;
    const isRecords = projection === 'records';
    return this.#db
      .prepare<[{ copy: number; tenant: string | null; table: string | null }], ProofPart>(
        `SELECT DISTINCT tenant, ${isRecords ? 'name' : 'NULL'} AS "table" FROM ${LISTS[projection]}
         WHERE copy IN (${LIVE}, @copy) AND tenant = ifnull(@tenant, tenant)
           ${isRecords ? 'AND name = ifnull(@table, name)' : 'AND @table IS NULL'} ORDER BY 1, 2`,
      )
      .all({ copy: this.#copy, tenant: tenant ?? null, table: table ?? null });
  };

  readonly slice: ReadModelProof['slice'] = (part, question) =>
    this.#inSnapshot(async () => {
      const { projection } = this.#scope;
      if (projection === 'records') {
        if (question.after?.startsWith(EVENTS_PASS)) return this.#recordEvents(part, question);
        return behindRecords(await this.#records(part, question), question.subject);
      }
      const { rows: entryRows, comparison } = entriesOf(projection, question.droppedBefore);
      const ids = this.#listed(part);
      const rowsOf = (copy: number) => entryRows(this.#db, ids.get(copy) ?? 0, question.after);
      return this.#sides(part, question, comparison, rowsOf, sizeOfEntry);
    });

  /** Ids of a tenant's histories, delivery log or activity, by copy. */
  #listed({ tenant }: ProofPart): ReadonlyMap<number, number> {
    const rows = this.#db
      .prepare<[string, number], [copy: number, id: number]>(
        `SELECT copy, id FROM ${LISTS[this.#scope.projection]} WHERE tenant = ? AND copy IN (${LIVE}, ?)`,
      )
      .raw()
      .all(tenant, this.#copy);
    return new Map(rows);
  }

  async #sides<Row extends Keyed>(
    part: ProofPart,
    { subject }: Pick<ProofQuestion, 'subject'>,
    comparison: Comparison<Row>,
    rowsOf: (copy: number) => Iterable<Row> | undefined,
    size: (row: Row) => number,
  ): Promise<Slice> {
    const side = (copy: number) => sideOf(rowsOf(copy) ?? [], size);
    return compareSides(part, subject === 'live' ? await side(LIVE) : undefined, await side(this.#copy), comparison);
  }

  async #records(part: ProofPart, question: ProofQuestion): Promise<Slice> {
    const tables = new Map([LIVE, this.#copy].map((copy) => [copy, this.#table(part, copy)] as const));
    const looked = question.subject === 'live' ? LIVE : this.#copy;
    const table = tables.get(looked) ?? tables.get(this.#copy);
    if (table === undefined) return { records: 0, differences: [] };
    // `whole` tells which.
    if ([...tables.values()].some((each) => each && missingTables(this.#db, each).length > 0)) {
      return { records: 0, differences: [] };
    }
    const rowsOf = (copy: number) => {
      const of = tables.get(copy);
      return of && storedRows(this.#db, of, question.after);
    };
    return this.#sides(part, question, recordComparison(table), rowsOf, sizeOf);
  }

  async #recordEvents(part: ProofPart, question: ProofQuestion): Promise<Slice> {
    const after = question.after?.slice(EVENTS_PASS.length) || undefined;
    const rowsOf = (copy: number) => {
      const table = this.#catalogRow(part, copy);
      return table && recordEventRows(this.#db, table.id, after);
    };
    return ofEvents(await this.#sides(part, question, recordEventComparison, rowsOf, sizeOfEntry));
  }

  /** Undefined if it never had a record. */
  #table(part: ProofPart, copy: number): StoredTable | undefined {
    const row = this.#catalogRow(part, copy);
    return row?.made === 1 ? { id: row.id, layout: layoutIn(row) } : undefined;
  }

  #catalogRow({ tenant, table }: ProofPart, copy: number): CatalogRow | undefined {
    return this.#db
      .prepare<[string, string | null, number], CatalogRow>(
        'SELECT id, layout, small, made, row_count, revision, last_event_at FROM catalog WHERE tenant = ? AND name = ? AND copy = ?',
      )
      .get(tenant, table, copy);
  }

  readonly structure: ReadModelProof['structure'] = (part, question) =>
    this.#inSnapshot(async () => {
      if (this.#scope.projection === 'records') return this.#wholeTable(part, question);
      if (this.#scope.projection !== 'deliveries') return { records: 0, differences: [] };
      const ids = this.#listed(part);
      const rowsOf = (copy: number) => webhookRows(this.#db, ids.get(copy) ?? 0);
      const webhooks = await this.#sides(part, question, deliveryComparison(), rowsOf, sizeOfEntry);
      return { ...webhooks, records: 0, next: undefined };
    });

  #wholeTable(part: ProofPart, { subject }: Pick<ProofQuestion, 'subject'>): Slice {
    const copy = this.#catalogRow(part, this.#copy);
    const live = subject === 'live' ? this.#catalogRow(part, LIVE) : copy;
    const differences = catalogFindings(['row_count', 'revision', 'last_event_at'], live, copy);
    const table = live?.made === 1 ? { id: live.id, layout: layoutIn(live) } : undefined;
    const lost = table === undefined ? [] : missingTables(this.#db, table);
    const counted = live?.row_count;
    if (lost.length > 0 || table === undefined) {
      return { records: 0, differences: inPart(part, [...differences, ...lost]), counted };
    }
    const own = subject === 'live' ? wholeTable(this.#db, table, counted ?? 0) : wholeCopy(this.#db, table);
    return { records: 0, differences: inPart(part, [...differences, ...own]), counted };
  }

  readonly shared: ReadModelProof['shared'] = async () => {
    const { projection } = this.#scope;
    const tables = {
      records: [...SMALL_TABLES, CLEANED_UP_RECORDS, RECORD_EVENTS],
      order_history: ['history_entries'],
      deliveries: ['deliveries'],
      activity: ['activity_entries'],
    }[projection];
    return inPart(
      { tenant: '', table: null },
      tables.flatMap((table) => unsound(this.#db, table)),
    );
  };

  /** Runs in the open transaction, or in one that only reads. */
  async #inSnapshot(work: () => Promise<Slice>): Promise<ProofSlice> {
    const isHeld = this.#db.inTransaction;
    if (!isHeld) this.#db.exec('BEGIN');
    try {
      const exact = isHeld || this.#isAtOnePosition();
      return { ...(await work()), exact };
    } finally {
      if (!isHeld && this.#db.inTransaction) this.#db.exec('COMMIT');
    }
  }
}
