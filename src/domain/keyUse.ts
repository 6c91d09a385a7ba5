/** What the log says of requests with an Idempotency-Key, for rows of the space `keys` (decision 0011). */
import type { Fields } from './assetTypes/fieldTypes.js';
import type { ReadEvent } from './eventTypes.js';
import { parseStream } from './streams.js';

/** The id of a key: 128 bits of the hash of caller, table and key. @param hash in hex */
export const keyIdOf = (hash: string): string =>
  hash.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

export function useOf(event: ReadEvent): { readonly id: string; readonly fields: Fields } | undefined {
  const { stream, revision, position, metadata } = event;
  const data = event.data as { readonly id?: string };
  const { key } = metadata;
  if (key === undefined) return undefined;
  const { category, rest } = parseStream(stream);
  const subject = data.id ?? (category === 'order' ? rest : null);
  const counts = JSON.stringify(key.counts ?? {});
  return { id: key.id, fields: { body: key.body, subject, revision, position, counts, used_at: metadata.occurredAt } };
}

/** Of `RequestAccepted`, which earlier releases wrote first: the record that it was to create. */
export function acceptedUse({ data, metadata }: ReadEvent): Fields {
  const { body, id } = data as { readonly body: string; readonly id: string };
  return { body, subject: id, used_at: metadata.occurredAt };
}

/** Of `RequestAnswered`, which has the answer. The record that it shows is read from the past of its table. */
export function answeredUse({ data, position }: ReadEvent): Fields {
  const { id, record: _, lists: __, left: ___, counts, ...told } = data as { readonly [name: string]: unknown };
  const set = { position, counts: JSON.stringify({ ...(counts as object | undefined), ...told }) };
  return typeof id === 'string' ? { ...set, subject: id } : set;
}
