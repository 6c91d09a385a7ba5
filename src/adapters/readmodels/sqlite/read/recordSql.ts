/** SQL that reads records: `r` is the table of records, `d` that of their documents. */

import { NO_BATCH } from '../ddl.js';
import { hasHeads } from '../tableStorage.js';
import type { ReadTable, TableIdentity } from './readConnection.js';

export type RecordTuple = [id: Buffer, createdAt: number, updatedAt: number, width: number, doc: string];

/** The table that a record's id and times are read from: the documents', if it has them. */
const headOf = ({ shape }: TableIdentity): 'd' | 'r' => (hasHeads(shape.parts) ? 'd' : 'r');

export function recordColumns(table: TableIdentity): string {
  const head = headOf(table);
  return `${head}.id, ${head}.created_at, ${head}.updated_at, d.width, d.doc`;
}

export const records = ({ shape: { parts } }: TableIdentity): string =>
  `${parts.records.rows} AS r JOIN ${parts.docs.rows} AS d ON d.row = r.row`;

/** Reads the record of a row, or of an id. */
export function recordQuery(table: TableIdentity, by: 'row' | 'id'): string {
  const isInDocs = by === 'row' && hasHeads(table.shape.parts);
  const from = isInDocs ? `${table.shape.parts.docs.rows} AS d` : records(table);
  return `SELECT ${recordColumns(table)} FROM ${from} WHERE ${isInDocs ? 'd' : 'r'}.${by} = ?`;
}

/** The id is hexadecimal digits: to make a Buffer of each would cost more than to find the record. */
export type StoredTuple = [
  id: string,
  createdAt: number,
  updatedAt: number,
  width: number,
  doc: string,
  batch: string | null,
  key?: string,
];

function storedColumns(table: ReadTable): string {
  const head = headOf(table);
  return `hex(${head}.id), ${head}.created_at, ${head}.updated_at, d.width, d.doc, (
     SELECT n.batch FROM ${table.shape.parts.batches.rows} AS b JOIN batches AS n ON n.id = b.batch
     WHERE b.row = r.row AND b.batch <> ${NO_BATCH})`;
}

export const storedQuery = (table: ReadTable, where: string): string =>
  `SELECT ${storedColumns(table)} FROM ${records(table)} WHERE ${where}`;

/** Reads records by many values in one statement. @param value of the list's entries, as SQL */
export const listedQuery = (table: ReadTable, column: 'u' | 'id', value: string): string =>
  `SELECT ${storedColumns(table)}${table.shape.layout.unique === undefined ? '' : ', r.u'}
   FROM json_each(?) AS listed CROSS JOIN ${table.shape.parts.records.rows} AS r ON r.${column} = ${value}
   CROSS JOIN ${table.shape.parts.docs.rows} AS d ON d.row = r.row`;
