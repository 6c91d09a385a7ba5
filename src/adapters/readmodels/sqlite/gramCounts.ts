/**
 * Grams: the single characters of a text and its pairs of neighbours. A trigram index finds no text that is shorter than
 * three characters by itself, but each gram of a text that ends with END_OF_TEXT is the beginning of some trigram.
 */
import type Database from 'better-sqlite3';
import { LAST_CHARACTER } from './rowFormat.js';
import { gramTable } from './schema.js';

/** Twice behind each text in a trigram index (ETX of ISO 646), so that its last characters begin trigrams as well. */
const END_OF_TEXT = '\u0003';

export const ended = (text: string): string => text + END_OF_TEXT + END_OF_TEXT;

/** False for text that could take the end of another for its own. */
export const isFreeOfEnds = (text: string): boolean => !text.includes(END_OF_TEXT);

/** The first and the last trigram that may begin with a gram. */
export const trigramRange = (gram: string): readonly [string, string] => [gram, gram + LAST_CHARACTER + LAST_CHARACTER];

/** A gram as a number: the first character times this, plus the second, or 0 where there is none (NUL is not stored). */
const SECOND = 2 ** 21;

function gramOf(key: number): string {
  const second = key % SECOND;
  const first = String.fromCodePoint((key - second) / SECOND);
  return second === 0 ? first : first + String.fromCodePoint(second);
}

/** How the count of a gram changes, and the text it was met in last: it counts once a text. */
type Change = { by: number; metIn: number };

/** How the counts of one field change. */
class FieldChanges {
  readonly #changes = new Map<number, Change>();
  #texts = 0;

  count(text: string, by: 1 | -1): void {
    this.#texts += 1;
    let before: number | undefined;
    for (let i = 0; i < text.length; i++) {
      const character = text.codePointAt(i) ?? 0;
      if (character > 0xffff) i += 1;
      this.#count(character * SECOND, by);
      if (before !== undefined) this.#count(before * SECOND + character, by);
      before = character;
    }
  }

  #count(key: number, by: 1 | -1): void {
    const change = this.#changes.get(key);
    if (change === undefined) {
      this.#changes.set(key, { by, metIn: this.#texts });
    } else if (change.metIn !== this.#texts) {
      change.by += by;
      change.metIn = this.#texts;
    }
  }

  /** The grams whose counts change, and by how much. */
  *[Symbol.iterator](): Iterator<readonly [string, number]> {
    for (const [key, { by }] of this.#changes) if (by !== 0) yield [gramOf(key), by];
  }
}

/** Counts, for each gram and field of a table, the records that have it. What changes is written by `flush`. */
export class GramCounts {
  readonly #fields = new Map<string, FieldChanges>();
  readonly #add: Database.Statement<[string, string, number]>;
  readonly #remove: Database.Statement<[string, string]>;
  readonly #clear: Database.Statement<[]>;

  constructor(db: Database.Database, id: number) {
    const table = gramTable(id);
    this.#add = db.prepare(
      `INSERT INTO ${table} (gram, field, records) VALUES (?, ?, ?)
       ON CONFLICT (gram, field) DO UPDATE SET records = records + excluded.records`,
    );
    this.#remove = db.prepare(`DELETE FROM ${table} WHERE gram = ? AND field = ? AND records = 0`);
    this.#clear = db.prepare(`DELETE FROM ${table}`);
  }

  /** @param by 1 for a record that has come, -1 for one that has gone */
  count(field: string, text: string, by: 1 | -1): void {
    let changes = this.#fields.get(field);
    if (changes === undefined) {
      changes = new FieldChanges();
      this.#fields.set(field, changes);
    }
    changes.count(text, by);
  }

  /** Drops what is not yet written: the table is made anew. */
  forget(): void {
    this.#fields.clear();
  }

  /** Sets every count to 0. */
  clear(): void {
    this.forget();
    this.#clear.run();
  }

  /** Belongs before the end of the transaction, and before the table's layout changes. */
  flush(): void {
    for (const [field, changes] of this.#fields) {
      for (const [gram, by] of changes) {
        this.#add.run(gram, field, by);
        if (by < 0) this.#remove.run(gram, field);
      }
    }
    this.#fields.clear();
  }
}
