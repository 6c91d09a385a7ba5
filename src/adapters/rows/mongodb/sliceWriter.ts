/**
 * Writes a slice: states that begin are added, states that end get their end, and last of all the tenant's progress makes both
 * visible. A slice that was cut is written again, in other slices perhaps, and so may two processes at once: what is there
 * already is the same, and stays.
 */
import { type AnyBulkWriteOperation, BSON, MongoBulkWriteError, MongoServerError } from 'mongodb';
import type { AssetType } from '../../../domain/assetTypes/assetType.js';
import type { Fields } from '../../../domain/assetTypes/fieldTypes.js';
import { withoutNulls } from '../../../domain/referenceTable/decide.js';
import { keyOf, type Row, sortValue } from '../../../domain/row.js';
import type { Position } from '../../../ports/eventStore.js';
import { RowRefusedError, RowsUnavailableError, type RowWrite, type Slice } from '../../../ports/rowStore.js';
import { type StateFilter, sortKey } from './conditions.js';
import { type Database, unlessThere } from './connection.js';
import type { Definition, Definitions } from './definitions.js';
import {
  type How,
  NOTHING_IN_LOG,
  newDocument,
  OPEN,
  type SpaceDocument,
  type StateDocument,
  slotValues,
  spaceIn,
  spaceKey,
  stateId,
  type TenantDocument,
  visibleAt,
} from './documents.js';

type Write<Kind extends RowWrite['kind']> = Extract<RowWrite, { kind: Kind }>;

/** States that a piece of a clean-up ends, and how long one call goes on with pieces. */
const CLEANED_UP_AT_ONCE = 2_000;
const CLEAN_UP_MS = 50;
/** The server's limit is 16,777,216 bytes. */
const LARGEST_BYTES = 16_700_000;
/** Texts of fewer characters are not measured: folded and exact texts beside them cannot make so much of them. */
const SURELY_SMALL = 1_000_000;
/**
 * DocumentValidationFailure, CannotBuildIndexKeys, BSONObjectTooLarge, KeyTooLong; and 17419 and 17420, a result that is too
 * large.
 */
const REFUSAL_CODES: readonly unknown[] = [121, 201, 10_334, 17_280, 17_419, 17_420];

/** The state that a row has after the writes so far. */
type Head = Pick<StateDocument, 'i' | 'n' | 'f'>;
type End = { readonly t: Position; readonly h: How; readonly b?: string | null };

/** A space, and what is to be written there next. */
type Space = {
  readonly s: string;
  definition: Definition;
  state: SpaceDocument;
  /** By row; of rows that are put or deleted. */
  readonly heads: Map<string, Head>;
  /** By `_id`. */
  readonly begun: Map<string, StateDocument>;
  readonly ended: Map<string, End>;
  /** Batch ids by row. */
  readonly touched: Map<string, string | null>;
};

export class SliceWriter {
  readonly #database: Database;
  readonly #definitions: Definitions;
  readonly #tenant: TenantDocument;
  readonly #slice: Slice;
  readonly #spaces = new Map<string, Space>();
  /** Spaces in which states end. */
  readonly #ending = new Set<string>();

  /** @param tenant as it is stored */
  constructor(database: Database, definitions: Definitions, tenant: TenantDocument, slice: Slice) {
    this.#database = database;
    this.#definitions = definitions;
    this.#tenant = tenant;
    this.#slice = slice;
  }

  /** Writes the states, which nobody sees before `commit`. @returns false if a part of a clean-up is left @throws RowRefusedError */
  async write(): Promise<boolean> {
    const { writes, position } = this.#slice;
    let visible = this.#tenant.position;
    for (const write of writes) {
      const space = await this.#space(write);
      if (write.kind === 'end') space.state = { ...space.state, revision: write.revision, lastEventAt: write.at };
      else if (write.kind !== 'define') space.state = { ...space.state, changed: position };
      if (write.kind === 'put') {
        put(space, write);
        visible = Math.max(visible, write.row.from);
      } else if (write.kind === 'delete') {
        remove(space, write);
        visible = Math.max(visible, write.to);
      } else if (write.kind === 'touch') {
        for (const id of write.ids) space.touched.set(id, write.batch);
      } else if (write.kind === 'cleanUp') {
        if (!(await this.#cleanUp(space, write))) return false;
      } else if (write.kind === 'redact') {
        await this.#flush('states');
        await this.#rewrite(space, { s: space.s, i: write.id, t: { $lte: visible } }, write.fields);
      }
    }
    await this.#flush('all');
    await this.#forget(writes.filter((write) => write.kind === 'forget'));
    return true;
  }

  /**
   * Stores the progress.
   * @returns the tenant as it is stored then; of the spaces in which states have ended, those of this slice
   * @throws RowsUnavailableError if another process has stored it since
   */
  async commit(fence: number): Promise<TenantDocument> {
    const { _id, generation, position, inLog: before = NOTHING_IN_LOG } = this.#tenant;
    const { inLog: added = NOTHING_IN_LOG } = this.#slice;
    const inLog = { events: before.events + added.events, bytes: before.bytes + added.bytes };
    const moved = { position: this.#slice.position, inLog, fence };
    const spaces = Object.fromEntries([...this.#spaces].map(([name, { state }]) => [name, state]));
    const ended = Object.fromEntries([...this.#ending].map((name) => [name, moved.position]));
    const { matchedCount } = await this.#database.tenants.updateOne(
      { _id, generation, position, fence: { $lte: fence } },
      { $set: { ...moved, ...below('spaces', spaces), ...below('ended', ended) } },
    );
    if (matchedCount === 0) throw new RowsUnavailableError('Another process writes these rows.');
    return { ...this.#tenant, ...moved, spaces: { ...this.#tenant.spaces, ...spaces }, ended };
  }

  /** The space of a write, as the write finds it; it defines a new one. */
  async #space(write: RowWrite): Promise<Space> {
    const name = write.kind === 'define' ? write.assetType.name : write.space;
    const known = this.#spaces.get(name) ?? (await this.#stored(name));
    if (write.kind === 'define') return this.#define(known, write.assetType);
    if (known === undefined) throw new Error(`There is no space ${name}.`);
    return known;
  }

  async #stored(name: string): Promise<Space | undefined> {
    const state = spaceIn(this.#tenant, name);
    if (state === undefined) return undefined;
    const space = this.#know(name, await this.#definitions.get(this.#database, state.definition), state);
    const ids = this.#slice.writes.flatMap((write) => {
      if (write.kind === 'put' && write.space === name) return write.row.id;
      return write.kind === 'delete' && write.space === name ? write.was.id : [];
    });
    if (ids.length === 0) return space;
    const seen = { ...visibleAt(space.s, this.#tenant.position), i: { $in: [...new Set(ids)] } };
    const options = { projection: { _id: 0, i: 1, n: 1, f: 1 }, batchSize: ids.length + 1 };
    for await (const head of this.#database.states.find<Head>(seen, options)) space.heads.set(head.i, head);
    return space;
  }

  #know(name: string, definition: Definition, state: SpaceDocument): Space {
    const nothing = { heads: new Map(), begun: new Map(), ended: new Map(), touched: new Map() };
    const space = { s: spaceKey(this.#tenant, name), definition, state, ...nothing };
    this.#spaces.set(name, space);
    return space;
  }

  async #define(space: Space | undefined, assetType: AssetType): Promise<Space> {
    const before = space?.definition;
    const definition = await this.#definitions.put(this.#database, assetType, before);
    if (space === undefined || before === undefined) {
      const state = { definition: definition.id, next: 1, changed: 0, revision: -1, lastEventAt: '', rows: 0 };
      return this.#know(assetType.name, definition, state);
    }
    space.definition = definition;
    space.state = { ...space.state, definition: definition.id };
    // Fields that rows may have already.
    const isNewlySought = before.assetType.fields.some(
      ({ name }) => !before.slots.has(name) && definition.slots.has(name),
    );
    if (isNewlySought) await this.#rewrite(space, { s: space.s });
    return space;
  }

  /** Writes what is to be written so far; `all`: batch ids too, as they are after the slice. */
  async #flush(what: 'states' | 'all'): Promise<void> {
    const { position } = this.#slice;
    const spaces = [...this.#spaces];
    const begun = spaces.flatMap(([, space]) =>
      [...space.begun.values()].map((each) => ({ ...each, ...space.ended.get(each._id) })),
    );
    const there = await this.#add(begun);
    const changes: AnyBulkWriteOperation<StateDocument>[] = [];
    for (const [name, { s, begun, ended, touched }] of spaces) {
      if (ended.size > 0) this.#ending.add(name);
      for (const id of begun.keys()) if (!there.has(id)) ended.delete(id);
      for (const [ids, end] of grouped(ended))
        changes.push({ updateMany: { filter: { s, _id: { $in: ids } }, update: { $set: end } } });
      for (const written of [begun, ended]) written.clear();
      if (what === 'states') continue;
      // What a later event has touched stays.
      const present = { ...visibleAt(s, position), p: { $lte: position } };
      for (const [ids, b] of grouped(touched))
        changes.push({ updateMany: { filter: { ...present, i: { $in: ids } }, update: { $set: { b, p: position } } } });
      touched.clear();
    }
    if (changes.length > 0) await this.#database.states.bulkWrite(changes);
  }

  /** @returns ids of those that are there already: a slice that was cut had added them, and they may lack their end */
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
      const errors = error instanceof MongoBulkWriteError ? [error.writeErrors].flat() : [];
      const document = begun[errors.find(isRefusal)?.index ?? -1];
      if (document !== undefined) throw refused(document, { cause: error });
      if (!(error instanceof MongoServerError && isRefusal(error))) throw error;
      throw new RowRefusedError(error.message, { cause: error });
    }
  }

  /** A piece ends what has not ended yet; all that ended here is counted at the end, so that no piece has to be remembered. */
  async #cleanUp(space: Space, { space: name, batch, to }: Write<'cleanUp'>): Promise<boolean> {
    const { states } = this.#database;
    const { s } = space;
    const startedAt = performance.now();
    const outside = { ...visibleAt(s, this.#tenant.position), t: OPEN, b: { $ne: batch }, p: { $lt: to } };
    const options = { projection: { _id: 1 }, limit: CLEANED_UP_AT_ONCE, batchSize: CLEANED_UP_AT_ONCE + 1 };
    for (let isLeft = true; isLeft; ) {
      const some = (await states.find(outside, options).toArray()).map(({ _id }) => _id);
      isLeft = some.length === CLEANED_UP_AT_ONCE;
      if (some.length > 0)
        await states.updateMany({ s, _id: { $in: some }, t: OPEN, p: { $lt: to } }, { $set: { t: to, h: 'deleted' } });
      if (isLeft && performance.now() - startedAt > CLEAN_UP_MS) return false;
    }
    this.#ending.add(name);
    const deleted = await states.countDocuments({ s, t: to, h: 'deleted' });
    space.state = { ...space.state, rows: space.state.rows - deleted };
    return true;
  }

  /** At the end: rows that the slice made may be old already. Those of a slice that was cut count as well. */
  async #forget(forgets: readonly Write<'forget'>[]): Promise<void> {
    const { states } = this.#database;
    const { position } = this.#slice;
    for (const write of forgets) {
      const { s, definition } = await this.#space(write);
      const old = { [sortKey(definition, write.field)]: { $lt: sortValue(write.before) } };
      await states.updateMany({ ...visibleAt(s, position), ...old }, { $set: { t: position, h: 'forgotten' } });
    }
    for (const [name, write] of new Map(forgets.map((each) => [each.space, each]))) {
      const space = await this.#space(write);
      const t = { $gt: this.#tenant.position, $lte: position };
      const forgotten = await states.countDocuments({ s: space.s, t, h: 'forgotten' });
      if (forgotten > 0) this.#ending.add(name);
      space.state = { ...space.state, rows: space.state.rows - forgotten };
    }
  }

  /** Computes again what is stored of the fields. @param instead in place of values that a state has */
  async #rewrite({ definition }: Space, which: StateFilter, instead: Fields = {}): Promise<void> {
    const { assetType, slots } = definition;
    const { states } = this.#database;
    for await (const { _id, d } of states.find(which, { projection: { _id: 1, d: 1 } })) {
      const before: Fields = JSON.parse(d);
      const replaced = Object.entries(instead).filter(([name]) => Object.hasOwn(before, name));
      const fields = withoutNulls({ ...before, ...Object.fromEntries(replaced) });
      const values = slotValues(slots, fields);
      const gone = Object.keys(slotValues(slots, before)).filter((slot) => !Object.hasOwn(values, slot));
      const changed = { k: keyOf(assetType, fields), d: JSON.stringify(fields), ...values };
      const $unset = Object.fromEntries(gone.map((slot) => [slot, '' as const]));
      await states.updateOne({ _id }, { $set: changed, ...(gone.length > 0 && { $unset }) });
    }
  }
}

function put(space: Space, { row, was }: Write<'put'>): void {
  const { s, definition, state, heads, begun, ended, touched } = space;
  const head = heads.get(row.id);
  const n = head?.n ?? state.next;
  if (head === undefined) space.state = { ...state, next: n + 1, rows: state.rows + 1 };
  // One that the same append made was never shown.
  else if (head.f !== row.from)
    ended.set(stateId(s, head), { t: row.from, h: was === undefined ? 'replaced' : 'changed', ...batchOf(was) });
  const document = newDocument(s, definition.slots, row, n);
  begun.set(document._id, document);
  heads.set(row.id, document);
  touched.delete(row.id);
}

function remove(space: Space, { was, to }: Write<'delete'>): void {
  const { s, state, heads, begun, ended, touched } = space;
  const head = heads.get(was.id);
  if (head === undefined) return;
  const isNew = head.f === to && begun.delete(stateId(s, head));
  if (!isNew) ended.set(stateId(s, head), { t: to, h: 'deleted', ...batchOf(was) });
  heads.delete(was.id);
  touched.delete(was.id);
  space.state = { ...state, rows: state.rows - 1 };
}

/** The batch id that the state ends with: it may have moved in the slice. */
const batchOf = (was: Row | undefined): Pick<End, 'b'> => (was === undefined ? {} : { b: was.batch });

/** Ids with equal values. */
function grouped<Value>(values: ReadonlyMap<string, Value>): Iterable<readonly [string[], Value]> {
  const groups = new Map<string, readonly [string[], Value]>();
  for (const [id, value] of values) {
    const key = JSON.stringify(value);
    const group = groups.get(key) ?? [[], value];
    group[0].push(id);
    groups.set(key, group);
  }
  return groups.values();
}

const below = (path: string, values: object): object =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [`${path}.${name}`, value]));

const isRefusal = ({ code }: { readonly code?: unknown }): boolean => REFUSAL_CODES.includes(code);

const refused = ({ i, s }: StateDocument, options?: ErrorOptions): RowRefusedError =>
  new RowRefusedError(`MongoDB cannot store the row ${i} of ${s.slice(s.lastIndexOf('.') + 1)}.`, options);
