/** What the Merkle tree knows of an event: its leaf, exact to the byte. */
import type { Erasures } from '../domain/erasure.js';
import type { RecordedEvent } from '../ports/eventStore.js';
import { leafHash } from './merkle.js';

/** JSON in the canonical form of RFC 8785: members sorted by UTF-16 code units, no spaces, numbers as ECMAScript writes them. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`);
  return `{${members.join(',')}}`;
}

/**
 * The leaf of an event as stored, before upcasting. The engine's position is not in it, as it differs between engines and
 * the leaf's index gives the order. The leaf is the same for every engine.
 */
export const leafOf = ({ id, stream, revision, type, data, metadata }: RecordedEvent): string =>
  canonicalJson({ id, stream, revision, type, data, metadata });

/** The hash of the leaf; where values were removed from the event, that of the event as it was. */
export const leafHashOf = (event: RecordedEvent): Buffer => {
  const { erasedLeaf } = event.metadata;
  return erasedLeaf === undefined ? leafHash(Buffer.from(leafOf(event))) : Buffer.from(erasedLeaf, 'base64');
};

/** The event without what is erased, and with the hash of its leaf as it was; the same event if it keeps all. */
export function withoutErasedBytes(erasures: Erasures, event: RecordedEvent): RecordedEvent {
  const redacted = erasures.redact(event);
  if (redacted === event) return event;
  return { ...redacted, metadata: { ...redacted.metadata, erasedLeaf: leafHashOf(event).toString('base64') } };
}
