/** Writes changes of one collection of records. Every write is idempotent. */
import { MongoBulkWriteError } from 'mongodb';
import type { RecordChange } from '../../../domain/referenceTable/changes.js';
import type { AppliedEvent } from '../../../ports/readModelWriter.js';
import { isDuplicateKey } from './catalog.js';
import { type CleanedUpRecord, forgetRecords, sweepRecords } from './cleanedUpRecords.js';
import type { Part, Refused } from './part.js';
import {
  evolveRecord,
  type RecordDocument,
  RecordMismatchError,
  RecordRefusedError,
  type RecordStep,
  type Repeated,
  type StepEvent,
  type TableShape,
  WHOLE_RECORD,
  type WholeRecord,
} from './recordDocument.js';
import { noteDeleted, type RecordEvent } from './recordEvents.js';

/** Between two clean-ups, changes of different records have no order; those of one record keep theirs. */
export type TableStep =
  | { readonly kind: 'records'; readonly byId: Map<string, RecordStep[]> }
  | ({ readonly kind: 'cleanUp'; readonly batchId: string } & AppliedEvent);

/** Adds a change behind earlier ones. */
export function addStep(steps: TableStep[], change: RecordChange, applied: AppliedEvent): void {
  const { revision, position } = applied;
  if (change.kind === 'cleanUp') {
    steps.push({ kind: 'cleanUp', batchId: change.batchId, ...applied });
    return;
  }
  const last = steps.at(-1);
  const byId = last?.kind === 'records' ? last.byId : new Map<string, RecordStep[]>();
  if (last?.kind !== 'records') steps.push({ kind: 'records', byId });
  const event = { revision, ...(position === undefined ? {} : { position }) };
  const stepsOf = (id: string): RecordStep[] => getOrMake(byId, id, () => []);
  if (change.kind === 'seen') {
    for (const id of change.ids) stepsOf(id).push({ kind: 'seen', batchId: change.batchId, ...event });
  } else {
    stepsOf(change.id).push({ ...change, ...event });
  }
}

/** Ids in one query. */
const IDS_AT_ONCE = 1_000;

/** What the table has beside its records. */
type Beside = {
  readonly cleanedUp: () => Promise<Part<CleanedUpRecord>>;
  readonly recordEvents: () => Promise<Part<RecordEvent>>;
};

export class RecordWriter {
  readonly #collection: Part<RecordDocument>;
  readonly #shape: TableShape;
  readonly #repeated: Repeated;
  readonly #beside: Beside;
  /** How many records there are more now. */
  added = 0;

  constructor(collection: Part<RecordDocument>, shape: TableShape, repeated: Repeated, beside: Beside) {
    this.#beside = beside;
    this.#collection = collection;
    this.#shape = shape;
    this.#repeated = repeated;
  }

  /** Writes the steps in order. @throws RecordMismatchError if a change does not fit the records */
  async write(steps: readonly TableStep[]): Promise<void> {
    const lastCleanUp = steps.findLastIndex(({ kind }) => kind === 'cleanUp');
    for (const [index, step] of steps.entries()) {
      await this.#write(step, this.#repeated === 'of more' || index < lastCleanUp);
    }
  }

  get #isRepeated(): boolean {
    return this.#repeated !== 'not';
  }

  /** @param goneLater a failed commit may already have deleted records that are changed here */
  async #write(step: TableStep, goneLater: boolean): Promise<void> {
    if (step.kind === 'cleanUp') return this.#deleteOutside(step);
    const seen = new Map<string, SeenGroup>();
    const changed: [string, RecordStep[]][] = [];
    for (const [id, steps] of step.byId) {
      const last = steps.at(-1);
      if (last?.kind === 'seen' && steps.every(({ kind }) => kind === 'seen')) addTo(seen, id, last);
      else changed.push([id, steps]);
    }
    for (const some of inChunks(changed)) await this.#change(some, goneLater);
    for (const group of seen.values())
      for (const ids of inChunks(group.ids)) await this.#markSeen(group, ids, goneLater);
  }

  async #deleteOutside({ batchId, revision, at, noted }: TableStep & { kind: 'cleanUp' }): Promise<void> {
    // When the clean-up is repeated, records that later events touched have outlived it.
    const outside = { b: { $ne: batchId }, ...(this.#isRepeated ? { r: { $lt: revision } } : {}) };
    const events = typeof noted === 'number' ? await this.#beside.recordEvents() : undefined;
    const note = events && ((ids: readonly string[]) => noteDeleted(events, ids, revision));
    if (this.#shape.layout.unique === undefined) {
      this.added -= await sweepRecords(this.#collection, outside, undefined, note);
      return;
    }
    const cleanedUp = await this.#beside.cleanedUp();
    await forgetRecords(cleanedUp, at);
    const keptIn = { cleanedUp, r: revision, t: at };
    this.added -= await sweepRecords(this.#collection, outside, keptIn, note);
  }

  async #change(changed: readonly [string, RecordStep[]][], goneLater: boolean): Promise<void> {
    const stored = await this.#stored(
      changed.flatMap(([id, steps]) => (this.#isRepeated || steps[0]?.kind !== 'insert' ? [id.toLowerCase()] : [])),
    );
    const written: RecordDocument[] = [];
    const deleted: string[] = [];
    for (const [id, steps] of changed) {
      const _id = id.toLowerCase();
      const evolved = this.#evolved(id, stored.get(_id), steps, goneLater);
      if (evolved === 'deleted') deleted.push(_id);
      else if (evolved !== undefined) written.push(evolved);
    }
    await this.#delete(deleted);
    const added = written.filter(({ _id }) => !stored.has(_id));
    const replaced = written.filter(({ _id }) => stored.has(_id));
    await this.#store(added, changed, (refused) => this.#collection.insertMany(added, refused));
    this.added += added.length;
    await this.#store(replaced, changed, (refused) =>
      this.#collection.bulkWrite(replaced.map(replaceOne), { ordered: false, refused }),
    );
  }

  async #delete(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const { deletedCount } = await this.#collection.deleteMany({ _id: { $in: [...ids] } });
    this.added -= deletedCount;
  }

  #evolved(id: string, stored: WholeRecord | undefined, steps: readonly RecordStep[], goneLater: boolean) {
    try {
      return evolveRecord(this.#shape, id, stored, steps, this.#isRepeated, goneLater);
    } catch (error) {
      if (error instanceof RecordMismatchError) throw error;
      throw new RecordMismatchError(`The record ${id} cannot be changed so.`, steps[0]?.position, { cause: error });
    }
  }

  async #store(
    documents: readonly RecordDocument[],
    changed: readonly [string, readonly RecordStep[]][],
    write: (refused: Refused) => Promise<void>,
  ): Promise<void> {
    const stepsOf = (_id: string | undefined): readonly RecordStep[] =>
      changed.find(([id]) => id.toLowerCase() === _id)?.[1] ?? [];
    try {
      await write((_id, options) => new RecordRefusedError(_id, stepsOf(_id).at(-1)?.position, options));
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      const [first] = error instanceof MongoBulkWriteError ? [error.writeErrors].flat() : [];
      const there = documents[first?.index ?? 0];
      const message = `There is a record ${there?._id} already.`;
      throw new RecordMismatchError(message, stepsOf(there?._id)[0]?.position, { cause: error });
    }
  }

  async #stored(ids: readonly string[]): Promise<ReadonlyMap<string, WholeRecord>> {
    if (ids.length === 0) return new Map();
    const found = this.#collection.find<WholeRecord>(
      { _id: { $in: [...ids] } },
      { projection: WHOLE_RECORD, batchSize: IDS_AT_ONCE },
    );
    return new Map((await found.toArray()).map((record) => [record._id, record]));
  }

  async #markSeen(
    { batchId, revision, position }: SeenGroup,
    ids: readonly string[],
    goneLater: boolean,
  ): Promise<void> {
    const named = { _id: { $in: ids.map((id) => id.toLowerCase()) } };
    const { matchedCount } = await this.#collection.updateMany(
      { ...named, ...(this.#isRepeated ? { r: { $lt: revision } } : {}) },
      { $set: { b: batchId, r: revision } },
    );
    if (matchedCount === ids.length || (this.#isRepeated && goneLater)) return;
    const there = this.#isRepeated ? await this.#collection.countDocuments(named) : matchedCount;
    if (there === ids.length) return;
    const missing = ids.length - there;
    throw new RecordMismatchError(`${missing} of ${ids.length} records to be seen again are not there.`, position);
  }
}

const replaceOne = (replacement: RecordDocument) => ({
  replaceOne: { filter: { _id: replacement._id }, replacement },
});

type SeenGroup = StepEvent & { readonly batchId: string | null; readonly ids: string[] };

function addTo(groups: Map<string, SeenGroup>, id: string, step: Extract<RecordStep, { kind: 'seen' }>): void {
  const key = JSON.stringify([step.batchId, step.revision]);
  const { kind: _, ...event } = step;
  getOrMake(groups, key, () => ({ ...event, ids: [] })).ids.push(id);
}

/** The map's value for this key; created if missing. */
export function getOrMake<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}

function inChunks<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  return Array.from({ length: Math.ceil(items.length / IDS_AT_ONCE) }, (_, index) =>
    items.slice(index * IDS_AT_ONCE, (index + 1) * IDS_AT_ONCE),
  );
}
