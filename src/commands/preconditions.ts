/** Changes that are made only to a record as the caller has seen it (RFC 9110 §13.1.1). */
import { hash } from 'node:crypto';
import type { AssetType, RecordView } from '../domain/assetTypes/assetType.js';
import { ownValue } from '../domain/assetTypes/fieldTypes.js';

/** Tags of which the record must have one; `any` where it must only be there. */
export type Precondition = 'any' | readonly string[];

/** The record is not as the caller has seen it: nothing was written. Becomes 412. */
export class PreconditionFailedError extends Error {
  override readonly name = 'PreconditionFailedError';
  /** @param tag of the record as it is */
  constructor(readonly tag: string) {
    super('The record is not as it was when it had the given ETag.');
  }
}

/** 128 bits, of which no two are the same by chance. */
const TAG_CHARACTERS = 22;

/** (In one call: an object for each hash takes longer than the hash.) */
export const tagOf = (hashed: string | Uint8Array): string =>
  hash('sha256', hashed, 'base64url').slice(0, TAG_CHARACTERS);

/**
 * Stands for a record as it is shown, its text with the fields in the order of the asset type: the same values have the same
 * tag, whether they were read or evolved.
 */
export const recordTag = ({ fields }: AssetType, record: RecordView): string => {
  const { id, created_at, updated_at } = record;
  const head = JSON.stringify({ id, created_at, updated_at }).slice(0, -1);
  const own = fields.map(({ name }) => `,${JSON.stringify(name)}:${JSON.stringify(ownValue(record, name) ?? null)}`);
  return tagOf(`${head}${own.join('')}}`);
};

/**
 * To be called by a decision, on the state that its append insists on: of two writers with the same tag one is decided on
 * what the other wrote. @throws PreconditionFailedError
 */
export function requireTag(precondition: Precondition | undefined, assetType: AssetType, current: RecordView): void {
  if (precondition === undefined || precondition === 'any') return;
  requireOneOf(precondition, recordTag(assetType, current));
}

/** The same of what has a tag of another kind. @throws PreconditionFailedError */
export function requireOneOf(precondition: Precondition, tag: string): void {
  if (precondition !== 'any' && !precondition.includes(tag)) throw new PreconditionFailedError(tag);
}
