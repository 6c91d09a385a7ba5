/** A row as JSON text, as it is sent: made of its stored text without parsing it, as a page may have thousands. */
import { ownValue } from '../domain/assetTypes/fieldTypes.js';
import { MAX_PAGE_BYTES } from '../domain/limits.js';
import type { StoredRow } from '../ports/rowStore.js';

/** A record as JSON text, as it is sent: id, created_at, updated_at, then each field of the asset type. */
export type RecordJson = string;

/** Field names in order. Pass the same array again where possible: identity is compared, not content. */
export type FieldOrder = readonly { readonly name: string }[];

/** The answer would be too large. The message says what to ask for instead. */
export class AnswerTooLargeError extends Error {
  override readonly name = 'AnswerTooLargeError';
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** An id in lower case, as it is stored; undefined if the text is no UUID. */
export const storedId = (id: string): string | undefined => (UUID.test(id) ? id.toLowerCase() : undefined);

/** Id and times, then these fields in this order; null where a field has no value. */
export function rowText({ id, created, updated, data }: StoredRow, fields: FieldOrder): RecordJson {
  const head = `{"id":"${id}","created_at":"${created}","updated_at":"${updated}"`;
  const own = completed(data.slice(1, -1), fields) ?? inOrder(data, fields);
  return own === '' ? `${head}}` : `${head},${own}}`;
}

/**
 * The members with the nulls that are missing between them; undefined where they stand in another order.
 * Only a member looks like `"name":`, since within a value each quotation mark is escaped.
 */
function completed(members: string, fields: FieldOrder): string | undefined {
  let text = '';
  let nulls = '';
  let [taken, at] = [0, 0];
  for (const { name } of fields) {
    const member = `${JSON.stringify(name)}:`;
    const found = members.indexOf(member, at);
    if (found < 0) {
      if (at > 0 && members.indexOf(member) >= 0) return undefined;
      nulls += `${member}null,`;
      continue;
    }
    if (nulls !== '') {
      text += members.slice(taken, found) + nulls;
      [taken, nulls] = [found, ''];
    }
    at = found + member.length;
  }
  text += members.slice(taken);
  return nulls === '' ? text : text === '' ? nulls.slice(0, -1) : `${text},${nulls.slice(0, -1)}`;
}

function inOrder(data: string, fields: FieldOrder): string {
  const values = JSON.parse(data);
  return fields.map(({ name }) => `${JSON.stringify(name)}:${JSON.stringify(ownValue(values, name) ?? null)}`).join();
}

const PAGE_TOO_LARGE = `A page has at most ${MAX_PAGE_BYTES} bytes. Ask for fewer entries with perPage, or for others with filters.`;

/** The texts joined by commas. @throws AnswerTooLargeError */
export function pageText(records: readonly RecordJson[]): string {
  const text = records.join();
  if (Buffer.byteLength(text) > MAX_PAGE_BYTES) throw pageTooLarge();
  return text;
}

export const pageTooLarge = (): AnswerTooLargeError => new AnswerTooLargeError(PAGE_TOO_LARGE);

/** As many of the first texts as fit on a page, at least one. */
export function fitting<Text extends string>(texts: readonly Text[]): readonly Text[] {
  let bytes = 0;
  const end = texts.findIndex((text, index) => {
    // Between two records is a comma.
    bytes += Buffer.byteLength(text) + 1;
    return index > 0 && bytes > MAX_PAGE_BYTES;
  });
  return end < 0 ? texts : texts.slice(0, end);
}
