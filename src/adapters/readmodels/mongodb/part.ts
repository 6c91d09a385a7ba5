/**
 * The documents of one table, history or delivery log: they have a collection to themselves, or are those of a collection
 * that tables share which name this one. Callers see the same documents in both (docs/decisions/0053).
 */
import type {
  AnyBulkWriteOperation,
  ClientSession,
  Collection,
  CountDocumentsOptions,
  DeleteResult,
  Document,
  Filter,
  FindCursor,
  FindOptions,
  OptionalUnlessRequiredId,
  UpdateFilter,
  UpdateResult,
} from 'mongodb';
import { storing } from './refusals.js';

/** Where the documents are. */
export type Place = {
  readonly collection: string;
  /** In a shared collection: which documents they are. Missing or null: all. */
  readonly of?: string | null;
};

/**
 * The error for a document that the server or the driver refuses. One that names the tenant parks it; as an error of the
 * server it would stop the lane. So each write of documents has to say it.
 */
export type Refused = (_id: string, options: ErrorOptions) => Error;

/** A write whose filter names one id. */
export type WriteOfOne<Stored extends Document> = Extract<
  AnyBulkWriteOperation<Stored>,
  { readonly updateOne: unknown } | { readonly replaceOne: unknown }
>;

export class Part<Stored extends { readonly _id: string }> {
  readonly #collection: Collection<Stored>;
  readonly #of: string | undefined;
  readonly #session: Pick<FindOptions, 'session' | 'readConcern'>;

  /** @param session of reads */
  constructor(collection: Collection<Stored>, of?: string | null, session?: ClientSession) {
    this.#collection = collection;
    this.#of = of ?? undefined;
    // The driver puts the session's moment into the concern of the client, which is another, unless it is named here.
    this.#session = session === undefined ? {} : { session, readConcern: { level: 'snapshot' } };
  }

  get collectionName(): string {
    return this.#collection.collectionName;
  }

  find<Found extends Document = Stored>(filter: Filter<Stored>, options: FindOptions = {}): FindCursor<Found> {
    const found = this.#collection.find<Found>(this.#within(filter), { ...options, ...this.#session });
    return this.#of === undefined ? found : found.map((document) => this.#unshared(document));
  }

  async findOne<Found extends Document = Stored>(
    filter: Filter<Stored>,
    options: FindOptions = {},
  ): Promise<Found | null> {
    const [found = null] = await this.find<Found>(filter, { ...options, limit: 1, singleBatch: true }).toArray();
    return found;
  }

  countDocuments(filter: Filter<Stored> = {}, options: CountDocumentsOptions = {}): Promise<number> {
    return this.#collection.countDocuments(this.#within(filter), { ...options, ...this.#session });
  }

  /** How many documents have each value under a key. */
  async countBy(key: string, filter: Filter<Stored>): Promise<readonly { readonly _id: string; readonly n: number }[]> {
    const stages = [{ $match: this.#within(filter) }, { $group: { _id: `$${key}`, n: { $sum: 1 } } }];
    return this.#collection.aggregate<{ _id: string; n: number }>(stages, this.#session).toArray();
  }

  async insertMany(documents: readonly Stored[], refused: Refused): Promise<void> {
    const own = documents.map((document) => this.#shared(document) as OptionalUnlessRequiredId<Stored>);
    await storing(
      documents,
      () => this.#collection.insertMany(own, { ordered: false }),
      ({ _id }, options) => refused(_id, options),
    );
  }

  deleteMany(filter: Filter<Stored>): Promise<DeleteResult> {
    return this.#collection.deleteMany(this.#within(filter));
  }

  updateMany(filter: Filter<Stored>, update: UpdateFilter<Stored>): Promise<UpdateResult> {
    return this.#collection.updateMany(this.#within(filter), update);
  }

  async bulkWrite(
    writes: readonly WriteOfOne<Stored>[],
    { refused, ...options }: { readonly ordered: boolean; readonly refused: Refused },
  ): Promise<void> {
    const own = writes.map((write) => this.#sharedWrite(write));
    await storing(
      writes,
      () => this.#collection.bulkWrite(own, options),
      (write, error) => refused(String(filterOf(write)._id), error),
    );
  }

  #sharedWrite(write: WriteOfOne<Stored>): AnyBulkWriteOperation<Stored> {
    if (this.#of === undefined) return write;
    if ('updateOne' in write) {
      const { filter, update, upsert } = write.updateOne;
      const within = { filter: this.#within(filter), update: upsert === true ? this.#sharedUpsert(update) : update };
      return { updateOne: { ...write.updateOne, ...within } };
    }
    const { filter, replacement, ...rest } = write.replaceOne;
    return { replaceOne: { ...rest, filter: this.#within(filter), replacement: this.#shared(replacement) } };
  }

  #within(filter: Filter<Stored>): Filter<Stored> {
    const of = this.#of;
    if (of === undefined) return filter;
    const own = withIds(filter, keyIn(of, ''));
    // Ids name the part as well. Without `of` beside them, no server looks through the part or the collection for them.
    const within: Document = hasIds(own) ? own : { of, ...own };
    return within as Filter<Stored>;
  }

  /** What an upsert inserts gets from its filter only what that names. */
  #sharedUpsert(update: UpdateFilter<Stored> | UpdateFilter<Stored>[]): UpdateFilter<Stored> {
    const { $setOnInsert, ...rest }: Document = update;
    const shared: Document = { ...rest, $setOnInsert: { ...$setOnInsert, of: this.#of } };
    return shared as UpdateFilter<Stored>;
  }

  /** In a shared collection `_id` begins with the part, and `of` names it, for the indexes. */
  #shared<Sent extends Document>(document: Sent): Sent {
    const of = this.#of;
    if (of === undefined) return document;
    return { ...document, of, ...('_id' in document ? { _id: keyIn(of, document._id) } : {}) };
  }

  #unshared<Found extends Document>(document: Found): Found {
    const { of, ...own } = document;
    const ownId = typeof own._id === 'string' ? { _id: own._id.slice(keyIn(this.#of ?? '', '').length) } : {};
    const unshared: Document = { ...own, ...ownId };
    return unshared as Found;
  }
}

const filterOf = <Stored extends Document>(write: WriteOfOne<Stored>): Document =>
  'updateOne' in write ? write.updateOne.filter : write.replaceOne.filter;

const keyIn = (of: string, id: string): string => `${of}.${id}`;

/** Whether it finds these ids only. */
const hasIds = ({ _id }: Document): boolean =>
  typeof _id === 'string' || (typeof _id === 'object' && _id !== null && '$in' in _id);

const COMBINED: readonly string[] = ['$and', '$or', '$nor'];

/** The filter with this before each id. */
function withIds(filter: Document, prefix: string): Document {
  return Object.fromEntries(
    Object.entries(filter).map(([key, value]) => {
      if (key === '_id') return [key, withPrefix(value, prefix)];
      if (!COMBINED.includes(key)) return [key, value];
      return [key, value.map((each: Document) => withIds(each, prefix))];
    }),
  );
}

/** An id, several, or conditions of ids. */
function withPrefix(ids: unknown, prefix: string): unknown {
  if (typeof ids === 'string') return prefix + ids;
  if (Array.isArray(ids)) return ids.map((each) => withPrefix(each, prefix));
  if (typeof ids !== 'object' || ids === null) return ids;
  return Object.fromEntries(Object.entries(ids).map(([operator, each]) => [operator, withPrefix(each, prefix)]));
}
