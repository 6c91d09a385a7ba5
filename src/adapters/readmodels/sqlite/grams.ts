/**
 * Grams: the single characters of a text and its pairs of neighbours. A trigram index finds no text that is shorter than
 * three characters by itself, but each gram of a text that ends with END_OF_TEXT is the beginning of some trigram.
 */
import type Database from 'better-sqlite3';
import { gramTable } from './schema.js';

/** Twice behind each text in a trigram index (ETX of ISO 646), so that its last characters begin trigrams as well. */
const END_OF_TEXT = '\u0003';

export const ended = (text: string): string => text + END_OF_TEXT + END_OF_TEXT;

/** False for text that could take the end of another for its own. */
export const isFreeOfEnds = (text: string): boolean => !text.includes(END_OF_TEXT);

const LAST_CHARACTER = '\u{10ffff}';

/** The first and the last trigram that may begin with a gram. */
export const trigramRange = (gram: string): readonly [string, string] => [gram, gram + LAST_CHARACTER + LAST_CHARACTER];

/** Grams as numbers: the first character times one of these, plus the second, or 0 where there is none (NUL is not stored). */
const ASCII = 128;
const UNICODE = 2 ** 21;

const gramOf = (key: number, base: number): string => {
  const second = key % base;
  const first = String.fromCodePoint((key - second) / base);
  return second === 0 ? first : first + String.fromCodePoint(second);
};

/** The text in which a gram of ASCII was met last: each counts once a text. */
const metIn = new Int32Array(ASCII * ASCII);
let texts = 0;

/** Tables for changes of grams of ASCII, all zero, to be used again: each takes 64 KB. */
const spare: Int32Array[] = [];
const MOST_SPARE = 32;
/** From so many texts of a field on a table is worth its room; a slice of many tenants' events has few of each. */
const MANY_TEXTS = 64;

/** How the counts of one field change. Nearly all grams are of ASCII, and of many texts those must cost next to nothing. */
class FieldChanges {
  #texts = 0;
  #ascii: Int32Array | undefined;
  readonly #inAscii: number[] = [];
  readonly #others = new Map<number, number>();
  readonly #met = new Set<number>();

  count(text: string, by: 1 | -1): void {
    texts = (texts + 1) | 0;
    this.#met.clear();
    this.#texts += 1;
    if (this.#texts === MANY_TEXTS) this.#moveAscii(spare.pop() ?? new Int32Array(ASCII * ASCII));
    let before: number | undefined;
    for (let i = 0; i < text.length; i++) {
      const character = text.codePointAt(i) ?? 0;
      if (character > 0xffff) i += 1;
      this.#count(character, 0, by);
      if (before !== undefined) this.#count(before, character, by);
      before = character;
    }
  }

  #count(first: number, second: number, by: 1 | -1): void {
    if (first < ASCII && second < ASCII) {
      const key = first * ASCII + second;
      if (metIn[key] === texts) return;
      metIn[key] = texts;
      if (this.#ascii !== undefined) {
        this.#addAscii(this.#ascii, key, by);
        return;
      }
    }
    const key = first * UNICODE + second;
    if (first >= ASCII || second >= ASCII) {
      if (this.#met.has(key)) return;
      this.#met.add(key);
    }
    this.#others.set(key, (this.#others.get(key) ?? 0) + by);
  }

  #addAscii(ascii: Int32Array, key: number, by: number): void {
    const change = ascii[key] ?? 0;
    if (change === 0) this.#inAscii.push(key);
    ascii[key] = change + by;
  }

  #moveAscii(ascii: Int32Array): void {
    for (const [key, by] of this.#others) {
      const second = key % UNICODE;
      const first = (key - second) / UNICODE;
      if (first >= ASCII || second >= ASCII) continue;
      this.#others.delete(key);
      this.#addAscii(ascii, first * ASCII + second, by);
    }
    this.#ascii = ascii;
  }

  /** What has changed since. To be called once, at the end. */
  *take(): Iterable<readonly [string, number]> {
    for (const [key, by] of this.#others) if (by !== 0) yield [gramOf(key, UNICODE), by];
    if (this.#ascii === undefined) return;
    for (const key of this.#inAscii) {
      const by = this.#ascii[key] ?? 0;
      this.#ascii[key] = 0;
      if (by !== 0) yield [gramOf(key, ASCII), by];
    }
    if (spare.length < MOST_SPARE) spare.push(this.#ascii);
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
      for (const [gram, by] of changes.take()) {
        this.#add.run(gram, field, by);
        if (by < 0) this.#remove.run(gram, field);
      }
    }
    this.#fields.clear();
  }
}
