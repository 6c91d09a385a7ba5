/** Applies writes to the file of one tenant's rows, within a transaction of its caller. */
import type { AssetType } from '../../../domain/assetTypes/assetType.js';
import type { Fields } from '../../../domain/assetTypes/fieldTypes.js';
import { keyOf, type Row, sortValue, type Version } from '../../../domain/row.js';
import { RowRefusedError, type RowWrite } from '../../../ports/rowStore.js';
import { baseOf, type Cell, idCell, type Space, slotCells, slotsOf, timeCell } from './cells.js';
import type { Connection } from './connection.js';
import { SLOTS } from './layout.js';
import { dropIndexes } from './makeIndex.js';
import { TextChanges } from './textIndex.js';

const columns = (count: number): string => Array.from({ length: count }, () => '?').join(', ');
const slotNames = Array.from({ length: SLOTS }, (_, slot) => `s${slot}`);
const INSERT = `INSERT INTO rows (row, space, id, key, from_pos, created, updated, ${slotNames.join(', ')}, data)
  VALUES (${columns(8 + SLOTS)})`;
const UPDATE = `UPDATE rows SET key = ?, from_pos = ?, created = ?, updated = ?, ${slotNames.map((slot) => `${slot} = ?`).join(', ')},
  data = ? WHERE row = ?`;
const INSERT_PAST = `INSERT INTO past (space, row, id, from_pos, to_pos, how, created, updated, batch, last_key, data)
  VALUES (${columns(11)})`;
/** A row goes into the past as it is stored. */
const DELETED_TO_PAST = `INSERT INTO past (space, row, id, from_pos, to_pos, how, created, updated, batch, last_key, data)
  SELECT space, row, id, from_pos, ?, 'deleted', created, updated, (SELECT batch FROM seen WHERE seen.row = rows.row), key, data
  FROM rows WHERE row = ? AND from_pos <> ?`;

/** What changed of a space in this transaction. */
type Changed = {
  readonly space: Space;
  readonly texts: TextChanges;
  rows: number;
  next: number;
  /** Rows themselves, not only their batch ids. */
  isWritten: boolean;
};

/** The changes of one transaction. */
export class Changes {
  readonly #connection: Connection;
  readonly #spaces = new Map<string, Changed>();
  readonly #batches = new Map<string, number>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  apply(write: Exclude<RowWrite, { kind: 'cleanUp' }>): void {
    if (write.kind === 'define') this.#define(write.assetType);
    else if (write.kind === 'end') this.#end(write);
    else {
      const changed = this.#changed(write.space);
      if (write.kind === 'put') this.#put(changed, write.row, write.was);
      else if (write.kind === 'delete') this.#delete(changed, write.was, write.to);
      else if (write.kind === 'touch') this.#touch(changed, write.ids, write.batch);
      else if (write.kind === 'redact') this.#redact(changed, write.id, write.fields);
      else this.#forget(changed, write.field, write.before);
    }
  }

  /**
   * Deletes rows without this batch id, in their order, until the time is over.
   * @returns whether all are gone
   */
  cleanUp(name: string, batch: string, to: number, until: number): boolean {
    const changed = this.#changed(name);
    const read = this.#connection.column<number>('SELECT cleaned FROM tenant').get() ?? 0;
    if (read === 0 && this.#isLarge(changed, batch)) {
      dropIndexes(this.#connection, changed.space.number);
      // The texts of this transaction as well are no longer indexed.
      this.#spaces.delete(name);
      return this.#cleanUpFrom(this.#changed(name), batch, to, until, 0);
    }
    return this.#cleanUpFrom(changed, batch, to, until, read);
  }

  /** Indexes on demand make each deletion several times as slow; later lists have them made again. */
  #isLarge({ rows, space, next }: Changed, batch: string): boolean {
    if (rows < LARGE_CLEAN_UP) return false;
    const kept = this.#connection
      .column<number>('SELECT count(*) FROM seen WHERE row > ? AND row < ? AND batch = ?')
      .get(baseOf(space), baseOf(space) + next, this.#batch(batch));
    return rows - (kept ?? 0) > Math.max(LARGE_CLEAN_UP, rows / 10);
  }

  #cleanUpFrom(changed: Changed, batch: string, to: number, until: number, read: number): boolean {
    const base = baseOf(changed.space);
    const outside = this.#connection.column<number>(
      `SELECT rows.row FROM rows LEFT JOIN seen ON seen.row = rows.row
       WHERE rows.row > ? AND rows.row < ? AND seen.batch IS NOT ? LIMIT ${ROWS_OF_PIECE}`,
    );
    const mark = this.#batch(batch);
    const end = base + changed.next;
    for (let last = base + read; ; ) {
      const next = Math.min(last + ROWS_LOOKED_AT, end);
      const rows = outside.all(last, next, mark);
      for (const row of rows) this.#remove(changed, row, to);
      last = (rows.length === ROWS_OF_PIECE && rows.at(-1)) || next - 1;
      const isDone = last === end - 1;
      if (!isDone && performance.now() < until) continue;
      this.#connection.run('UPDATE tenant SET cleaned = ?', isDone ? 0 : last - base);
      return isDone;
    }
  }

  /** Writes what is kept of each space. @param position of the event that changed them */
  finish(position: number): void {
    for (const { space, rows, next, isWritten, texts } of this.#spaces.values()) {
      texts.write();
      this.#connection.run(
        'UPDATE spaces SET rows = ?, next = ?, changed = ?, writes = writes + ? WHERE space = ?',
        rows,
        next,
        position,
        isWritten ? 1 : 0,
        space.number,
      );
    }
  }

  #changed(name: string): Changed {
    const known = this.#spaces.get(name);
    if (known !== undefined) return known;
    const now = this.#connection.spaceNow(name);
    if (now === undefined) throw new RowRefusedError(`There is no space "${name}".`);
    const { space, next, state, indexes } = now;
    const changed = {
      space,
      next,
      rows: state.rows,
      isWritten: false,
      texts: new TextChanges(this.#connection, space, indexes.texts),
    };
    this.#spaces.set(name, changed);
    return changed;
  }

  #define(assetType: AssetType): void {
    const before = this.#connection.spaceNow(assetType.name);
    const slots = JSON.stringify(slotsOf(assetType, before?.space));
    const text = JSON.stringify(assetType);
    if (before === undefined)
      this.#connection.run(
        "INSERT INTO spaces VALUES (NULL, ?, 0, 1, 0, -1, '', 0, 1, ?, ?)",
        assetType.name,
        text,
        slots,
      );
    else
      this.#connection.run(
        'UPDATE spaces SET asset_type = ?, slots = ?, shape = shape + 1, writes = writes + 1 WHERE name = ?',
        text,
        slots,
        assetType.name,
      );
    // Rows that follow have the new columns.
    const changed = this.#spaces.get(assetType.name);
    const now = this.#connection.spaceNow(assetType.name);
    if (changed !== undefined && now !== undefined) this.#spaces.set(assetType.name, { ...changed, space: now.space });
  }

  #end({ space, revision, at }: Extract<RowWrite, { kind: 'end' }>): void {
    this.#connection.run('UPDATE spaces SET revision = ?, last_event_at = ? WHERE name = ?', revision, at, space);
  }

  #put(changed: Changed, next: Row, was: Row | undefined): void {
    const { space } = changed;
    const row = this.#rowOf(space, next.id);
    if (row === undefined && was !== undefined) throw this.#isUnknown(space, next.id);
    const slots = slotCells(space, next.fields);
    const kept: Cell[] = [
      next.key,
      next.from,
      timeCell(next.created),
      timeCell(next.updated),
      ...slots,
      JSON.stringify(next.fields),
    ];
    changed.isWritten = true;
    if (row === undefined) {
      const n = changed.next;
      changed.next += 1;
      changed.rows += 1;
      this.#connection.run(INSERT, baseOf(space) + n, space.number, idCell(next.id), ...kept);
      changed.texts.add(n, slots);
      if (next.batch !== null) this.#see(baseOf(space) + n, next.batch);
      return;
    }
    if (was !== undefined && was.from !== next.from) this.#keep(space, row, was, next.from, 'changed', next.key);
    changed.texts.replace(row - baseOf(space), slots);
    this.#connection.run(UPDATE, ...kept, row);
    this.#see(row, next.batch);
  }

  #delete(changed: Changed, was: Row, to: number): void {
    const row = this.#rowOf(changed.space, was.id);
    if (row === undefined) throw this.#isUnknown(changed.space, was.id);
    this.#remove(changed, row, to);
  }

  /** @param to absent: no version is kept */
  #remove(changed: Changed, row: number, to?: number): void {
    if (to !== undefined) this.#connection.run(DELETED_TO_PAST, to, row, to);
    changed.texts.remove(row - baseOf(changed.space));
    this.#connection.run('DELETE FROM rows WHERE row = ?', row);
    this.#connection.run('DELETE FROM seen WHERE row = ?', row);
    changed.rows -= 1;
    changed.isWritten = true;
  }

  #keep(space: Space, row: number, was: Row, to: number, how: Version['how'], nextKey: string | null): void {
    this.#connection.run(
      INSERT_PAST,
      space.number,
      row,
      idCell(was.id),
      was.from,
      to,
      how,
      timeCell(was.created),
      timeCell(was.updated),
      was.batch === null ? null : this.#batch(was.batch),
      was.key === nextKey ? null : was.key,
      JSON.stringify(was.fields),
    );
  }

  #touch({ space }: Changed, ids: readonly string[], batch: string | null): void {
    for (const id of ids) {
      const row = this.#rowOf(space, id);
      if (row === undefined) throw this.#isUnknown(space, id);
      this.#see(row, batch);
    }
  }

  #see(row: number, batch: string | null): void {
    if (batch === null) this.#connection.run('DELETE FROM seen WHERE row = ?', row);
    else this.#connection.run('INSERT OR REPLACE INTO seen VALUES (?, ?)', row, this.#batch(batch));
  }

  #batch(id: string): number {
    let batch = this.#batches.get(id);
    if (batch !== undefined) return batch;
    const find = this.#connection.column<number>('SELECT batch FROM batches WHERE id = ?');
    batch = find.get(id);
    if (batch === undefined) {
      this.#connection.run('INSERT INTO batches (id) VALUES (?)', id);
      batch = find.get(id) ?? 0;
    }
    this.#batches.set(id, batch);
    return batch;
  }

  #redact({ space }: Changed, id: string, fields: Fields): void {
    const versions = this.#connection
      .tuples<[n: number, data: string]>('SELECT n, data FROM past INDEXED BY past_id WHERE space = ? AND id = ?')
      .all(space.number, idCell(id));
    for (const [n, data] of versions) {
      const before: Fields = JSON.parse(data);
      const set = Object.entries(fields).filter(([name]) => Object.hasOwn(before, name));
      if (set.length === 0) continue;
      const after = Object.fromEntries(
        Object.entries({ ...before, ...Object.fromEntries(set) }).filter(([, value]) => value !== null),
      );
      this.#connection.run(
        'UPDATE past SET data = ?, last_key = iif(last_key IS NULL, NULL, ?) WHERE n = ?',
        JSON.stringify(after),
        keyOf(space.assetType, after),
        n,
      );
    }
  }

  #forget(changed: Changed, field: string, before: string): void {
    const slot = changed.space.slots.indexOf(field);
    const base = baseOf(changed.space);
    const old: Cell[] = slot < 0 ? [`$."${field}"`, before] : [sortValue(before)];
    const rows = this.#connection
      .column<number>(`SELECT row FROM rows WHERE row > ? AND row < ? AND ${slot < 0 ? 'data ->> ?' : `s${slot}`} < ?`)
      .all(base, base + changed.next, ...old);
    for (const row of rows) this.#remove(changed, row);
  }

  #rowOf(space: Space, id: string): number | undefined {
    return this.#connection
      .column<number>('SELECT row FROM rows WHERE space = ? AND id = ?')
      .get(space.number, idCell(id));
  }

  #isUnknown(space: Space, id: string): RowRefusedError {
    return new RowRefusedError(`"${space.name}" has no row ${id}, which the event changes.`);
  }
}

/** Between two looks at the clock: rows that are deleted, and rows that are looked at. */
const ROWS_OF_PIECE = 250;
const ROWS_LOOKED_AT = 20_000;
/** Rows that a clean-up deletes one by one, and keeps indexes on demand for. */
const LARGE_CLEAN_UP = 10_000;
