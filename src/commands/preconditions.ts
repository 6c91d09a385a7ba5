/** Changes that apply only to a record as the caller last saw it: If-Match (RFC 9110 §13.1.1). */
import { hash } from 'node:crypto';
import type { RecordView } from '../domain/assetTypes/assetType.js';

/** The record must have one of these tags; `any`: it must only exist. */
export type Precondition = 'any' | readonly string[];

/** The record has changed since the caller saw it: nothing was written. Becomes 412. */
export class PreconditionFailedError extends Error {
  /** @param tag of the current record */
  constructor(readonly tag: string) {
    super('The record is not as it was when it had the given ETag.');
  }
}

/** 132 bits: too many for two to be equal by chance. In one call: creating a hash object takes longer than the hash. */
export const tagOf = (hashed: string | Uint8Array): string => hash('sha256', hashed, 'base64url').slice(0, 22);

/** The tag of a record as it is shown: its members have the order of the asset type, whether it was read or evolved. */
export const recordTag = (record: RecordView): string => tagOf(JSON.stringify(record));

/**
 * To be called by a decision, on the state whose revision its append expects: of two writers with the same tag, the second
 * is decided on what the first wrote.
 * @param current a record, or an answer as text @throws PreconditionFailedError
 */
export function requireTag(precondition: Precondition | undefined, current: RecordView | string): void {
  if (precondition === undefined || precondition === 'any') return;
  const tag = typeof current === 'string' ? tagOf(current) : recordTag(current);
  if (!precondition.includes(tag)) throw new PreconditionFailedError(tag);
}
