/** What differs between two copies of a table: found once, by id, and kept in a file, of which pages are read. */
import { ownValue } from '../../../../domain/assetTypes/fieldTypes.js';
import { type Comparison, DIFFERENCE_KINDS, type DifferenceKind } from '../../../../ports/pastTables.js';
import type { TableRef } from '../../../../ports/readModels.js';
import { nextTurn } from '../../../../supervision/waiting.js';
import { type Database, openSqlite } from '../../../openSqlite.js';
import { ReadConnection, type TableShape } from '../read/readConnection.js';
import { records } from '../read/recordReads.js';
import { idText } from '../rowFormat.js';

const CACHE_MEGABYTES = 16;
/** Records of each copy that are read at once: some milliseconds. */
const READ_AT_ONCE = 1_000;

export type ComparedFiles = { readonly table: TableRef; readonly before: string; readonly after: string };

type Row = [id: Buffer, width: number, doc: string];

/** The records of a copy in the order of their ids. */
class RecordsById {
  readonly #connection: ReadConnection;
  readonly #table: TableRef;
  readonly total: number;
  readonly shape: TableShape | undefined;
  #rows: readonly Row[] = [];
  #at = 0;
  #isEnd = false;

  constructor(file: string, table: TableRef) {
    this.#connection = new ReadConnection({ file, cacheMegabytes: CACHE_MEGABYTES });
    this.#table = table;
    const found = this.#connection.read<{ total: number; shape: TableShape } | undefined>(
      table,
      undefined,
      ({ rowCount: total, shape }) => ({ total, shape }),
    );
    this.total = found.result?.total ?? 0;
    this.shape = found.result?.shape;
  }

  /** The next record; undefined at the end. `take` goes on. */
  get next(): Row | undefined {
    if (this.#at >= this.#rows.length && !this.#isEnd) this.#read();
    return this.#rows[this.#at];
  }

  take(): void {
    this.#at += 1;
  }

  #read(): void {
    const behind = this.#rows.at(-1)?.[0] ?? Buffer.alloc(0);
    const { result } = this.#connection.read<readonly Row[]>(this.#table, [], (table) =>
      this.#connection
        .tuples<Row>(`SELECT r.id, d.width, d.doc FROM ${records(table)} WHERE r.id > ? ORDER BY r.id LIMIT ?`)
        .all(behind, READ_AT_ONCE),
    );
    this.#rows = result;
    this.#at = 0;
    this.#isEnd = result.length < READ_AT_ONCE;
  }

  close(): void {
    this.#connection.close();
  }
}

type Same = (before: Row, after: Row) => boolean;

/** Compares the values of fields. A field that the table got later is null before. */
function sameness(before: TableShape | undefined, after: TableShape | undefined): Same {
  if (before === undefined || after === undefined) return () => false;
  const fieldsBefore = before.layout.fields;
  const fieldsAfter = after.layout.fields;
  if (fieldsBefore.every(({ name }, at) => name === fieldsAfter[at]?.name)) {
    const complete = ([, width, doc]: Row): string => after.text.complete(width, doc);
    return (one, other) => (one[1] === other[1] && one[2] === other[2]) || complete(one) === complete(other);
  }
  // Another release has given the table its fields in another order.
  const names = [...new Set([...fieldsBefore, ...fieldsAfter].map(({ name }) => name))];
  const values = ({ text }: TableShape, [, width, doc]: Row): string => {
    const fields = text.fields(width, doc);
    return JSON.stringify(names.map((name) => ownValue(fields, name) ?? null));
  };
  return (one, other) => values(before, one) === values(after, other);
}

/**
 * Writes the comparison of two copies to a file.
 * @param onProgress called with the part that is done
 * @throws the signal's reason
 */
export async function writeComparison(
  file: string,
  { table, before: beforeFile, after: afterFile }: ComparedFiles,
  { signal, onProgress }: { readonly signal: AbortSignal; readonly onProgress: (done: number) => void },
): Promise<void> {
  const opened: { close(): unknown }[] = [];
  const open = <T extends { close(): unknown }>(part: T): T => {
    opened.push(part);
    return part;
  };
  try {
    const db = open(openSqlite(file));
    db.exec(`PRAGMA synchronous = OFF;
      CREATE TABLE differences (number INTEGER PRIMARY KEY, kind INTEGER NOT NULL, id BLOB NOT NULL)`);
    const before = open(new RecordsById(beforeFile, table));
    const after = open(new RecordsById(afterFile, table));
    const all = Math.max(1, before.total + after.total);
    let seen = 0;
    const found = differences(before, after, sameness(before.shape, after.shape), (some) => {
      seen += some;
    });
    for (let isEnd = false; !isEnd; ) {
      signal.throwIfAborted();
      const until = seen + READ_AT_ONCE;
      isEnd = writeSome(db, found, () => seen < until);
      onProgress(seen / all);
      await nextTurn();
    }
  } finally {
    for (const part of opened) part.close();
  }
}

/** @returns whether there are no more */
function writeSome(db: Database, found: Iterator<Found>, hasTime: () => boolean): boolean {
  const insert = db.prepare<[number, Buffer]>('INSERT INTO differences (kind, id) VALUES (?, ?)');
  return db.transaction(() => {
    while (hasTime()) {
      const { done, value } = found.next();
      if (done === true) return true;
      if (value !== SAME) insert.run(DIFFERENCE_KINDS.indexOf(value.kind), value.id);
    }
    return false;
  })();
}

/** A record that is the same in both. */
const SAME = Symbol('same');
type Found = { readonly kind: DifferenceKind; readonly id: Buffer } | typeof SAME;

/** @param onSeen called with the records that each step has passed */
function* differences(
  before: RecordsById,
  after: RecordsById,
  isSame: Same,
  onSeen: (some: number) => void,
): Generator<Found, void, void> {
  for (;;) {
    const [one, other] = [before.next, after.next];
    if (one === undefined && other === undefined) return;
    const order = one === undefined ? 1 : other === undefined ? -1 : Buffer.compare(one[0], other[0]);
    if (order <= 0) before.take();
    if (order >= 0) after.take();
    onSeen(order === 0 ? 2 : 1);
    if (order < 0 && one !== undefined) yield { kind: 'deleted', id: one[0] };
    else if (order > 0 && other !== undefined) yield { kind: 'created', id: other[0] };
    else if (one !== undefined && other !== undefined && !isSame(one, other)) yield { kind: 'changed', id: other[0] };
    else yield SAME;
  }
}

export type OpenComparison = Comparison & { readonly close: () => void };

export function openComparison(file: string): OpenComparison {
  const db = openSqlite(file, { readonly: true, fileMustExist: true });
  const count = db.prepare<[number], number>('SELECT count(*) FROM differences WHERE kind = ?').pluck();
  const page = db.prepare<[number, number], { kind: number; id: Buffer }>(
    'SELECT kind, id FROM differences WHERE number > ? ORDER BY number LIMIT ?',
  );
  const countOf = (kind: DifferenceKind): number => count.get(DIFFERENCE_KINDS.indexOf(kind)) ?? 0;
  return {
    counts: { created: countOf('created'), changed: countOf('changed'), deleted: countOf('deleted') },
    page: (after, limit) =>
      page.all(after, limit).map(({ kind, id }) => ({ kind: DIFFERENCE_KINDS[kind] ?? 'changed', id: idText(id) })),
    close: () => db.close(),
  };
}
