/** Which events concern a record (docs/decisions/0058): notes them for tables of one copy, and reads those of the served one. */

import type { RecordChange } from '../../../domain/referenceTable/changes.js';
import type { Revision } from '../../../ports/eventStore.js';
import type { CleanedUpRecord, RecordReads, TableRef } from '../../../ports/readModels.js';
import type { Noted } from '../../../ports/readModelWriter.js';
import type { Database, Statement } from '../../openSqlite.js';
import type { EntryRow } from '../shared/entryProof.js';
import { padded } from '../shared/entryProof.js';
import { notedId } from '../shared/recordText.js';
import type { Cell, ReadConnection } from './read/readConnection.js';
import { idBytes, idText } from './rowFormat.js';

export const RECORD_EVENTS = 'record_events';

export class RecordEvents {
  readonly #db: Database;
  readonly #insert: Statement<[owner: number, id: Buffer, event: Cell]>;

  constructor(db: Database) {
    this.#db = db;
    this.#insert = db.prepare(`INSERT OR IGNORE INTO ${RECORD_EVENTS} (owner, id, event) VALUES (?, ?, ?)`);
  }

  /** @param owner id of the table */
  note(owner: number, changes: readonly RecordChange[], noted: Noted): void {
    const event = typeof noted === 'number' ? noted : (idBytes(noted.order) ?? null);
    for (const change of changes) {
      const id = notedId(change, noted);
      const bytes = id === undefined ? undefined : idBytes(id);
      if (bytes !== undefined && event !== null) this.#insert.run(owner, bytes, event);
    }
  }

  /** @param ids query of the records' ids */
  noteSelected(owner: number, revision: Revision, ids: string, cells: readonly Cell[]): void {
    this.#db
      .prepare<Cell[]>(`INSERT OR IGNORE INTO ${RECORD_EVENTS} (owner, id, event) SELECT ?, id, ? FROM (${ids})`)
      .run(owner, revision, ...cells);
  }
}

/** See `RecordReads`. */
export function readRecordEvents(
  connection: ReadConnection,
  ref: TableRef,
  id: string,
  { before = Number.MAX_SAFE_INTEGER, limit }: Parameters<RecordReads['recordEvents']>[2],
): readonly Revision[] {
  const bytes = idBytes(id);
  if (bytes === undefined) return [];
  const sql = `SELECT event FROM ${RECORD_EVENTS} WHERE owner = ? AND id = ? AND event < ? ORDER BY event DESC LIMIT ?`;
  return connection.read<readonly Revision[]>(ref, [], ({ id: owner }) =>
    connection.column<Revision>(sql, [owner, bytes, before, limit]),
  ).result;
}

/** See `RecordReads`. */
export function readOrderOfPart(connection: ReadConnection, ref: TableRef, id: string): string | undefined {
  const bytes = idBytes(id);
  if (bytes === undefined) return undefined;
  const sql = `SELECT event FROM ${RECORD_EVENTS} WHERE owner = ? AND id = ? LIMIT 1`;
  const found = connection.read<readonly Buffer[]>(ref, [], ({ id: owner }) =>
    connection.column<Buffer>(sql, [owner, bytes]),
  );
  return found.result.map(idText)[0];
}

/** See `RecordReads`. */
export function readCleanedUpRecord(
  connection: ReadConnection,
  ref: TableRef,
  id: string,
): CleanedUpRecord | undefined {
  const bytes = idBytes(id);
  if (bytes === undefined) return undefined;
  return connection.read<CleanedUpRecord | undefined>(ref, undefined, ({ cleanedUp, shape }) => {
    if (cleanedUp === undefined) return undefined;
    const sql = `SELECT revision, width, doc FROM ${cleanedUp.rows} WHERE id = ?`;
    const [row] = connection.tuples<[Revision, number, string]>(sql).all(bytes);
    if (row === undefined) return undefined;
    const [revision, width, doc] = row;
    return { revision, fields: shape.text.fields(width, doc) };
  }).result;
}

type Stored = [id: Buffer, event: Revision | Buffer];

const eventText = (event: Stored[1]): string => (typeof event === 'number' ? padded(event) : idText(event));

/** As they are proven. Their keys sort as rows do. */
export function* recordEventRows(db: Database, owner: number, after = ' '): Generator<EntryRow> {
  const [id = '', event = ''] = after.split(' ');
  const statement = db.prepare<[number, Buffer, Cell], Stored>(
    `SELECT id, event FROM ${RECORD_EVENTS} WHERE owner = ? AND (id, event) > (?, ?) ORDER BY id, event`,
  );
  const behind = [idBytes(id) ?? Buffer.alloc(0), idBytes(event) ?? Number(event)] as const;
  for (const [bytes, noted] of statement.raw().iterate(owner, ...behind)) {
    const record = idText(bytes);
    yield { key: `${record} ${eventText(noted)}`, place: RECORD_EVENTS, record, beside: {} };
  }
}
