/** Changes that apply only to a record as the caller last saw it: If-Match (RFC 9110 §13.1.1). */
import { hash } from 'node:crypto';
import type { AssetType, RecordView } from '../domain/assetTypes/assetType.js';
import { ownValue } from '../domain/assetTypes/fieldTypes.js';

/** The record must have one of these tags; `any`: it must only exist. */
export type Precondition = 'any' | readonly string[];

/** The record has changed since the caller saw it: nothing was written. Becomes 412. */
export class PreconditionFailedError extends Error {
  override readonly name = 'PreconditionFailedError';
  /** @param tag of the current record */
  constructor(readonly tag: string) {
    super('The record is not as it was when it had the given ETag.');
  }
}

/** 132 bits of the hash: too many for two to be equal by chance. */
const TAG_CHARACTERS = 22;

/** In one call: creating a hash object takes longer than the hash. */
export const tagOf = (hashed: string | Uint8Array): string =>
  hash('sha256', hashed, 'base64url').slice(0, TAG_CHARACTERS);

/**
 * The tag of a record as it is shown. Fields are hashed in the order of the asset type, so a record that was read and one
 * that was evolved from events have the same tag.
 */
export const recordTag = ({ fields }: AssetType, record: RecordView): string => {
  const { id, created_at, updated_at } = record;
  const head = JSON.stringify({ id, created_at, updated_at }).slice(0, -1);
  const own = fields.map(({ name }) => `,${JSON.stringify(name)}:${JSON.stringify(ownValue(record, name) ?? null)}`);
  return tagOf(`${head}${own.join('')}}`);
};

/**
 * To be called by a decision, on the state whose revision its append expects: of two writers with the same tag, the second
 * is decided on what the first wrote. @throws PreconditionFailedError
 */
export function requireTag(precondition: Precondition | undefined, assetType: AssetType, current: RecordView): void {
  if (precondition === undefined || precondition === 'any') return;
  requireOneOf(precondition, recordTag(assetType, current));
}

/** The same for another kind of tag. @throws PreconditionFailedError */
export function requireOneOf(precondition: Precondition, tag: string): void {
  if (precondition !== 'any' && !precondition.includes(tag)) throw new PreconditionFailedError(tag);
}
