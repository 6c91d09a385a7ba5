/** The records of a page that a query has made as one text. */
import type { RecordView } from '../domain/assetTypes/assetType.js';

/** The records' JSON texts, joined by commas. */
export type PageText = string | Uint8Array;

/** The beginning of a record's JSON text. It cannot occur within a value, where quotation marks are escaped. */
const RECORD = /\{"id":"([0-9a-f-]{36})"/g;

export function textsOf(page: PageText): readonly { readonly id: string; readonly text: string }[] {
  const text = typeof page === 'string' ? page : Buffer.from(page).toString();
  const found = [...text.matchAll(RECORD)].map(({ 1: id = '', index }) => ({ id, index }));
  return found.map(({ id, index }, n) => {
    const next = found[n + 1]?.index;
    return { id, text: text.slice(index, next === undefined ? undefined : next - 1) };
  });
}

export const recordsOf = (page: PageText): readonly RecordView[] =>
  textsOf(page).map(({ text }): RecordView => JSON.parse(text));
