/** The changes of records that events stand for. */
import type { Fields } from '../assetTypes/fieldTypes.js';
import { type ReferenceTableEvent, unpackIds } from './events.js';

export type RecordChange =
  | {
      readonly kind: 'insert';
      readonly id: string;
      readonly at: string;
      readonly batchId: string | null;
      readonly fields: Fields;
    }
  /** `at` becomes updated_at. `batchId` undefined: stays. */
  | {
      readonly kind: 'patch';
      readonly id: string;
      readonly at: string;
      readonly batchId?: string | null;
      readonly set: Fields;
    }
  | { readonly kind: 'delete'; readonly id: string }
  /** Moves `_batch_id` only; updated_at stays. */
  | { readonly kind: 'seen'; readonly ids: readonly string[]; readonly batchId: string | null }
  /** Deletes every record whose batch id is not this one; records without a batch id go as well. */
  | { readonly kind: 'cleanUp'; readonly batchId: string };

/** The changes that an event of a reference table makes. @param at time of the event */
export function tableChanges(event: ReferenceTableEvent, at: string): readonly RecordChange[] {
  switch (event.type) {
    case 'RecordCreated':
      return [{ kind: 'insert', id: event.data.id, at, batchId: null, fields: event.data.fields }];
    case 'RecordChanged':
      return [{ kind: 'patch', id: event.data.id, at, set: event.data.set }];
    case 'TableCleanedUp':
      return [{ kind: 'cleanUp', batchId: event.data.batchId }];
    case 'BatchUpserted':
    case 'BatchUndone': {
      const { batchId, changed, seen } = event.data;
      const { created, deleted } =
        event.type === 'BatchUpserted' ? { ...event.data, deleted: '' } : { ...event.data, created: [] };
      const moved = batchId === undefined ? {} : { batchId };
      const changes: RecordChange[] = [
        ...unpackIds(deleted).map((id) => ({ kind: 'delete' as const, id })),
        ...created.map(({ id, fields }) => ({ kind: 'insert' as const, id, at, batchId: batchId ?? null, fields })),
        ...changed.map(({ id, set }) => ({ kind: 'patch' as const, id, at, set, ...moved })),
      ];
      if (seen !== '' && batchId !== undefined) changes.push({ kind: 'seen', ids: unpackIds(seen), batchId });
      return changes;
    }
  }
}

/** Ids of the records that an event changed. A clean-up does not name those that it deleted. */
export function changedIds(event: ReferenceTableEvent): {
  readonly ids: readonly string[];
  readonly isCleanUp: boolean;
} {
  const changes = tableChanges(event, '');
  // `seen` changes nothing that is shown.
  const ids = changes.flatMap((change) => ('id' in change ? [change.id.toLowerCase()] : []));
  return { ids, isCleanUp: changes.some(({ kind }) => kind === 'cleanUp') };
}

const isText = (value: unknown): boolean => typeof value === 'string';
const isTextOrNull = (value: unknown): boolean => value === null || isText(value);
const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Checks a change before it reaches an engine, where a malformed event would look like a failure of the engine.
 * @throws Error
 */
export function checkChange(change: RecordChange): void {
  if (!isWhole(change)) throw new Error(`The event does not say rightly what it changes (${change.kind}).`);
}

function isWhole(change: RecordChange): boolean {
  switch (change.kind) {
    case 'insert':
      return isText(change.id) && isObject(change.fields) && isTextOrNull(change.batchId);
    case 'patch':
      return isText(change.id) && isObject(change.set) && isTextOrNull(change.batchId ?? null);
    case 'delete':
      return isText(change.id);
    case 'seen':
      return isTextOrNull(change.batchId);
    case 'cleanUp':
      return isText(change.batchId);
  }
}
