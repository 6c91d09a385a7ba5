import type { ReferenceTableEvent } from '../../domain/referenceTable/events.js';
import { unpackIds } from '../../domain/referenceTable/packedIds.js';
import type { RecordChange } from '../../ports/readModelWriter.js';

/** What an event of a reference table changes in its table of records. */
export function referenceChanges(event: ReferenceTableEvent, at: string): readonly RecordChange[] {
  switch (event.type) {
    case 'RecordCreated':
      return [{ kind: 'insert', id: event.data.id, at, batchId: null, fields: event.data.fields }];
    case 'RecordChanged':
      return [{ kind: 'patch', id: event.data.id, at, set: event.data.set }];
    case 'TableCleanedUp':
      return [{ kind: 'sweep', batchId: event.data.batchId }];
    case 'BatchUpserted': {
      const { batchId, created, changed, seen } = event.data;
      const moved = batchId === undefined ? {} : { batchId };
      const changes: RecordChange[] = [
        ...created.map(({ id, fields }) => ({ kind: 'insert' as const, id, at, batchId: batchId ?? null, fields })),
        ...changed.map(({ id, set }) => ({ kind: 'patch' as const, id, at, set, ...moved })),
      ];
      if (seen !== '' && batchId !== undefined) changes.push({ kind: 'seen', ids: unpackIds(seen), batchId });
      return changes;
    }
  }
}
