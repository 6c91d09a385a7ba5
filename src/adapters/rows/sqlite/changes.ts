/** Applies writes to the file of one tenant's rows, within a transaction of its caller. */
import type { AssetType } from '../../../domain/assetTypes/assetType.js';
import { type Fields, ownValue } from '../../../domain/assetTypes/fieldTypes.js';
import { isSought, keyOf, type Row, sortValue } from '../../../domain/spaces.js';
import { RowRefusedError, type RowWrite, type Slice } from '../../../ports/rowStore.js';
import {
  AMONG_IDS,
  baseOf,
  type Cell,
  type Connection,
  type Index,
  idCell,
  idList,
  numberOf,
  SLOTS,
  type Space,
  textColumn,
} from './connection.js';
import { dropIndexes } from './indexes.js';
import { valueSql } from './pages.js';

/** What a row and a state that it had are alike in. `data` is last, so that no other column is read behind a long one. */
const COLUMNS = `row, space, key, id, from_pos, created, updated, ${SLOTS.join(', ')}, data`;
const INSERT = `INSERT INTO rows (${COLUMNS}) VALUES (${COLUMNS.replaceAll(/\w+/g, '?')})`;
const SET = [...SLOTS, 'data'].map((column) => `${column} = ?`).join(', ');
const UPDATE = `UPDATE rows SET key = ?, from_pos = ?, created = ?, updated = ?, ${SET} WHERE row = ?`;
/** A row goes into the past as it is stored. */
const TO_PAST = `INSERT INTO past (to_pos, how, batch, ${COLUMNS})
  SELECT ?, ?, (SELECT batch FROM seen WHERE seen.row = rows.row), ${COLUMNS} FROM rows WHERE row = ? AND from_pos <> ?`;

/** What a long clean-up may take at a time, in ms. */
const PIECE_MS = 50;
/** Rows that are deleted between two looks at the clock. */
const ROWS_OF_PIECE = 250;
/** Rows that a clean-up deletes one by one, and keeps indexes on demand for. */
const LARGE_CLEAN_UP = 10_000;

type Changed = { space: Space; readonly texts: TextChanges; rows: number; next: number };

/** @returns false if a part of a clean-up is left */
export function applySlice(connection: Connection, { position, writes, logBytes = 0 }: Slice): boolean {
  const changes = new Changes(connection);
  const isWhole = writes.every((write) => changes.apply(write));
  changes.finish(position);
  if (isWhole) connection.run('UPDATE tenant SET position = ?, bytes = bytes + ?', position, logBytes);
  return isWhole;
}

class Changes {
  readonly #spaces = new Map<string, Changed>();

  constructor(private readonly connection: Connection) {}

  /** @returns false if a part of it is left */
  apply(write: RowWrite): boolean {
    if (write.kind === 'define') this.#define(write.assetType);
    else if (write.kind === 'end') {
      const sql = 'UPDATE spaces SET revision = ?, last_event_at = ? WHERE name = ?';
      this.connection.run(sql, write.revision, write.at, write.space);
    } else {
      const changed = this.#changed(write.space);
      if (write.kind === 'put') this.#put(changed, write.row, write.was);
      else if (write.kind === 'delete') this.#remove(changed, this.#knownRow(changed, write.was.id), write.to);
      else if (write.kind === 'touch') this.#touch(changed, write.ids, write.batch);
      else if (write.kind === 'redact') this.#redact(changed, write.id, write.fields);
      else if (write.kind === 'forget') this.#forget(changed, write.field, write.before);
      else return this.#cleanUp(changed, write.batch, write.to);
    }
    return true;
  }

  /** Writes what is kept of each space. @param position of the event that changed them */
  finish(position: number): void {
    for (const { space, texts, rows, next } of this.#spaces.values()) {
      texts.write();
      const sql = 'UPDATE spaces SET rows = ?, next = ?, changed = ? WHERE space = ?';
      this.connection.run(sql, rows, next, position, space.number);
    }
  }

  #changed(name: string): Changed {
    const known = this.#spaces.get(name);
    if (known !== undefined) return known;
    const now = this.connection.spaceNow(name);
    if (now === undefined) throw new RowRefusedError(`There is no space "${name}".`);
    const { space, indexes, next, state } = now;
    const changed = { space, next, rows: state.rows, texts: new TextChanges(this.connection, indexes) };
    this.#spaces.set(name, changed);
    return changed;
  }

  #define(assetType: AssetType): void {
    const { name } = assetType;
    this.connection.run(
      `INSERT INTO spaces (name, rows, next, changed, revision, last_event_at, shape, asset_type, slots)
       VALUES (?, 0, 1, 0, -1, '', 0, ?, ?)
       ON CONFLICT (name) DO UPDATE SET asset_type = excluded.asset_type, slots = excluded.slots, shape = shape + 1`,
      name,
      JSON.stringify(assetType),
      JSON.stringify(slotsOf(assetType, this.connection.spaceNow(name)?.space)),
    );
    // Rows that follow have the new columns.
    const changed = this.#spaces.get(name);
    const now = this.connection.spaceNow(name);
    if (changed !== undefined && now !== undefined) changed.space = now.space;
  }

  #put(changed: Changed, { id, key, batch, fields, from, created, updated }: Row, was: Row | undefined): void {
    const { space } = changed;
    const slots = slotCells(space, fields);
    const known = was === undefined ? this.#rowOf(space, id) : this.#knownRow(changed, id);
    const row = known ?? baseOf(space) + changed.next;
    if (was !== undefined) this.connection.run(TO_PAST, from, 'changed', row, from);
    changed.texts.note(row, slots);
    const values = [from, created, updated, ...slots, JSON.stringify(fields)];
    if (known !== undefined) this.connection.run(UPDATE, key, ...values, row);
    else {
      changed.next += 1;
      changed.rows += 1;
      this.connection.run(INSERT, row, space.number, key, idCell(id), ...values);
    }
    if (known !== undefined || batch !== null)
      this.connection.run('INSERT OR REPLACE INTO seen VALUES (?, ?)', row, batch);
  }

  /** @param to absent: no version is kept */
  #remove(changed: Changed, row: number, to?: number): void {
    if (to !== undefined) this.connection.run(TO_PAST, to, 'deleted', row, to);
    changed.texts.note(row);
    this.connection.run('DELETE FROM rows WHERE row = ?', row);
    this.connection.run('DELETE FROM seen WHERE row = ?', row);
    changed.rows -= 1;
  }

  #touch({ space }: Changed, ids: readonly string[], batch: string | null): void {
    const touched = `SELECT row, ? FROM rows WHERE space = ? AND id ${AMONG_IDS}`;
    this.connection.run(`INSERT OR REPLACE INTO seen ${touched}`, batch, space.number, idList(ids));
  }

  /** Deletes rows without this batch id, in their order, until the time is over. It is the first write of its slice. */
  #cleanUp({ space, rows, next }: Changed, batch: string, to: number): boolean {
    const until = performance.now() + PIECE_MS;
    const [base, end] = [baseOf(space), baseOf(space) + next];
    let last = base + (this.connection.column<number>('SELECT cleaned FROM tenant').get() ?? 0);
    if (last === base) {
      const kept = this.connection.column<number>('SELECT count(*) FROM seen WHERE row > ? AND row < ? AND batch = ?');
      // They make each deletion several times as slow; later lists have them made again.
      if (rows - (kept.get(base, end, batch) ?? 0) > Math.max(LARGE_CLEAN_UP, rows / 10)) {
        const names = this.connection.column<string>('SELECT name FROM indexes WHERE space = ?').all(space.number);
        dropIndexes(this.connection, names);
        this.#spaces.delete(space.name);
      }
    }
    const outside = this.connection.column<number>(
      `SELECT rows.row FROM rows LEFT JOIN seen ON seen.row = rows.row
       WHERE rows.row > ? AND rows.row < ? AND seen.batch IS NOT ? LIMIT ${ROWS_OF_PIECE}`,
    );
    let isDone = false;
    while (!isDone && performance.now() < until) {
      const found = outside.all(last, end, batch);
      for (const row of found) this.#remove(this.#changed(space.name), row, to);
      last = found.at(-1) ?? end;
      isDone = found.length < ROWS_OF_PIECE;
    }
    this.connection.run('UPDATE tenant SET cleaned = ?', isDone ? 0 : last - base);
    return isDone;
  }

  #redact({ space }: Changed, id: string, fields: Fields): void {
    const versions = this.connection
      .query<{ n: number; data: string }>('SELECT n, data FROM past INDEXED BY past_id WHERE space = ? AND id = ?')
      .all(space.number, idCell(id));
    for (const { n, data } of versions) {
      const before: Fields = JSON.parse(data);
      const entries = Object.entries(before).map(([name, value]) => [name, ownValue(fields, name) ?? value] as const);
      const after: Fields = Object.fromEntries(entries.filter(([name]) => ownValue(fields, name) !== null));
      const cells = [keyOf(space.assetType, after), ...slotCells(space, after), JSON.stringify(after)];
      this.connection.run(`UPDATE past SET key = ?, ${SET} WHERE n = ?`, ...cells, n);
    }
  }

  #forget(changed: Changed, field: string, before: string): void {
    const base = baseOf(changed.space);
    const sql = `SELECT row FROM rows WHERE row > ? AND row < ? AND ${valueSql(changed.space, field)} < ?`;
    const old = this.connection.column<number>(sql).all(base, base + changed.next, sortValue(before));
    for (const row of old) this.#remove(changed, row);
  }

  #rowOf(space: Space, id: string): number | undefined {
    const sql = 'SELECT row FROM rows WHERE space = ? AND id = ?';
    return this.connection.column<number>(sql).get(space.number, idCell(id));
  }

  #knownRow({ space }: Changed, id: string): number {
    const row = this.#rowOf(space, id);
    if (row === undefined) throw new RowRefusedError(`"${space.name}" has no row ${id}, which the event changes.`);
    return row;
  }
}

/**
 * The columns of a space whose asset type changes. Fields that rows may have values of already have none: their values remain
 * in `data`.
 */
function slotsOf(assetType: AssetType, before?: Pick<Space, 'assetType' | 'slots'>): readonly string[] {
  const known = new Set([...(before?.slots ?? []), ...(before?.assetType.fields.map(({ name }) => name) ?? [])]);
  const added = assetType.fields.filter((field) => isSought(field) && !known.has(field.name));
  return [...(before?.slots ?? []), ...added.map(({ name }) => name)].slice(0, SLOTS.length);
}

const slotCells = ({ slots }: Space, fields: Fields): Cell[] =>
  SLOTS.map((_, slot) => {
    const name = slots[slot];
    return name === undefined ? null : sortValue(ownValue(fields, name) ?? null);
  });

/**
 * What a transaction changes of texts with trigrams. FTS5 writes out what it holds whenever a row comes out of order, and
 * whenever another table is written by a statement with a savepoint: so they are written last, index by index, in the order of
 * rows.
 */
class TextChanges {
  readonly #indexes: readonly { readonly name: string; readonly upto: number; readonly slot: number }[];
  /** Values of the columns of each row by its n: of those with trigrams before, of all now. None now: it is deleted. */
  readonly #changes = new Map<number, { readonly before: readonly Cell[]; readonly now: readonly Cell[] }>();

  constructor(
    private readonly connection: Connection,
    indexes: readonly Index[],
  ) {
    this.#indexes = indexes.flatMap(({ name, spec, upto }) => {
      const column = textColumn(spec);
      return column === undefined || upto === null ? [] : [{ name, upto, slot: SLOTS.indexOf(column) }];
    });
  }

  note(row: number, now: readonly Cell[] = []): void {
    const n = numberOf(row);
    if (!this.#indexes.some(({ upto }) => n <= upto)) return;
    const sql = `SELECT ${this.#indexes.map(({ slot }) => SLOTS[slot])} FROM rows WHERE row = ?`;
    const texts = () => Object.values(this.connection.query<Record<string, Cell>>(sql).get(row) ?? []);
    this.#changes.set(n, { before: this.#changes.get(n)?.before ?? texts(), now });
  }

  write(): void {
    const changes = [...this.#changes].sort(([a], [b]) => a - b);
    for (const [i, { name, upto, slot }] of this.#indexes.entries())
      for (const [n, { before, now }] of changes) {
        const [old = null, next = null] = [before[i], now[slot]];
        if (old === next || n > upto) continue;
        if (old !== null)
          this.connection.run(`INSERT INTO ${name} (${name}, rowid, c) VALUES ('delete', ?, ?)`, n, old);
        if (next !== null) this.connection.run(`INSERT INTO ${name} (rowid, c) VALUES (?, ?)`, n, next);
      }
  }
}
