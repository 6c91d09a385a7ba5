/** How a record is stored, and put together again. */
import type { AssetType } from '../../../domain/assetTypes/assetType.js';
import type { Fields } from '../../../domain/assetTypes/fieldTypes.js';
import type { RecordJson, StoredRecord } from '../../../ports/readModels.js';
import type { IndexedValues } from './layout.js';

/** Beside these a document has `f<n>` and `m<n>` of its fields, and `g`, its n-grams (see layout.ts). */
export type RecordDocument = {
  /** The UUID, in lower case. */
  _id: string;
  /** Revision of the last event applied to it, in the one stream that it belongs to. */
  r: number;
  /** created_at, updated_at. */
  c: string;
  u: string;
  /** Batch id. */
  b: string | null;
  /** How many fields of the asset type `d` covers: fewer than there are when some were added later. */
  w: number;
  /** The record's own fields as JSON text without braces: `"name":"Rotterdam","notes":null`. */
  d: string;
  [indexed: string]: IndexedValues[string];
};

/** The keys that make up the record itself. */
export const WHOLE_RECORD = { r: 1, c: 1, u: 1, b: 1, w: 1, d: 1 } as const;
export type WholeRecord = Pick<RecordDocument, '_id' | keyof typeof WHOLE_RECORD>;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** An id as it is stored; undefined when the text is no UUID. */
export const storedId = (id: string): string | undefined => (UUID.test(id) ? id.toLowerCase() : undefined);

/** Writes and reads the text of own fields for one version of an asset type. */
export class RecordText {
  readonly width: number;
  readonly #keys: readonly { readonly name: string; readonly text: string }[];
  /** At index `width` is what has to follow the text of a record that covers `width` fields. */
  readonly #endings: readonly string[];

  constructor(assetType: AssetType) {
    this.width = assetType.fields.length;
    this.#keys = assetType.fields.map(({ name }, index) => ({
      name,
      text: `${index === 0 ? '' : ','}${JSON.stringify(name)}:`,
    }));
    this.#endings = [...this.#keys.keys(), this.width].map((from) =>
      this.#keys.slice(from).reduce((ending, { text }) => `${ending}${text}null`, ''),
    );
  }

  write(fields: Fields): string {
    return this.#keys.reduce((text, key) => text + key.text + JSON.stringify(fields[key.name] ?? null), '');
  }

  #own({ w, d }: WholeRecord): string {
    return d + (this.#endings[w] ?? '');
  }

  /** As it is sent. */
  json(record: WholeRecord): RecordJson {
    const own = this.#own(record);
    const head = `{"id":"${record._id}","created_at":"${record.c}","updated_at":"${record.u}"`;
    return own === '' ? `${head}}` : `${head},${own}}`;
  }

  fields(record: WholeRecord): Fields {
    return JSON.parse(`{${this.#own(record)}}`);
  }

  stored(record: WholeRecord): StoredRecord {
    return {
      id: record._id,
      createdAt: record.c,
      updatedAt: record.u,
      batchId: record.b,
      fields: this.fields(record),
    };
  }
}
