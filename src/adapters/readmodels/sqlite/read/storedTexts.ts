/** Stored records as lines of text, for the way from a reader thread to the thread that decides. */
import { type Fields, type FieldValue, ownValue } from '../../../../domain/assetTypes/fieldTypes.js';
import type { StoredRecord } from '../../../../ports/readModels.js';
import { mapWithPauses } from '../../../../supervision/waiting.js';

/** One text is far cheaper to hand over than many objects. */
export type StoredRecordsText = string;

export const NO_RECORDS: StoredRecordsText = '';

type Head = Pick<StoredRecord, 'id' | 'createdAt' | 'updatedAt' | 'batchId' | 'key'>;

/** Tabs separate the parts of a line, as JSON text has none unescaped. @param own fields as JSON text, without braces */
export const writeStored = ({ id, createdAt, updatedAt, batchId, key }: Head, own: string): string =>
  `${id}\t${createdAt}\t${updatedAt}\t${JSON.stringify(batchId)}\t${key === undefined ? '' : JSON.stringify(key)}\t{${own}}`;

/** Texts of more characters are parsed at once, with pauses, as parsing takes more than some milliseconds. */
const LONG = 524_288;

/** @param text may be many megabytes */
export function parseStored(text: StoredRecordsText): Promise<readonly StoredRecord[]> {
  const members = new MemberTexts();
  return mapWithPauses(text === NO_RECORDS ? [] : text.split('\n'), (line) => {
    const [id = '', createdAt = '', updatedAt = '', batchId = '', key = '', own = ''] = line.split('\t');
    const head = { id, createdAt, updatedAt, batchId: textOrNull(batchId), key: key === '' ? undefined : parsed(key) };
    const record = new UnparsedRecord(head, own, members);
    if (text.length > LONG) record.parse();
    return record;
  });
}

const parsed = (json: string): string => (json.includes('\\') ? String(JSON.parse(json)) : json.slice(1, -1));

const textOrNull = (json: string): string | null => (json === 'null' ? null : parsed(json));

/** Parses its fields when they are asked for. Most records of most batches have not changed, which their text tells. */
class UnparsedRecord implements StoredRecord {
  readonly id: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly batchId: string | null;
  readonly key: string | undefined;
  readonly #own: string;
  readonly #members: MemberTexts;
  #fields: Fields | undefined;

  constructor({ id, createdAt, updatedAt, batchId, key }: Head, own: string, members: MemberTexts) {
    this.id = id;
    this.createdAt = createdAt;
    this.updatedAt = updatedAt;
    this.batchId = batchId;
    this.key = key;
    this.#own = own;
    this.#members = members;
  }

  get fields(): Fields {
    return this.parse();
  }

  parse(): Fields {
    this.#fields ??= JSON.parse(this.#own) as Fields;
    return this.#fields;
  }

  has(fields: Fields): boolean {
    return this.#members.standIn(this.#own, fields);
  }

  inBatch(batchId: string | null): StoredRecord {
    return new UnparsedRecord({ ...this, batchId }, this.#own, this.#members);
  }
}

/** Finds members of an object in its JSON text. */
export class MemberTexts {
  readonly #names = new Map<string, string>();

  /** @returns true only if the text has each field with its value, in this order; false means unknown */
  standIn(text: string, fields: Fields): boolean {
    let at = 0;
    for (const name of Object.keys(fields)) {
      const member = this.#named(name);
      // Only a member looks like this: within a value, each quotation mark is escaped.
      const found = text.startsWith(member, at + 1) ? at + 1 : text.indexOf(member, at);
      if (found < 0) return false;
      const start = found + member.length;
      at = endOfValue(text, start, ownValue(fields, name) ?? null);
      if (at < 0) return false;
    }
    return true;
  }

  #named(name: string): string {
    let text = this.#names.get(name);
    if (text === undefined) {
      text = `${JSON.stringify(name)}:`;
      this.#names.set(name, text);
    }
    return text;
  }
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
