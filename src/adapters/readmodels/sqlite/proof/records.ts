/** The proof of a table of records: each record, and all that is stored beside its document. */

import type { Fields } from '../../../../domain/assetTypes/fieldTypes.js';
import type { Database } from '../../../openSqlite.js';
import { type Comparison, changedFields, type Finding, isStored, parsed } from '../../shared/proof.js';
import { RecordText } from '../../shared/recordText.js';
import { NO_BATCH } from '../ddl.js';
import { type CellValue, cellColumns, cellsOf } from '../layout.js';
import { trigramPositions, trigramTable, trigramTexts } from '../ownTables.js';
import type { Cell } from '../read/readConnection.js';
import { idBytes, idText } from '../rowFormat.js';
import { HEAD_COLUMNS, type StoredTable, storageOf } from '../tableStorage.js';

type Fixed = [
  row: number,
  id: Buffer,
  createdAt: number,
  updatedAt: number,
  width: number | null,
  doc: string | null,
  batchNumber: number | null,
  batchId: string | null,
  /** 1 if the id or times beside the document differ from the record's. */
  isOthers: number | null,
];
const FIXED = 'r.row, r.id, r.created_at, r.updated_at, d.width, d.doc, b.batch, n.batch';
const FIXED_COLUMNS = 9;

export type StoredRow = {
  /** The id. */
  readonly key: string;
  readonly row: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly batchId: string | null;
  readonly batchNumber: number | null;
  readonly doc: string | null;
  /** Empty if the document is missing or is no JSON. */
  readonly fields: Fields;
  readonly isReadable: boolean;
  /** The id or times beside the document differ from the record's. */
  readonly isOthers: boolean;
  readonly cells: readonly CellValue[];
  /** The number of trigrams that each index has of the record, as FTS5 stores it; null if it has no entry. */
  readonly trigrams: readonly (Buffer | null)[];
};

const trigramsOf = ({ layout }: StoredTable): readonly number[] =>
  Array.from({ length: layout.trigramIndexes }, (_, index) => index);

/** In the order of ids, behind `after`. */
export function* storedRows(db: Database, table: StoredTable, after: string | undefined): Generator<StoredRow> {
  const { id, layout } = table;
  const columns = cellColumns(layout);
  const { records, docs, docColumns, batches } = storageOf(table);
  const text = new RecordText(layout);
  const trigrams = trigramsOf(table);
  const heads = HEAD_COLUMNS.filter((name) => docColumns.includes(name)).map((name) => `d.${name} <> r.${name}`);
  const isOthers = heads.length === 0 ? '0' : heads.join(' OR ');
  const selected = [
    FIXED,
    isOthers,
    ...columns.map((column) => `r.${column}`),
    ...trigrams.map((index) => `s${index}.sz`),
  ];
  const joins = trigrams.map(
    (index) => `LEFT JOIN ${trigramTable(id, index)}_docsize AS s${index} ON s${index}.id = r.row`,
  );
  const statement = db
    .prepare<Cell[], [...Fixed, ...(CellValue | Buffer)[]]>(
      `SELECT ${selected} FROM ${records.rows} AS r
       LEFT JOIN ${docs.rows} AS d ON d.row = r.row LEFT JOIN ${batches.rows} AS b ON b.row = r.row
       LEFT JOIN batches AS n ON n.id = b.batch ${joins.join(' ')}
       WHERE r.id > ? ORDER BY r.id`,
    )
    .raw();
  for (const tuple of statement.iterate(after === undefined ? Buffer.alloc(0) : (idBytes(after) ?? null))) {
    const [row, bytes, createdAt, updatedAt, width, doc, batchNumber, batchId, others] = tuple;
    const fields = doc === null ? undefined : fieldsOf(text, width ?? 0, doc);
    yield {
      key: idText(bytes),
      row,
      createdAt,
      updatedAt,
      batchId,
      batchNumber,
      doc,
      fields: fields ?? {},
      isReadable: fields !== undefined,
      isOthers: others === 1,
      cells: tuple.slice(FIXED_COLUMNS, FIXED_COLUMNS + columns.length) as CellValue[],
      trigrams: tuple.slice(FIXED_COLUMNS + columns.length) as (Buffer | null)[],
    };
  }
}

const fieldsOf = (text: RecordText, width: number, doc: string): Fields | undefined =>
  parsed(`{${text.complete(width, doc)}}`) as Fields | undefined;

export const sizeOf = ({ doc }: StoredRow): number => (doc?.length ?? 0) + 200;

/** @param table whose rows are proven by themselves: the served one, or a copy alone */
export function recordComparison(table: StoredTable): Comparison<StoredRow> {
  const columns = cellColumns(table.layout);
  const { records, docs, batches } = storageOf(table);
  const positions = trigramPositions(table.layout);
  return {
    about: ({ key }) => ({ place: records.table, record: key }),
    changed(live, copy) {
      if (!live.isReadable) return [];
      // `itself` reports a missing batch.
      return changedFields(live.batchNumber === null ? { ...live, batchId: copy.batchId } : live, copy);
    },
    itself(row) {
      const record = row.key;
      const findings: Finding[] = [];
      const find = (place: string, kind: Finding['kind'], detail: string): void => {
        findings.push({ place, record, kind, detail });
      };
      if (row.batchNumber === null) find(batches.table, 'missing', 'The record has no batch.');
      else if (row.batchNumber !== NO_BATCH && row.batchId === null) {
        find(batches.table, 'different', 'It names a batch that is not there.');
      }
      if (row.doc === null) find(docs.table, 'missing', 'The record has no document.');
      else if (!row.isReadable) find(docs.table, 'different', 'The document is no JSON.');
      if (row.isOthers) find(docs.table, 'different', 'The id or the times beside the document are not the record’s.');
      if (!row.isReadable) return findings;
      const cells = cellsOf(table.layout, row.fields);
      const wrong = columns.filter((_, index) => !isStored(cells[index], row.cells[index]));
      if (wrong.length > 0) {
        find(records.table, 'different', `Columns that do not fit the document: ${wrong.join(', ')}.`);
      }
      for (const [number, texts] of trigramTexts(positions, cells).entries()) {
        const place = trigramTable(table.id, number);
        const entry = row.trigrams[number] ?? null;
        if (texts.every((text) => text === null)) {
          if (entry !== null) find(place, 'unexpected', 'The record has no text to find it by, and has an entry.');
        } else if (entry === null) find(place, 'missing', 'The full-text index has no entry of the record.');
        else if (!tokensOf(entry, texts)) find(place, 'different', 'The entry is of other text than the record has.');
      }
      return findings;
    },
  };
}

/** FTS5 reads texts up to a NUL. */
const NUL = '\0';

/** Whether a stored entry has as many trigrams as the texts of its columns. */
function tokensOf(entry: Buffer, texts: readonly (string | number | null)[]): boolean {
  const stored = varints(entry);
  if (stored.length !== texts.length) return false;
  return texts.every((text, column) => {
    const characters = text === null ? 0 : [...(String(text).split(NUL, 1)[0] ?? '')].length;
    return stored[column] === Math.max(0, characters - 2);
  });
}

/** SQLite's variable-length integers: seven bits a byte, the highest first, the top bit set on all but the last. */
function varints(bytes: Buffer): readonly number[] {
  const numbers: number[] = [];
  let number = 0;
  for (const byte of bytes) {
    number = number * 128 + (byte & 127);
    if (byte < 128) {
      numbers.push(number);
      number = 0;
    }
  }
  return numbers;
}
