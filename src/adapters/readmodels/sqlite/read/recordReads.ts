/** Reads records by row, id or key. */
import { MAX_DIFFERENCE_CHARACTERS, MAX_UNDONE_CHARACTERS } from '../../../../domain/limits.js';
import type { DecisionReads, DeletedPage, TableSnapshot } from '../../../../ports/decisionReads.js';
import type { Revision } from '../../../../ports/eventStore.js';
import type {
  FieldOrder,
  FilterValue,
  RecordJson,
  RecordReads,
  TableFigures,
  TableRef,
} from '../../../../ports/readModels.js';
import { AnswerSize, PageRoom } from '../../shared/answerSize.js';
import { storedId } from '../../shared/recordText.js';
import { LIVE, NO_BATCH } from '../ddl.js';
import { conditionOf } from '../query/conditions.js';
import { guarded, indexSource } from '../query/rowSources.js';
import { hexIdText, idBytes, idText, timeText } from '../rowFormat.js';
import { hasHeads } from '../tableStorage.js';
import type { Cell, ReadConnection, ReadTable, TableIdentity } from './readConnection.js';
import { NO_RECORDS, type StoredRecordsText, writeStored } from './storedTexts.js';

function recordText(
  table: TableIdentity,
  [id, createdAt, updatedAt, width, own]: RecordTuple,
  order?: FieldOrder,
): RecordJson {
  const head = { id: idText(id), createdAt: timeText(createdAt), updatedAt: timeText(updatedAt) };
  return table.shape.text.json(head, { width, own }, order);
}

/** The records of these rows as JSON text. @throws AnswerTooLargeError when they are too large for a page */
export function recordTexts(connection: ReadConnection, table: ReadTable, rows: readonly number[]): RecordJson[] {
  const select = connection.tuples<RecordTuple>(recordQuery(table, 'row'));
  const size = new AnswerSize('page');
  return rows.flatMap((row) => {
    const tuple = select.get(row);
    return tuple === undefined ? [] : [size.add(recordText(table, tuple))];
  });
}

/** Reads one record after another as JSON text. */
export function recordReader(
  connection: ReadConnection,
  table: ReadTable,
  by: 'row' | 'id',
): (value: Cell) => RecordJson | undefined {
  const select = connection.tuples<RecordTuple>(recordQuery(table, by));
  return (value) => {
    const tuple = select.get(value);
    return tuple === undefined ? undefined : recordText(table, tuple);
  };
}

export function getRecord(
  connection: ReadConnection,
  ref: TableRef,
  id: string,
  order?: FieldOrder,
): RecordJson | undefined {
  const bytes = idBytes(id);
  if (bytes === undefined) return undefined;
  return getOfLastSeen(connection, ref, bytes, order) ?? getOfTable(connection, ref, bytes, order);
}

type GetRecord = (connection: ReadConnection, ref: TableRef, id: Buffer, order?: FieldOrder) => RecordJson | undefined;

const getOfTable: GetRecord = (connection, ref, id, order) => {
  const found = connection.read<RecordJson | undefined>(ref, undefined, (table) => {
    connection.remember(ref, table);
    const tuple = connection.tuples<RecordTuple>(recordQuery(table, 'id')).get(id);
    return tuple === undefined ? undefined : recordText(table, tuple, order);
  });
  return found.result;
};

/** Takes one statement instead of four. It checks as well that the table is as it was last; if not, it finds nothing. */
const getOfLastSeen: GetRecord = (connection, ref, id, order) => {
  const table = connection.lastSeen(ref);
  if (table === undefined) return undefined;
  try {
    const sql = `SELECT ${recordColumns(table)} FROM catalog AS c CROSS JOIN ${records(table)}
      WHERE c.id = ${table.id} AND c.copy = ${LIVE} AND c.version = ? AND r.id = ?`;
    const tuple = connection.tuples<RecordTuple>(sql).get(table.shape.version, id);
    return tuple === undefined ? undefined : recordText(table, tuple, order);
  } catch {
    // A rebuild may have removed its tables. Any other failure shows up in `getOfTable`.
    return undefined;
  }
};

function storedText(table: ReadTable, [id, createdAt, updatedAt, width, doc, batchId, key]: StoredTuple): string {
  const own = table.shape.text.complete(width, doc);
  const head = { id: hexIdText(id), createdAt: timeText(createdAt), updatedAt: timeText(updatedAt), batchId, key };
  return writeStored(head, own);
}

/** The ids that the records of these keys had before clean-ups deleted them. */
function formerIds(connection: ReadConnection, table: ReadTable, keys: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  if (table.cleanedUp === undefined) return found;
  const select = connection.tuples<[Buffer]>(
    `SELECT id FROM ${table.cleanedUp.rows} WHERE u = ? ORDER BY revision DESC, row DESC LIMIT 1`,
  );
  for (const key of keys) {
    const [id] = select.get(key) ?? [];
    if (id !== undefined) found.set(key, idText(id));
  }
  return found;
}

/** See `DecisionReads`: records with one of these keys or ids, each once. @throws AnswerTooLargeError */
export function readSnapshot(
  connection: ReadConnection,
  ref: TableRef,
  wanted: { readonly keys: readonly string[]; readonly ids: readonly string[] },
): Omit<TableSnapshot, 'records'> & { readonly records: StoredRecordsText } {
  const none = { records: NO_RECORDS, formerIds: new Map<string, string>() };
  const { result, ...at } = connection.read(ref, none, (table) => {
    const found = new Map<string, string>();
    const keys = new Set<string | undefined>();
    const size = new AnswerSize('decision');
    const look = (sql: string, values: readonly string[]): void => {
      if (values.length === 0) return;
      for (const tuple of connection.tuples<StoredTuple>(sql).iterate(JSON.stringify(values))) {
        const [id, key] = [tuple[0], tuple[6]];
        keys.add(key);
        if (!found.has(id)) found.set(id, size.add(storedText(table, tuple)));
      }
    };
    const hasKeys = table.shape.layout.unique !== undefined;
    if (hasKeys) look(listedQuery(table, 'u', 'listed.value'), wanted.keys);
    const former = formerIds(connection, table, hasKeys ? wanted.keys.filter((key) => !keys.has(key)) : []);
    look(
      listedQuery(table, 'id', 'unhex(listed.value)'),
      [...wanted.ids, ...former.values()].flatMap((id) => storedId(id)?.replaceAll('-', '') ?? []),
    );
    return { records: [...found.values()].join('\n'), formerIds: former };
  });
  return { ...at, ...result };
}

/** See `DecisionReads`. The records are one text, for the way between threads. */
export function deletedRecords(
  connection: ReadConnection,
  ref: TableRef,
  cleanUp: Revision,
  { after, limit, isCounted = false }: Parameters<DecisionReads['deletedRecords']>[2],
): Omit<DeletedPage, 'records'> & { readonly records: StoredRecordsText } {
  type Found = ReturnType<typeof deletedRecords>;
  const none: Found = { records: NO_RECORDS, total: isCounted ? 0 : undefined };
  const found = connection.read<Found>(ref, none, (table) => {
    if (table.cleanedUp === undefined) return none;
    const cleanedUp = `${table.cleanedUp.rows} AS s`;
    // The plus makes SQLite find later ones by their key.
    const ofCleanUp = `s.revision = ? AND NOT EXISTS (
      SELECT 1 FROM ${table.cleanedUp.rows} AS later WHERE later.u = s.u AND +later.revision > s.revision)`;
    const behind = idBytes(after ?? '') ?? Buffer.alloc(0);
    const count = `SELECT count(*) FROM ${cleanedUp} WHERE ${ofCleanUp} AND s.id > ?`;
    const total = isCounted ? connection.number(count, [cleanUp, behind]) : undefined;
    const sql = `SELECT hex(s.id), 0, 0, s.width, s.doc, n.batch FROM ${cleanedUp} LEFT JOIN batches AS n ON n.id = s.batch
      WHERE ${ofCleanUp} AND s.id > ? ORDER BY s.id LIMIT ?`;
    const texts: string[] = [];
    let characters = 0;
    let last: string | undefined;
    for (const tuple of connection.tuples<StoredTuple>(sql).iterate(cleanUp, behind, limit + 1)) {
      const text = storedText(table, tuple);
      characters += text.length;
      const isFull = texts.length === limit || (texts.length > 0 && characters > MAX_UNDONE_CHARACTERS);
      if (isFull) return { records: texts.join('\n'), total, next: last };
      texts.push(text);
      last = hexIdText(tuple[0]);
    }
    return { records: texts.join('\n'), total };
  });
  return found.result;
}

/** Records with exactly one of these values in a field (or `id`). @throws AnswerTooLargeError */
export function findRecords(
  connection: ReadConnection,
  ref: TableRef,
  field: string,
  values: readonly string[],
): StoredRecordsText {
  const found = connection.read(ref, NO_RECORDS, (table) => {
    const { sql, cells } = conditionOf({ kind: 'equals', field, anyOf: values }, table);
    const size = new AnswerSize('decision');
    const texts: string[] = [];
    // A subquery: the condition names columns that the documents may have as well.
    const rows = `SELECT r.row FROM ${table.shape.parts.records.rows} AS r WHERE ${sql}`;
    const query = `${storedQuery(table, `r.row IN (${rows})`)} ORDER BY r.id`;
    for (const tuple of connection.tuples<StoredTuple>(query).iterate(...cells)) {
      texts.push(size.add(storedText(table, tuple)));
    }
    return texts.join('\n');
  });
  return found.result;
}

/** How many records a clean-up with this batch id would delete. */
export function countOutsideBatch(
  connection: ReadConnection,
  ref: TableRef,
  batchId: string,
): Awaited<ReturnType<DecisionReads['countOutsideBatch']>> {
  const { result, ...at } = connection.read(ref, { count: 0, inside: 0 }, (table) => {
    const batch = batchNumber(connection, batchId);
    if (batch === NO_BATCH) return { count: table.rowCount, inside: 0 };
    const inside = connection.number(`SELECT count(*) FROM ${table.shape.parts.batches.rows} WHERE batch = ?`, [batch]);
    return { count: table.rowCount - inside, inside };
  });
  return { ...at, ...result };
}

const batchNumber = (connection: ReadConnection, batchId: string): number =>
  connection.number('SELECT id FROM batches WHERE batch = ?', [batchId]);

/** The first records, in the order of creation, that such a clean-up would delete. */
export function someOutsideBatch(
  connection: ReadConnection,
  ref: TableRef,
  batchId: string,
  limit: number,
): StoredRecordsText {
  const found = connection.read(ref, NO_RECORDS, (table) => {
    const rows = `SELECT row FROM ${table.shape.parts.batches.rows} WHERE batch <> ? OR batch = ${NO_BATCH} ORDER BY row LIMIT ?`;
    const sql = `${storedQuery(table, `r.row IN (${rows})`)} ORDER BY r.row`;
    const texts: string[] = [];
    let characters = 0;
    for (const tuple of connection.tuples<StoredTuple>(sql).iterate(batchNumber(connection, batchId), limit)) {
      const text = storedText(table, tuple);
      characters += text.length;
      if (texts.length > 0 && characters > MAX_DIFFERENCE_CHARACTERS) break;
      texts.push(text);
    }
    return texts.join('\n');
  });
  return found.result;
}

/** See `RecordReads`. */
export function readCounts(
  connection: ReadConnection,
  ref: TableRef,
  field: string,
  values: readonly FilterValue[],
): readonly number[] {
  const none = values.map(() => 0);
  const found = connection.read<readonly number[]>(ref, none, (table) =>
    values.map((value) => {
      const { from, where, cells } = indexSource(
        table,
        [],
        conditionOf({ kind: 'equals', field, anyOf: [value] }, table),
      );
      return connection.number(`SELECT count(*) FROM ${from} WHERE ${guarded(where)}`, cells);
    }),
  );
  return found.result;
}

export function readFigures(connection: ReadConnection, tables: readonly TableRef[]): readonly TableFigures[] {
  const asked = JSON.stringify(tables.map(({ tenant, table }) => [tenant, table]));
  return connection.all<TableFigures>(
    `SELECT tenant, name AS "table", row_count AS records, last_event_at AS lastEventAt
     FROM json_each(?) AS asked CROSS JOIN catalog
     WHERE tenant = asked.value ->> 0 AND name = asked.value ->> 1 AND copy = ${LIVE}`,
    [asked],
  );
}

/** SQL that reads records: `r` is the table of records, `d` that of their documents. */
type RecordTuple = [id: Buffer, createdAt: number, updatedAt: number, width: number, doc: string];

/** The table that a record's id and times are read from: the documents', if it has them. */
const headOf = ({ shape }: TableIdentity): 'd' | 'r' => (hasHeads(shape.parts) ? 'd' : 'r');

function recordColumns(table: TableIdentity): string {
  const head = headOf(table);
  return `${head}.id, ${head}.created_at, ${head}.updated_at, d.width, d.doc`;
}

export const records = ({ shape: { parts } }: TableIdentity): string =>
  `${parts.records.rows} AS r JOIN ${parts.docs.rows} AS d ON d.row = r.row`;

/** Reads the record of a row, or of an id. */
function recordQuery(table: TableIdentity, by: 'row' | 'id'): string {
  const isInDocs = by === 'row' && hasHeads(table.shape.parts);
  const from = isInDocs ? `${table.shape.parts.docs.rows} AS d` : records(table);
  return `SELECT ${recordColumns(table)} FROM ${from} WHERE ${isInDocs ? 'd' : 'r'}.${by} = ?`;
}

/** The id is hexadecimal digits: to make a Buffer of each would cost more than to find the record. */
type StoredTuple = [
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

const storedQuery = (table: ReadTable, where: string): string =>
  `SELECT ${storedColumns(table)} FROM ${records(table)} WHERE ${where}`;

/** Reads records by many values in one statement. @param value of the list's entries, as SQL */
const listedQuery = (table: ReadTable, column: 'u' | 'id', value: string): string =>
  `SELECT ${storedColumns(table)}${table.shape.layout.unique === undefined ? '' : ', r.u'}
   FROM json_each(?) AS listed CROSS JOIN ${table.shape.parts.records.rows} AS r ON r.${column} = ${value}
   CROSS JOIN ${table.shape.parts.docs.rows} AS d ON d.row = r.row`;

/** One record a line: one text is far cheaper to hand to another thread than many. */
export type RecordLines = { readonly revision: Revision; readonly lines: string };

const NONE = 'null';

/** See `RecordReads`. */
export function readByIds(connection: ReadConnection, ref: TableRef, ids: readonly string[]): RecordLines {
  const { revision, result } = connection.read(
    ref,
    ids.map(() => NONE),
    (table) => {
      const read = recordReader(connection, table, 'id');
      const room = new PageRoom();
      const lines: string[] = [];
      for (const id of ids) {
        const line = read(idBytes(id) ?? null) ?? NONE;
        if (!room.take(line)) break;
        lines.push(line);
      }
      return lines;
    },
  );
  return { revision, lines: result.join('\n') };
}

export const recordsOf = ({ revision, lines }: RecordLines): Awaited<ReturnType<RecordReads['byIds']>> => ({
  revision,
  records: lines === '' ? [] : lines.split('\n').map((line) => (line === NONE ? null : line)),
});

/** See `RecordReads`. */
export function readCleanedUpIds(
  connection: ReadConnection,
  ref: TableRef,
  cleanUp: Revision,
  { behind, limit }: Parameters<RecordReads['cleanedUpIds']>[2],
): readonly string[] {
  const found = connection.read<readonly string[]>(ref, [], ({ cleanedUp }) => {
    if (cleanedUp === undefined) return [];
    const sql = `SELECT id FROM ${cleanedUp.rows} WHERE revision = ? AND id > ? ORDER BY id LIMIT ?`;
    const start = idBytes(behind ?? '') ?? Buffer.alloc(0);
    return connection.column<Buffer>(sql, [cleanUp, start, limit]).map(idText);
  });
  return found.result;
}
