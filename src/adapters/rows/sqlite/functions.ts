/** The functions that statements of a reader call. */
import type { Fields } from '../../../domain/assetTypes/fieldTypes.js';
import { ownValue } from '../../../domain/assetTypes/fieldTypes.js';
import { matchText, sortValue } from '../../../domain/row.js';
import type { Cell } from './cells.js';
import type { Connection } from './connection.js';
import type { RowSet } from './rowSet.js';

/** The caller has cancelled. */
export class NoLongerWantedError extends Error {
  override readonly name = 'NoLongerWantedError';
}

/** More entries of an index were passed than it was worth. */
class TooFarError extends Error {
  override readonly name = 'TooFarError';
}

const NOTHING_READ: { readonly text: string; readonly fields: Fields } = { text: '', fields: {} };

export class Functions {
  #parsed = NOTHING_READ;
  #set: RowSet | undefined;
  #entriesLeft = 0;

  /** @param isWanted asked now and then within long statements */
  constructor(
    readonly connection: Connection,
    isWanted: () => boolean,
  ) {
    const { db } = connection;
    const check = (): 1 => {
      if (!isWanted()) throw new NoLongerWantedError('Nobody waits for the answer any more.');
      return 1;
    };
    db.function('still_wanted', check);
    db.function('sort_of', (field, data) => sortValue(ownValue(this.#fieldsOf(String(data)), String(field)) ?? null));
    db.function('match_text', (value, isBoolean) => {
      return typeof value === 'number' ? matchText(isBoolean === 1 ? value === 1 : value) : value;
    });
    db.function('collect', (n) => {
      this.#set?.add(Number(n));
      return 1;
    });
    db.function('is_member', (n) => {
      this.#entriesLeft -= 1;
      if (this.#entriesLeft % 4_096 === 0) check();
      if (this.#entriesLeft < 0) throw new TooFarError('The index was followed too far.');
      return this.#set?.has(Number(n)) === true ? 1 : 0;
    });
  }

  /** Conditions and sort values of one row are read one after the other. */
  #fieldsOf(data: string): Fields {
    if (this.#parsed.text !== data) this.#parsed = { text: data, fields: JSON.parse(data) };
    return this.#parsed.fields;
  }

  /** Adds what the statement passes to `collect`. */
  collect(sql: string, cells: readonly Cell[], set: RowSet): void {
    this.#set = set;
    this.connection.column(sql).get(...cells);
  }

  /**
   * The first column of a statement that asks `is_member`.
   * @param entries how often it may ask
   * @returns undefined if it asked more often
   */
  among(set: RowSet, entries: number, sql: string, cells: readonly Cell[]): readonly number[] | undefined {
    this.#set = set;
    this.#entriesLeft = entries;
    try {
      return this.connection.column<number>(sql).all(...cells);
    } catch (error) {
      if (error instanceof TooFarError) return undefined;
      throw error;
    }
  }

  /** Before a question is answered. */
  forget(): void {
    this.#parsed = NOTHING_READ;
    this.#set = undefined;
  }
}
