/** Records of a table that this process has written and the read model may not show yet. */
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { tableChanges } from '../../domain/referenceTable/changes.js';
import { uniqueKeyOf } from '../../domain/referenceTable/decide.js';
import type { ReferenceTableEvent } from '../../domain/referenceTable/events.js';
import type { AppendResult, Position, Revision } from '../../ports/eventStore.js';
import type { StoredRecord } from '../../ports/readModels.js';
import { type Appended, NO_STREAM, type StreamEnd } from '../writeStream.js';

type Entry = { readonly record: StoredRecord; readonly key: string; readonly revision: Revision };

export class PendingRecords {
  /** In the order of their revisions. */
  readonly #byId = new Map<string, Entry>();
  readonly #idByKey = new Map<string, string>();
  #end = NO_STREAM;
  #deletion: AppendResult = { revision: NO_STREAM.revision, position: 0 };

  /** The last append that the read model may not show yet; NO_STREAM when it shows all. */
  get end(): StreamEnd {
    return this.#end;
  }

  byId(id: string): StoredRecord | undefined {
    return this.#byId.get(id)?.record;
  }

  byKey(key: string): StoredRecord | undefined {
    const entry = this.#byId.get(this.#idByKey.get(key) ?? '');
    return entry?.key === key ? entry.record : undefined;
  }

  /** @param recordBefore a record as it was before the events */
  add(
    assetType: AssetType,
    { events, revision, at }: Pick<Appended<ReferenceTableEvent>, 'events' | 'revision' | 'at'>,
    recordBefore: (id: string) => StoredRecord | undefined,
  ): void {
    const put = (record: StoredRecord): void => {
      const key = record.key ?? uniqueKeyOf(assetType, record.fields);
      this.#byId.delete(record.id); // Moves it to the end.
      this.#byId.set(record.id, { record, key, revision });
      this.#idByKey.set(key, record.id);
    };
    for (const change of events.flatMap((event) => tableChanges(event, at))) {
      switch (change.kind) {
        case 'insert':
          put({ id: change.id, createdAt: at, updatedAt: at, batchId: change.batchId, fields: change.fields });
          break;
        case 'patch': {
          const before = recordBefore(change.id);
          if (before === undefined) break;
          const { id, createdAt, fields } = before;
          const { batchId = before.batchId, set } = change;
          put({ id, createdAt, updatedAt: at, batchId, fields: { ...fields, ...set } });
          break;
        }
        case 'seen':
          for (const id of change.ids) {
            const before = recordBefore(id);
            if (before !== undefined) put(before.inBatch?.(change.batchId) ?? { ...before, batchId: change.batchId });
          }
          break;
        case 'delete':
        case 'cleanUp':
          throw new Error('What was deleted is not kept here: the read model is waited for.');
      }
    }
    this.#end = { revision, lastEventAt: at };
  }

  /** After an append that deletes records, nothing can be decided until the read model shows it. */
  addDeletion(appended: AppendResult): void {
    this.#deletion = appended;
  }

  /** Position of a deletion that a read model at this revision does not show yet. */
  deletionAfter(shown: Revision): Position | undefined {
    return shown < this.#deletion.revision ? this.#deletion.position : undefined;
  }

  /** Forgets records that the read model, at this revision, shows. */
  prune(shown: Revision): void {
    if (shown >= this.#end.revision) {
      this.clear();
      return;
    }
    for (const [id, { key, revision }] of this.#byId) {
      if (revision > shown) break;
      this.#byId.delete(id);
      if (this.#idByKey.get(key) === id) this.#idByKey.delete(key);
    }
  }

  clear(): void {
    this.#byId.clear();
    this.#idByKey.clear();
    this.#end = NO_STREAM;
  }
}
