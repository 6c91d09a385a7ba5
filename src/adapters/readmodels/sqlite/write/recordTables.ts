/** Writes the tables of records of one copy: the served one, or the one that a rebuild fills. */

import { LRUCache } from 'lru-cache';
import type { AssetType } from '../../../../domain/assetTypes/assetType.js';
import type { RecordChange } from '../../../../domain/referenceTable/changes.js';
import type { Revision } from '../../../../ports/eventStore.js';
import type { TableRef } from '../../../../ports/readModels.js';
import type { AppliedEvent, StepwiseWriter } from '../../../../ports/readModelWriter.js';
import type { Database, Statement } from '../../../openSqlite.js';
import { SMALL_BYTES } from '../../shared/smallTables.js';
import { LIVE, NO_BATCH } from '../ddl.js';
import { layoutOf, type StoredLayout, type TableLayout, withoutIndexes } from '../layout.js';
import { addedFieldStatements, tableStatements } from '../ownTables.js';
import { ALL_ROWS, ChangedRows, type ChangingTable, NOT_KNOWN } from '../ranking/changedRows.js';
import { RecordEvents } from '../recordEvents.js';
import { fitsSmall, growStatements } from '../tableStorage.js';
import type { CleanUp } from './recordCleanUp.js';
import { RecordWriter } from './recordWriter.js';

type OpenTable = ChangingTable & {
  readonly assetTypeText: string;
  /** The layout as a large table. */
  layout: TableLayout;
  isSmall: boolean;
  /** The asset type object that the table was defined by last: the same object needs no comparison. */
  definedBy?: AssetType;
  /** It has had a record. Until then its layout may still change. */
  isMade: boolean;
  /** 1 once a clean-up has come, else 0. */
  cleanedUp: number;
  rowCount: number;
  nextRow: number;
  /** Bytes of the documents of a small table, at most; not known before the first change. */
  bytes: number;
  writer?: RecordWriter;
};

type CatalogRow = Pick<OpenTable, 'id' | 'assetTypeText' | 'rowCount' | 'nextRow' | 'changes' | 'cleanedUp'> &
  StoredLayout & {
    readonly made: number;
  };

export class RecordTables {
  readonly #db: Database;
  readonly #copy: number;
  readonly #smallRows: number;
  /** Each holds prepared statements, which take memory; an evicted table is opened again when needed. */
  readonly #open = new LRUCache<string, OpenTable>({ max: 200 });
  readonly #batches: BatchNumbers;
  readonly #changedRows: ChangedRows;
  /** Undefined if this copy answers no questions about the history of records. */
  readonly #recordEvents: RecordEvents | undefined;
  readonly #smallBytes: Statement<[number], number>;
  readonly #setState: Statement<[number, number, Revision, string, number, number, number]>;

  /** @param notesEvents whether it notes which events concern a record */
  constructor(db: Database, copy: number, smallRows: number, notesEvents: boolean) {
    this.#db = db;
    this.#recordEvents = notesEvents ? new RecordEvents(db) : undefined;
    this.#copy = copy;
    this.#smallRows = smallRows;
    this.#batches = new BatchNumbers(db);
    this.#changedRows = new ChangedRows(db);
    this.#smallBytes = db
      .prepare<[number], number>('SELECT total(octet_length(doc)) FROM small_docs WHERE owner = ?')
      .pluck();
    this.#setState = db.prepare(
      `UPDATE catalog SET row_count = ?, next_row = ?, revision = ?, last_event_at = ?, made = ?, changes = ?
       WHERE id = ?`,
    );
  }

  /** To be called after a rollback, and after another connection has written. */
  forget(): void {
    this.#batches.forget();
    this.#open.clear();
  }

  define(ref: TableRef, assetType: AssetType): void {
    const known = this.#find(ref);
    if (known?.definedBy === assetType) return;
    const text = JSON.stringify(assetType);
    if (known === undefined) {
      const layout = layoutOf(assetType);
      this.#db
        .prepare('INSERT INTO catalog (tenant, name, copy, asset_type, layout, small) VALUES (?, ?, ?, ?, ?, ?)')
        .run(ref.tenant, ref.table, this.#copy, text, JSON.stringify(layout), Number(fitsSmall(layout)));
      return;
    }
    if (known.assetTypeText === text) {
      known.definedBy = assetType;
      return;
    }
    // A table without records gets the layout that a new one would get.
    const layoutNow = (): TableLayout => layoutOf(assetType, known.isMade ? known.layout : undefined);
    const isSmall = fitsSmall(layoutNow()) && (known.isSmall || !known.isMade);
    if (known.isMade && known.isSmall && !isSmall) this.#grow(known);
    const layout = layoutNow();
    this.#db
      .prepare('UPDATE catalog SET asset_type = ?, layout = ?, small = ?, version = version + 1 WHERE id = ?')
      .run(text, JSON.stringify(layout), Number(isSmall), known.id);
    if (known.isMade && !isSmall) this.#run(addedFieldStatements(known.id, known.layout, layout));
    this.#open.delete(tableKey(ref));
  }

  /** @throws Error when the table was never defined, or a change does not fit its records */
  apply(ref: TableRef, changes: readonly RecordChange[], event: AppliedEvent): void {
    const table = this.#defined(ref);
    for (const change of changes) this.#apply(table, change, event);
    if (event.noted !== undefined) this.#recordEvents?.note(table.id, changes, event.noted);
    this.#changed(table, event);
  }

  /** See `StepwiseWriter`. */
  cleanUpSome(
    ref: TableRef,
    { batchId, revision, ...piece }: Parameters<StepwiseWriter['cleanUpSome']>[1],
    event: AppliedEvent,
  ): number | undefined {
    const table = this.#defined(ref);
    const writer = this.#writer(table, { kind: 'cleanUp', batchId });
    const cleanUp = { ...event, revision };
    const deleted = writer?.cleanUpSome(batchId, cleanUp, { ...piece, rowCount: table.rowCount });
    table.rowCount -= deleted?.gone ?? 0;
    if (table.rowCount === 0) this.#rowChanged(table, ALL_ROWS);
    this.#changed(table, event);
    return deleted?.next;
  }

  #defined(ref: TableRef): OpenTable {
    const table = this.#find(ref);
    if (table === undefined) throw new Error(`Table ${ref.table} of ${ref.tenant} is not defined.`);
    return table;
  }

  #changed(table: OpenTable, event: { readonly revision: Revision; readonly at: string }): void {
    const { rowCount, nextRow, isMade, id } = table;
    if (table.isSmall && this.#isTooLarge(table)) this.#grow(table);
    table.changes += 1;
    this.#setState.run(rowCount, nextRow, event.revision, event.at, Number(isMade), table.changes, id);
  }

  #isTooLarge(table: OpenTable): boolean {
    if (table.rowCount > this.#smallRows) return true;
    if (table.bytes > SMALL_BYTES) table.bytes = this.#smallBytes.get(table.id) ?? 0;
    return table.bytes > SMALL_BYTES;
  }

  /** Gives a small table its own tables and indexes. */
  #grow(table: OpenTable): void {
    this.#run(growStatements(table.id, table.layout));
    this.#db.prepare('UPDATE catalog SET small = 0, version = version + 1 WHERE id = ?').run(table.id);
    table.isSmall = false;
    table.writer = this.#newWriter(table);
    table.writer.indexLongRows();
  }

  #apply(table: OpenTable, change: RecordChange, event: CleanUp): void {
    const writer = this.#writer(table, change);
    if (writer === undefined) return;
    switch (change.kind) {
      case 'insert':
        table.bytes += writer.insert(table.nextRow, change);
        table.nextRow += 1;
        table.rowCount += 1;
        break;
      case 'patch':
        table.bytes += writer.patch(change);
        break;
      case 'delete':
        writer.delete(change);
        table.rowCount -= 1;
        break;
      case 'seen':
        writer.seen(change);
        break;
      case 'cleanUp': {
        const gone = writer.deleteOutside(change, event, table.rowCount);
        table.rowCount -= gone;
        if (gone > 0) this.#rowChanged(table, ALL_ROWS);
        break;
      }
    }
  }

  #run(statements: readonly string[]): void {
    for (const statement of statements) this.#db.exec(statement);
  }

  /** A table that begins as a large one gets its own tables with its first record, since many tables stay empty. */
  #writer(table: OpenTable, change: RecordChange): RecordWriter | undefined {
    if (!table.isMade) {
      if (change.kind === 'cleanUp') return undefined;
      if (!table.isSmall) this.#run(tableStatements(table.id, table.layout));
      table.isMade = true;
    }
    if (change.kind === 'cleanUp' && table.cleanedUp === 0) {
      this.#db.prepare('UPDATE catalog SET cleaned_up = 1 WHERE id = ?').run(table.id);
      table.cleanedUp = 1;
    }
    table.writer ??= this.#newWriter(table);
    return table.writer;
  }

  #newWriter(table: OpenTable): RecordWriter {
    const { id, layout, isSmall } = table;
    const stored = { id, layout: isSmall ? withoutIndexes(layout) : layout };
    const batchNumber = (batchId: string | null): number => this.#batches.numberOf(batchId);
    const rowChanged = (row: number): void => this.#rowChanged(table, row);
    return new RecordWriter(this.#db, stored, { batchNumber, rowChanged, recordEvents: this.#recordEvents });
  }

  /** Small tables and copies that are not served have no rankings, so their changed rows are not noted. */
  #rowChanged(table: OpenTable, row: number): void {
    if (this.#copy === LIVE && !table.isSmall) this.#changedRows.note(table, row);
  }

  #find(ref: TableRef): OpenTable | undefined {
    const key = tableKey(ref);
    const open = this.#open.get(key);
    if (open !== undefined) return open;
    const row = this.#db
      .prepare<[string, string, number], CatalogRow>(
        `SELECT id, asset_type AS assetTypeText, layout, small, made, row_count AS rowCount, next_row AS nextRow, changes,
           cleaned_up AS cleanedUp
         FROM catalog WHERE tenant = ? AND name = ? AND copy = ?`,
      )
      .get(ref.tenant, ref.table, this.#copy);
    if (row === undefined) return undefined;
    const { layout, small, made, ...state } = row;
    const table: OpenTable = {
      ...state,
      layout: JSON.parse(layout),
      isSmall: small === 1,
      isMade: made === 1,
      bytes: Number.POSITIVE_INFINITY,
      noted: NOT_KNOWN,
    };
    this.#open.set(key, table);
    return table;
  }
}

/** Batch ids as the numbers that stand for them. Successive changes are mostly of one batch. */
class BatchNumbers {
  readonly #find: Statement<[string], number>;
  readonly #add: Statement<[string]>;
  #last: { readonly batchId: string; readonly number: number } | undefined;

  constructor(db: Database) {
    this.#find = db.prepare<[string], number>('SELECT id FROM batches WHERE batch = ?').pluck();
    this.#add = db.prepare('INSERT INTO batches (batch) VALUES (?)');
  }

  /** Gives a new batch its number. */
  numberOf(batchId: string | null): number {
    if (batchId === null) return NO_BATCH;
    if (this.#last?.batchId !== batchId) {
      const number = this.#find.get(batchId) ?? Number(this.#add.run(batchId).lastInsertRowid);
      this.#last = { batchId, number };
    }
    return this.#last.number;
  }

  forget(): void {
    this.#last = undefined;
  }
}

const tableKey = (ref: TableRef): string => JSON.stringify([ref.tenant, ref.table]);
