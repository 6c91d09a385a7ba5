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
