/** What this process appended to a table and the read model may not show yet. */
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import type { Fields } from '../../domain/assetTypes/fieldTypes.js';
import { type KnownRecord, keyOf } from '../../domain/referenceTable/decide.js';
import type { ReferenceTableEvent } from '../../domain/referenceTable/events.js';
import { unpackIds } from '../../domain/referenceTable/packedIds.js';
import type { AppendResult, Position, Revision } from '../../ports/eventStore.js';

type Entry = KnownRecord & {
  readonly key: string;
  readonly revision: Revision;
  readonly createdAt: string;
  readonly updatedAt: string;
};

/** What a record looked like before the change, for changes that name only what differs. */
type Before = {
  byId(id: string): KnownRecord | undefined;
  readonly createdAt: (id: string) => string;
  readonly updatedAt: (id: string) => string;
};

const NOTHING: Fields = {};

export class Overlay {
  readonly #byId = new Map<string, Entry>();
  readonly #idByKey = new Map<string, string>();
  #barrier: AppendResult = { revision: -1, position: 0 };
  /** Revision of the last append; -1 when the overlay is empty. */
  revision: Revision = -1;
  lastEventAt = '';

  byId(id: string): KnownRecord | undefined {
    return this.#byId.get(id);
  }

  idOfKey(key: string): string | undefined {
    return this.#idByKey.get(key);
  }

  times(id: string): { readonly createdAt: string; readonly updatedAt: string } | undefined {
    return this.#byId.get(id);
  }

  add(
    assetType: AssetType,
    events: readonly ReferenceTableEvent[],
    before: Before,
    revision: Revision,
    at: string,
  ): void {
    const put = (id: string, batchId: string | null, fields: Fields, createdAt: string, updatedAt: string): void => {
      const key = keyOf(assetType, fields);
      this.#byId.delete(id); // so that it moves to the end: entries stand in the order of their revisions
      this.#byId.set(id, { id, batchId, fields, key, revision, createdAt, updatedAt });
      this.#idByKey.set(key, id);
    };
    const patch = (
      id: string,
      set: Fields,
      batchId: string | null | undefined,
      updatedAt: string | undefined,
    ): void => {
      const known = before.byId(id);
      if (known === undefined) return;
      const newBatchId = batchId === undefined ? known.batchId : batchId;
      const fields = set === NOTHING ? known.fields : { ...known.fields, ...set };
      put(id, newBatchId, fields, before.createdAt(id), updatedAt ?? before.updatedAt(id));
    };
    for (const event of events) {
      switch (event.type) {
        case 'RecordCreated':
          put(event.data.id, null, event.data.fields, at, at);
          break;
        case 'RecordChanged':
          patch(event.data.id, event.data.set, undefined, at);
          break;
        case 'BatchUpserted':
          for (const { id, fields } of event.data.created) put(id, event.data.batchId ?? null, fields, at, at);
          for (const { id, set } of event.data.changed) patch(id, set, event.data.batchId, at);
          for (const id of unpackIds(event.data.seen)) patch(id, NOTHING, event.data.batchId, undefined);
          break;
        case 'TableCleanedUp':
          throw new Error('A clean-up is a barrier, not a change of known records.');
      }
    }
    this.revision = revision;
    this.lastEventAt = at;
  }

  /** A clean-up was appended: nothing can be decided until the read model shows it. */
  setBarrier(cleanUp: AppendResult): void {
    this.#barrier = cleanUp;
  }

  /** Position to wait for; undefined when the read model shows enough. */
  barrierAbove(shown: Revision): Position | undefined {
    return shown < this.#barrier.revision ? this.#barrier.position : undefined;
  }

  /** Forgets what the read model shows by now. */
  prune(shown: Revision): void {
    if (shown >= this.revision) {
      this.clear();
      return;
    }
    for (const entry of this.#byId.values()) {
      if (entry.revision > shown) break;
      this.#byId.delete(entry.id);
      if (this.#idByKey.get(entry.key) === entry.id) this.#idByKey.delete(entry.key);
    }
  }

  clear(): void {
    this.#byId.clear();
    this.#idByKey.clear();
    this.revision = -1;
    this.lastEventAt = '';
  }
}
