/**
 * Writes a slice: states that begin are added, states that end get their end, and last of all the tenant's progress makes both
 * visible. A slice that was cut is written again, in other slices perhaps, and so may two processes at once: what is there
 * already is the same, and stays.
 */
import { type AnyBulkWriteOperation, BSON, MongoBulkWriteError, MongoServerError } from 'mongodb';
import type { AssetType } from '../../../domain/assetTypes/assetType.js';
import type { Fields } from '../../../domain/assetTypes/fieldTypes.js';
import { withoutNulls } from '../../../domain/referenceTable/decide.js';
import { keyOf, sortValue } from '../../../domain/row.js';
import type { Position } from '../../../ports/eventStore.js';
import { RowRefusedError, RowsUnavailableError, type RowWrite, type Slice } from '../../../ports/rowStore.js';
import { type StateFilter, sortKey } from './conditions.js';
import { type Database, unlessThere } from './connection.js';
import type { Definition, Definitions } from './definitions.js';
import {
  type Head,
  type Heads,
  type How,
  newDocument,
  OPEN,
  type SpaceDocument,
  type StateDocument,
  slotValues,
  spaceKey,
  stateId,
  type TenantDocument,
} from './documents.js';

type Write<Kind extends RowWrite['kind']> = Extract<RowWrite, { kind: Kind }>;

/** States that a piece of a clean-up ends, and how long one call goes on with pieces. */
const CLEANED_UP_AT_ONCE = 2_000;
const CLEAN_UP_MS = 50;
const REWRITTEN_AT_ONCE = 1_000;
/** The server's limit is 16,777,216 bytes. */
const LARGEST_BYTES = 16_700_000;
/** Texts of fewer characters are not measured: folded and exact texts beside them cannot make so much of them. */
const SURELY_SMALL = 1_000_000;
/**
 * DocumentValidationFailure, CannotBuildIndexKeys, BSONObjectTooLarge, KeyTooLong; and 17419 and 17420, a result that is too
 * large.
 */
const REFUSAL_CODES: readonly unknown[] = [121, 201, 10_334, 17_280, 17_419, 17_420];

export class SliceWriter {
  readonly #database: Database;
  readonly #definitions: Definitions;
  readonly #tenant: TenantDocument;
  readonly #slice: Slice;
  readonly #spaces = new Map<string, Space>();
  readonly #heads: Heads;

  /** @param tenant as it is stored @param heads of rows that were asked for since then, by space */
  constructor(database: Database, definitions: Definitions, tenant: TenantDocument, slice: Slice, heads: Heads) {
    this.#database = database;
    this.#definitions = definitions;
    this.#tenant = tenant;
    this.#slice = slice;
    this.#heads = heads;
  }

  /**
   * Writes the states, which nobody sees before `commit`.
   * @returns spaces in which states end; undefined if a part of a clean-up is left
   * @throws RowRefusedError
   */
  async write(): Promise<readonly string[] | undefined> {
    await this.#findHeads();
    const forgets: Write<'forget'>[] = [];
    /** What is folded so far is visible from here. */
    let visible = this.#tenant.position;
    for (const write of this.#slice.writes) {
      if (write.kind === 'define') {
        await this.#define(write.assetType);
        continue;
      }
      const space = await this.#space(write.space);
      if (write.kind === 'end') {
        space.state = { ...space.state, revision: write.revision, lastEventAt: write.at };
        continue;
      }
      space.state = { ...space.state, changed: this.#slice.position };
      if (write.kind === 'forget') forgets.push(write);
      else if (write.kind === 'touch') space.touch(write);
      else if (write.kind === 'cleanUp') {
        if (!(await this.#cleanUp(space, write))) return undefined;
      } else if (write.kind === 'redact') {
        await this.#writeStates();
        await this.#rewrite(space, { s: space.s, i: write.id, t: { $lte: visible } }, write.fields);
      } else if (write.kind === 'put') {
        space.put(write, this.#slice.position);
        visible = Math.max(visible, write.row.from);
      } else {
        space.delete(write);
        visible = Math.max(visible, write.to);
      }
    }
    await this.#writeStates();
    // At the end: rows that the slice made may be old already.
    for (const write of forgets) await this.#forget(await this.#space(write.space), write);
    await this.#countForgotten(new Set(forgets.map(({ space }) => space)));
    return [...this.#spaces.values()].flatMap(({ s, isEnding }) => (isEnding ? s : []));
  }

  /**
   * Stores the progress.
   * @returns the tenant as it is stored then; undefined if another process had stored this slice already
   * @throws RowsUnavailableError if it has stored something else
   */
  async commit(fence: number): Promise<TenantDocument | undefined> {
    const { _id, generation, position } = this.#tenant;
    const spaces = [...this.#spaces].map(([name, { state }]) => [name, state] as const);
    const moved = { position: this.#slice.position, fence };
    const { matchedCount } = await this.#database.tenants.updateOne(
      { _id, generation, position, fence: { $lte: fence } },
      { $set: { ...moved, ...Object.fromEntries(spaces.map(([name, state]) => [`spaces.${name}`, state])) } },
    );
    if (matchedCount === 1)
      return { ...this.#tenant, ...moved, spaces: { ...this.#tenant.spaces, ...Object.fromEntries(spaces) } };
    const stored = await this.#database.tenants.findOne({ _id });
    if (stored?.generation === generation && stored.position >= this.#slice.position) return undefined;
    throw new RowsUnavailableError('Another process writes these rows.');
  }

  /** Of rows that are put or deleted, unless they are known. */
  async #findHeads(): Promise<void> {
    const wanted = new Map<string, Set<string>>();
    for (const write of this.#slice.writes) {
      if (write.kind !== 'put' && write.kind !== 'delete') continue;
      const id = write.kind === 'put' ? write.row.id : write.was.id;
      if (this.#heads.get(write.space)?.has(id)) continue;
      wanted.set(write.space, (wanted.get(write.space) ?? new Set()).add(id));
    }
    const { position } = this.#tenant;
    for (const [space, ids] of wanted) {
      const heads = this.#heads.get(space) ?? new Map<string, Head | undefined>();
      this.#heads.set(space, heads);
      for (const id of ids) heads.set(id, undefined);
      // It has no rows yet.
      if (this.#tenant.spaces[space] === undefined) continue;
      const seen = { s: spaceKey(this.#tenant, space), o: 1, f: { $lte: position }, t: { $gt: position } } as const;
      const options = { projection: { _id: 0, i: 1, n: 1, f: 1 }, batchSize: ids.size + 1 };
      for await (const { i, n, f } of this.#database.states.find({ ...seen, i: { $in: [...ids] } }, options))
        heads.set(i, { n, f });
    }
  }

  async #space(name: string): Promise<Space> {
    const known = this.#spaces.get(name);
    if (known !== undefined) return known;
    const state = this.#tenant.spaces[name];
    if (state === undefined) throw new Error(`There is no space ${name}.`);
    return this.#know(name, await this.#definitions.get(this.#database, state.definition), state);
  }

  #know(name: string, definition: Definition, state: SpaceDocument): Space {
    const space = new Space(spaceKey(this.#tenant, name), definition, state, this.#heads.get(name) ?? new Map());
    this.#spaces.set(name, space);
    return space;
  }

  async #define(assetType: AssetType): Promise<void> {
    const { name } = assetType;
    if (!this.#spaces.has(name) && this.#tenant.spaces[name] === undefined) {
      const definition = await this.#definitions.put(this.#database, assetType, undefined);
      const state = { definition: definition.id, next: 1, changed: 0, revision: -1, lastEventAt: '', rows: 0 };
      this.#know(name, definition, state);
      return;
    }
    const space = await this.#space(name);
    const before = space.definition;
    space.definition = await this.#definitions.put(this.#database, assetType, before);
    space.state = { ...space.state, definition: space.definition.id };
    // Fields that rows may have already.
    const isNewlySought = before.assetType.fields.some(
      (field) => !before.slots.has(field.name) && space.definition.slots.has(field.name),
    );
    if (isNewlySought) await this.#rewrite(space, { s: space.s });
  }

  async #writeStates(): Promise<void> {
    const spaces = [...this.#spaces.values()];
    const there = await this.#add(spaces.flatMap(({ begun }) => [...begun.values()]));
    const changes = spaces.flatMap((space) => space.changes(there, this.#slice.position));
    if (changes.length > 0) await this.#database.states.bulkWrite(changes, { ordered: false });
    for (const space of spaces) space.forgetWritten();
  }

  /** Those that are there already stay. @returns their ids: a slice that was cut had added them, and they may lack their end */
  async #add(begun: readonly StateDocument[]): Promise<ReadonlySet<string>> {
    if (begun.length === 0) return new Set();
    const tooLarge = begun.find(
      (each) => each.d.length > SURELY_SMALL && BSON.calculateObjectSize(each) > LARGEST_BYTES,
    );
    if (tooLarge !== undefined) throw refused(tooLarge);
    try {
      const there = await unlessThere(() => this.#database.states.insertMany([...begun], { ordered: false }));
      return new Set(there.flatMap((place) => begun[place]?._id ?? []));
    } catch (error) {
      const place =
        error instanceof MongoBulkWriteError ? [error.writeErrors].flat().find(isRefusal)?.index : undefined;
      const document = place === undefined ? undefined : begun[place];
      if (document !== undefined) throw refused(document, { cause: error });
      if (error instanceof MongoServerError && isRefusal(error))
        throw new RowRefusedError(error.message, { cause: error });
      throw error;
    }
  }

  /** A piece ends what has not ended yet; all that ended here is counted at the end, so that no piece has to be remembered. */
  async #cleanUp(space: Space, { batch, to }: Write<'cleanUp'>): Promise<boolean> {
    const { states } = this.#database;
    const { s } = space;
    const startedAt = performance.now();
    const outside = {
      s,
      o: 1,
      f: { $lte: this.#tenant.position },
      t: OPEN,
      b: { $ne: batch },
      p: { $lt: to },
    } as const;
    const options = { projection: { _id: 1 }, limit: CLEANED_UP_AT_ONCE, batchSize: CLEANED_UP_AT_ONCE + 1 };
    for (let isLeft = true; isLeft; ) {
      const some = (await states.find(outside, options).toArray()).map(({ _id }) => _id);
      isLeft = some.length === CLEANED_UP_AT_ONCE;
      if (some.length > 0)
        await states.updateMany({ s, _id: { $in: some }, t: OPEN, p: { $lt: to } }, { $set: { t: to, h: 'deleted' } });
      if (isLeft && performance.now() - startedAt > CLEAN_UP_MS) return false;
    }
    space.isEnding = true;
    const deleted = await states.countDocuments({ s, t: to, h: 'deleted' });
    space.state = { ...space.state, rows: space.state.rows - deleted };
    return true;
  }

  async #forget(space: Space, { field, before }: Write<'forget'>): Promise<void> {
    const { position } = this.#slice;
    const old = { [sortKey(space.definition, field)]: { $lt: sortValue(before) } };
    await this.#database.states.updateMany(
      { s: space.s, o: 1, f: { $lte: position }, t: { $gt: position }, ...old },
      { $set: { t: position, h: 'forgotten' } },
    );
  }

  async #countForgotten(names: ReadonlySet<string>): Promise<void> {
    const ended = { $gt: this.#tenant.position, $lte: this.#slice.position };
    for (const name of names) {
      const space = await this.#space(name);
      const forgotten = await this.#database.states.countDocuments({ s: space.s, t: ended, h: 'forgotten' });
      space.state = { ...space.state, rows: space.state.rows - forgotten };
      space.isEnding ||= forgotten > 0;
    }
  }

  /** Computes again what is stored of the fields. @param instead in place of values that a state has */
  async #rewrite({ definition }: Space, which: StateFilter, instead: Fields = {}): Promise<void> {
    const { assetType, slots } = definition;
    const { states } = this.#database;
    const options = { projection: { _id: 1, d: 1 }, batchSize: REWRITTEN_AT_ONCE };
    for await (const { _id, d } of states.find<Pick<StateDocument, '_id' | 'd'>>(which, options)) {
      const before: Fields = JSON.parse(d);
      const replaced = Object.entries(instead).filter(([name]) => Object.hasOwn(before, name));
      const fields = withoutNulls({ ...before, ...Object.fromEntries(replaced) });
      const values = slotValues(slots, fields);
      const gone = Object.keys(slotValues(slots, before)).filter((slot) => !Object.hasOwn(values, slot));
      await states.updateOne(
        { _id },
        {
          $set: { k: keyOf(assetType, fields), d: JSON.stringify(fields), ...values },
          $unset: Object.fromEntries(gone.map((slot) => [slot, ''] as const)),
        },
      );
    }
  }
}

const isRefusal = ({ code }: { readonly code?: unknown }): boolean => REFUSAL_CODES.includes(code);

const refused = ({ i, s }: StateDocument, options?: ErrorOptions): RowRefusedError =>
  new RowRefusedError(`MongoDB cannot store the row ${i} of ${s.slice(s.lastIndexOf('.') + 1)}.`, options);

/** What writes of one space come to: states that begin, states that end, and batch ids that move, by the states' ids. */
class Space {
  isEnding = false;
  readonly begun = new Map<string, StateDocument>();
  readonly #ended = new Map<string, { readonly i: string; readonly t: Position; readonly h: How }>();
  readonly #touched = new Map<string, { readonly i: string; readonly b: string | null }>();
  /** Batch ids of rows that nothing else changes, by their ids. */
  readonly #touchedRows = new Map<string, string | null>();
  readonly #heads: Map<string, Head | undefined>;

  /** @param heads of the rows that are put or deleted, as they are before the writes */
  constructor(
    readonly s: string,
    public definition: Definition,
    public state: SpaceDocument,
    heads: Map<string, Head | undefined>,
  ) {
    this.#heads = heads;
  }

  put({ row, was }: Write<'put'>, position: Position): void {
    const head = this.#heads.get(row.id);
    const n = head?.n ?? this.state.next;
    if (head === undefined) this.state = { ...this.state, next: n + 1, rows: this.state.rows + 1 };
    // One that the same append made was never shown.
    else if (head.f !== row.from) this.#end(row.id, head, row.from, was === undefined ? 'replaced' : 'changed');
    const begun = newDocument(this.s, this.definition.slots, row, n, position);
    this.begun.set(begun._id, begun);
    this.#heads.set(row.id, { n, f: row.from });
  }

  delete({ was: { id }, to }: Write<'delete'>): void {
    const head = this.#heads.get(id);
    if (head === undefined) return;
    this.state = { ...this.state, rows: this.state.rows - 1 };
    this.#heads.set(id, undefined);
    if (head.f === to) this.begun.delete(stateId(this.s, id, to));
    else this.#end(id, head, to, 'deleted');
  }

  #end(i: string, { f }: Head, t: Position, h: How): void {
    const _id = stateId(this.s, i, f);
    const begun = this.begun.get(_id);
    if (begun !== undefined) this.begun.set(_id, { ...begun, t, h });
    this.#ended.set(_id, { i, t, h });
    this.isEnding = true;
  }

  touch({ ids, batch }: Write<'touch'>): void {
    for (const i of ids) {
      const head = this.#heads.get(i);
      if (!this.#heads.has(i)) this.#touchedRows.set(i, batch);
      if (head === undefined) continue;
      const _id = stateId(this.s, i, head.f);
      const begun = this.begun.get(_id);
      if (begun !== undefined) this.begun.set(_id, { ...begun, b: batch });
      this.#touched.set(_id, { i, b: batch });
    }
  }

  /** @param there ids of states that were to be added, and are there already */
  changes(there: ReadonlySet<string>, p: Position): AnyBulkWriteOperation<StateDocument>[] {
    const { s } = this;
    const ofStored = <Of>(changed: ReadonlyMap<string, Of>) =>
      [...changed].filter(([_id]) => !this.begun.has(_id) || there.has(_id));
    const ends = ofStored(this.#ended).map(([_id, { i, t, h }]) => ({
      updateOne: { filter: { _id, s, i, t: { $gt: t } }, update: { $set: { t, h } } },
    }));
    // What a later event has touched stays.
    const touches = ofStored(this.#touched).map(([_id, { i, b }]) => ({
      updateOne: { filter: { _id, s, i, p: { $lte: p } }, update: { $set: { b, p } } },
    }));
    const present = { s, o: 1, p: { $lte: p }, f: { $lte: p }, t: { $gt: p } } as const;
    const rows = [...new Set(this.#touchedRows.values())].map((b) => {
      const ids = [...this.#touchedRows].flatMap(([i, batch]) => (batch === b ? i : []));
      return { updateMany: { filter: { ...present, i: { $in: ids } }, update: { $set: { b, p } } } };
    });
    return [...ends, ...touches, ...rows];
  }

  forgetWritten(): void {
    this.begun.clear();
    this.#ended.clear();
    this.#touched.clear();
    this.#touchedRows.clear();
  }
}
