/** Keeps the trigrams of texts in step with rows. */
import type { Cell, Space } from './cells.js';
import { baseOf } from './cells.js';
import type { Connection } from './connection.js';
import type { TextIndex } from './indexes.js';

type Change = { readonly n: number; readonly old: Cell | undefined; readonly next: Cell | undefined };

/**
 * The changes of one transaction. FTS5 writes out what it holds whenever a row comes out of order, and whenever another table
 * is written by a statement with a savepoint: so they are written last, index by index, in the order of rows.
 */
export class TextChanges {
  readonly #connection: Connection;
  readonly #base: number;
  readonly #indexes: readonly TextIndex[];
  readonly #changes: readonly Change[][];

  constructor(connection: Connection, space: Space, indexes: readonly TextIndex[]) {
    this.#connection = connection;
    this.#base = baseOf(space);
    this.#indexes = indexes;
    this.#changes = indexes.map(() => []);
  }

  add(n: number, slots: readonly Cell[]): void {
    this.#note(
      n,
      () => undefined,
      (slot) => slots[slot],
    );
  }

  /** Before the row is changed. */
  replace(n: number, slots: readonly Cell[]): void {
    this.#note(
      n,
      (slot) => this.#stored(n, slot),
      (slot) => slots[slot],
    );
  }

  /** Before the row is deleted. */
  remove(n: number): void {
    this.#note(
      n,
      (slot) => this.#stored(n, slot),
      () => undefined,
    );
  }

  #note(n: number, old: (slot: number) => Cell | undefined, next: (slot: number) => Cell | undefined): void {
    for (const [i, { slot, upto }] of this.#indexes.entries()) {
      if (upto !== undefined && n > upto) continue;
      const change = { n, old: old(slot), next: next(slot) };
      if (change.old !== change.next) this.#changes[i]?.push(change);
    }
  }

  #stored(n: number, slot: number): Cell | undefined {
    return this.#connection.column<Cell>(`SELECT s${slot} FROM rows WHERE row = ?`).get(this.#base + n);
  }

  write(): void {
    for (const [i, { name }] of this.#indexes.entries()) {
      const changes = this.#changes[i] ?? [];
      for (const { n, old, next } of changes.toSorted((a, b) => a.n - b.n)) {
        if (typeof old === 'string')
          this.#connection.run(`INSERT INTO ${name} (${name}, rowid, c) VALUES ('delete', ?, ?)`, n, old);
        if (typeof next === 'string') this.#connection.run(`INSERT INTO ${name} (rowid, c) VALUES (?, ?)`, n, next);
      }
      changes.length = 0;
    }
  }
}
