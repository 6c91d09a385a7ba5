/** A record as JSON text: its own fields as they are stored, and the whole record as it is sent. */
import { type Fields, isInheritedName, ownValue } from '../../../domain/assetTypes/fieldTypes.js';
import type { RecordChange } from '../../../domain/referenceTable/changes.js';
import type { HistoryEntry } from '../../../ports/orderHistory.js';
import type { FieldOrder, RecordJson } from '../../../ports/readModels.js';
import type { Noted } from '../../../ports/readModelWriter.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** An id in lower case, as it is stored; undefined if the text is no UUID. */
export const storedId = (id: string): string | undefined => (UUID.test(id) ? id.toLowerCase() : undefined);

/**
 * Writes and reads the text of a record's own fields, `"name":"Rotterdam","notes":null`, in the order in which the table got
 * them. A text from before a field was added is shorter; its width is the number of its fields.
 */
export class RecordText {
  /** The width of new texts: the number of the table's fields. */
  readonly width: number;
  readonly #keys: readonly { readonly name: string; readonly text: string }[];
  /** Index `width` has the text that completes one of that width. */
  readonly #endings: readonly string[];
  /** Keys such as `"constructor":`, behind which an earlier release wrote `undefined` instead of `null`. */
  readonly #inherited: readonly string[];
  /** The order that was asked for last, and its writer if it is not the stored order. */
  #asked: { readonly order: FieldOrder; readonly text: RecordText | undefined } | undefined;

  constructor({ fields }: { readonly fields: FieldOrder }) {
    this.width = fields.length;
    this.#keys = fields.map(({ name }, index) => ({
      name,
      text: `${index === 0 ? '' : ','}${JSON.stringify(name)}:`,
    }));
    this.#endings = [...this.#keys.keys(), this.width].map((from) =>
      this.#keys
        .slice(from)
        .map(({ text }) => `${text}null`)
        .join(''),
    );
    this.#inherited = fields.flatMap(({ name }) => (isInheritedName(name) ? [`${JSON.stringify(name)}:`] : []));
  }

  write(fields: Fields): string {
    let own = '';
    for (const { name, text } of this.#keys) own += text + JSON.stringify(ownValue(fields, name) ?? null);
    return own;
  }

  /** Completes a stored text with the fields that were added later, which are null. */
  complete(width: number, own: string): string {
    // Only a key looks like this: inside a value each quotation mark is escaped.
    const mended = this.#inherited.reduce((text, key) => text.replaceAll(`${key}undefined`, `${key}null`), own);
    return mended + (this.#endings[width] ?? '');
  }

  fields(width: number, own: string): Fields {
    return JSON.parse(`{${this.complete(width, own)}}`);
  }

  /** The record as it is sent. @param order of its fields; default as they are stored */
  json(
    { id, createdAt, updatedAt }: { readonly id: string; readonly createdAt: string; readonly updatedAt: string },
    { width, own }: { readonly width: number; readonly own: string },
    order?: FieldOrder,
  ): RecordJson {
    const other = order && this.#otherThan(order);
    const all = other === undefined ? this.complete(width, own) : other.write(this.fields(width, own));
    const head = `{"id":"${id}","created_at":"${createdAt}","updated_at":"${updatedAt}"`;
    return all === '' ? `${head}}` : `${head},${all}}`;
  }

  /** Undefined if the stored order is asked for. */
  #otherThan(order: FieldOrder): RecordText | undefined {
    if (this.#asked?.order !== order) {
      const isStored = order.length === this.width && this.#keys.every(({ name }, at) => name === order[at]?.name);
      this.#asked = { order, text: isStored ? undefined : new RecordText({ fields: order }) };
    }
    return this.#asked.text;
  }
}

/** Only the JSON text of an approval's history entry contains it: within a value quotation marks are escaped. */
export const APPROVED = '"eventType":"OrderApproved"';

/** The last approval of each order. @param entries as JSON text, oldest first */
export const lastApprovals = (
  entries: readonly (readonly [orderId: string, entry: string])[],
): ReadonlyMap<string, HistoryEntry> => {
  const latest = new Map(entries);
  return new Map([...latest].map(([orderId, entry]) => [orderId, JSON.parse(entry)]));
};

/** Id of a record of which it is noted that an event concerns it; undefined of a change that names none, or of a part that is known. */
export const notedId = (change: RecordChange, noted: Noted): string | undefined =>
  'id' in change && (typeof noted === 'number' || change.kind === 'insert') ? change.id.toLowerCase() : undefined;
