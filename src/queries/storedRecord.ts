/** Rows as decisions take them: most records of most batches have not changed, which their text tells without parsing. */
import type { AssetType } from '../domain/assetTypes/assetType.js';
import { type Fields, type FieldValue, ownValue } from '../domain/assetTypes/fieldTypes.js';
import type { StoredRow } from '../ports/rowStore.js';

export type StoredRecord = {
  readonly id: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly batchId: string | null;
  /** All fields of the asset type; null if unset. */
  readonly fields: Fields;
} & Partial<Unparsed>;

/** Shortcuts that need no parsing of the record's fields, which is the largest cost of a batch. */
type Unparsed = {
  /** Value of the unique field. */
  readonly key: string | undefined;
  /** @returns true if it certainly has these values; false if unknown */
  has(fields: Fields): boolean;
  /** The same record with another batch id. */
  inBatch(batchId: string | null): StoredRecord;
};

export class UnparsedRecord implements StoredRecord {
  readonly id: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly batchId: string | null;
  readonly key: string | undefined;
  readonly #row: StoredRow;
  readonly #assetType: AssetType;
  #fields: Fields | undefined;

  constructor(row: StoredRow, assetType: AssetType) {
    this.id = row.id;
    this.createdAt = row.created;
    this.updatedAt = row.updated;
    this.batchId = row.batch;
    this.key = row.key ?? undefined;
    this.#row = row;
    this.#assetType = assetType;
  }

  get fields(): Fields {
    if (this.#fields === undefined) {
      const set: Fields = JSON.parse(this.#row.data);
      const all = this.#assetType.fields.map(({ name }) => [name, ownValue(set, name) ?? null] as const);
      this.#fields = Object.fromEntries(all);
    }
    return this.#fields;
  }

  has(fields: Fields): boolean {
    return standIn(this.#row.data, fields);
  }

  inBatch(batchId: string | null): StoredRecord {
    return new UnparsedRecord({ ...this.#row, batch: batchId }, this.#assetType);
  }
}

/** @returns true only if the text of a row has each field with its value, in this order; false means unknown */
function standIn(text: string, fields: Fields): boolean {
  let at = 1;
  for (const name of Object.keys(fields)) {
    // Only a member looks like this: within a value, each quotation mark is escaped.
    const member = `${JSON.stringify(name)}:`;
    const value = ownValue(fields, name) ?? null;
    const found = text.startsWith(member, at + 1) ? at + 1 : text.indexOf(member, value === null ? 0 : at);
    if (value === null) {
      // A row's text has no nulls.
      if (found >= 0) return false;
      continue;
    }
    if (found < 0) return false;
    at = endOfValue(text, found + member.length, value);
    if (at < 0) return false;
  }
  return true;
}

/** @returns where the value that begins at `start` ends; -1 if it is another value, or takes long to compare */
function endOfValue(text: string, start: number, value: FieldValue): number {
  if (typeof value === 'string') {
    const end = start + 1 + value.length;
    const isSame = text[start] === '"' && text.indexOf('"', start + 1) === end && text.startsWith(value, start + 1);
    // An escaped text may look like another text that has a backslash.
    return isSame && !value.includes('\\') ? end + 1 : -1;
  }
  const written = typeof value === 'number' ? String(value) : JSON.stringify(value);
  const end = start + written.length;
  return text.startsWith(written, start) && (text[end] === ',' || text[end] === '}') ? end : -1;
}
