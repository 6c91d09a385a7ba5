/**
 * Writes a slice: states that begin are added, states that end get their end, and last of all the tenant's progress makes both
 * visible. A slice that was cut is written again, in other slices perhaps, and so may two processes at once: what is there
 * already is the same, and stays.
 */
import { type AnyBulkWriteOperation, BSON, MongoBulkWriteError } from 'mongodb';
import type { AssetField, AssetType } from '../../../domain/assetTypes/assetType.js';
import type { Fields } from '../../../domain/assetTypes/fieldTypes.js';
import { withoutNulls } from '../../../domain/referenceTable/decide.js';
import { compareSortValues, keyOf, type Row, sortValue } from '../../../domain/row.js';
import type { Position } from '../../../ports/eventStore.js';
import { RowRefusedError, RowsUnavailableError, type RowWrite, type Slice } from '../../../ports/rowStore.js';
import { type StateFilter, sortKey } from './conditions.js';
import type { Database } from './connection.js';
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

/** States that a piece of a clean-up ends. */
const CLEANED_UP_AT_ONCE = 2_000;
/** The server's limit is 16,777,216 bytes. */
const LARGEST_BYTES = 16_700_000;
const DUPLICATE_KEY = 11_000;

/** The state that a row has after the writes so far. */
type Head = Pick<StateDocument, 'i' | 'n' | 'f'>;
type End = { readonly t: Position; readonly h: How; readonly b?: string | null };

/** A space, and what is to be written there next. */
type Space = {
  readonly s: string;
  definition: Definition;
  readonly state: { -readonly [Name in keyof SpaceDocument]: SpaceDocument[Name] };
  /** By row; of rows that are put or deleted. */
  readonly heads: Map<string, Head>;
  /** By `_id`. */
  readonly begun: Map<string, StateDocument>;
  readonly ended: Map<string, End>;
  /** Batch ids by row. */
  readonly touched: Map<string, string | null>;
};

const EMPTY = { definition: '', next: 1, changed: 0, revision: -1, lastEventAt: '', rows: 0 } as const;

export class SliceWriter {
  readonly #spaces = new Map<string, Space>();

  /** @param tenant as it is stored */
  constructor(
    private readonly database: Database,
    private readonly definitions: Definitions,
    private readonly tenant: TenantDocument,
    private readonly slice: Slice,
  ) {}

  /** Writes the states, which nobody sees before `commit`. @returns false if a part of a clean-up is left @throws RowRefusedError */
  async write(): Promise<boolean> {
    const { writes, position } = this.slice;
    let visible = this.tenant.position;
    for (const write of writes) {
      const isDefined = write.kind === 'define';
      const space = await this.#space(
        isDefined ? write.assetType.name : write.space,
        isDefined ? write.assetType : undefined,
      );
      if (write.kind !== 'define' && write.kind !== 'end') space.state.changed = position;
      if (write.kind === 'define') await this.#define(space, write.assetType);
      else if (write.kind === 'end') Object.assign(space.state, { revision: write.revision, lastEventAt: write.at });
      else if (write.kind === 'put') {
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
        await this.#flush(visible);
        await this.#rewrite(space, { s: space.s, i: write.id, t: { $lte: visible } }, write.fields);
      }
    }
    await this.#flush(position);
    await this.#forget(writes.filter((write) => write.kind === 'forget'));
    return true;
  }

  /** Stores the progress. @returns the tenant as it is stored then @throws RowsUnavailableError if another process has stored it */
  async commit(): Promise<TenantDocument> {
    const { _id, generation, position: before, inLog: had = NOTHING_IN_LOG } = this.tenant;
    const { position, inLog: added = NOTHING_IN_LOG } = this.slice;
    const moved = { position, inLog: { events: had.events + added.events, bytes: had.bytes + added.bytes } };
    const spaces = Object.fromEntries([...this.#spaces].map(([name, { state }]) => [name, state]));
    const changed = Object.entries(spaces).map(([name, state]) => [`spaces.${name}`, state]);
    const { matchedCount } = await this.database.tenants.updateOne(
      { _id, generation, position: before },
      { $set: { ...moved, ...Object.fromEntries(changed) } },
    );
    if (matchedCount === 0) throw new RowsUnavailableError('Another process writes these rows.');
    return { ...this.tenant, ...moved, spaces: { ...this.tenant.spaces, ...spaces } };
  }

  /** The space as it is stored, with the rows that the slice is about. */
  async #space(name: string, assetType?: AssetType): Promise<Space> {
    const known = this.#spaces.get(name);
    if (known !== undefined) return known;
    const [s, stored] = [spaceKey(this.tenant, name), spaceIn(this.tenant, name)];
    const { database, definitions } = this;
    const before = stored && (await definitions.get(database, stored.definition));
    const definition = before ?? (assetType && (await definitions.put(database, assetType, before)));
    if (definition === undefined) throw new Error(`There is no space ${name}.`);
    const ids = this.slice.writes.flatMap((write) => {
      if (write.kind === 'put' && write.space === name) return write.row.id;
      return write.kind === 'delete' && write.space === name ? write.was.id : [];
    });
    const heads = new Map<string, Head>();
    const seen = { ...visibleAt(s, this.tenant.position), i: { $in: [...new Set(ids)] } };
    const options = { projection: { _id: 0, i: 1, n: 1, f: 1 }, batchSize: ids.length + 1 };
    if (stored !== undefined && ids.length > 0)
      for await (const head of this.database.states.find<Head>(seen, options)) heads.set(head.i, head);
    const nothing = { begun: new Map(), ended: new Map(), touched: new Map() };
    const space = { s, definition, state: { ...EMPTY, ...stored }, heads, ...nothing };
    this.#spaces.set(name, space);
    return space;
  }

  async #define(space: Space, assetType: AssetType): Promise<void> {
    const before = space.definition;
    const definition = await this.definitions.put(this.database, assetType, before);
    space.definition = definition;
    space.state.definition = definition.id;
    // Rows may have fields already that are sought from now on.
    const isSought = ({ name }: AssetField): boolean => !before.slots.has(name) && definition.slots.has(name);
    if (before.assetType.fields.some(isSought)) await this.#rewrite(space, { s: space.s });
  }

  /** Writes what is to be written. @param p up to where that is known */
  async #flush(p: Position): Promise<void> {
    const spaces = [...this.#spaces.values()];
    const there = await this.#add(
      spaces.flatMap(({ begun, ended }) => [...begun.values()].map((each) => ({ ...each, ...ended.get(each._id) }))),
    );
    const changes: AnyBulkWriteOperation<StateDocument>[] = [];
    for (const { s, begun, ended, touched } of spaces) {
      for (const id of begun.keys()) if (!there.has(id)) ended.delete(id);
      for (const [ids, end] of grouped(ended))
        changes.push({ updateMany: { filter: { s, _id: { $in: ids } }, update: { $set: end } } });
      // What a later event has touched stays.
      const present = { ...visibleAt(s, p), p: { $lte: p } };
      for (const [ids, b] of grouped(touched))
        changes.push({ updateMany: { filter: { ...present, i: { $in: ids } }, update: { $set: { b, p } } } });
      for (const written of [begun, ended, touched]) written.clear();
    }
    if (changes.length > 0) await this.database.states.bulkWrite(changes);
  }

  /** @returns ids of those that are there already: a slice that was cut had added them, and they may lack their end */
  async #add(begun: readonly StateDocument[]): Promise<ReadonlySet<string>> {
    const tooLarge = begun.find((each) => BSON.calculateObjectSize(each) > LARGEST_BYTES);
    if (tooLarge !== undefined) {
      const { i, s } = tooLarge;
      throw new RowRefusedError(`MongoDB cannot store the row ${i} of ${s.slice(s.lastIndexOf('.') + 1)}.`);
    }
    try {
      if (begun.length > 0) await this.database.states.insertMany([...begun], { ordered: false });
      return new Set();
    } catch (error) {
      const errors = error instanceof MongoBulkWriteError ? [error.writeErrors].flat() : [];
      if (errors.length === 0 || errors.some(({ code }) => code !== DUPLICATE_KEY)) throw error;
      return new Set(errors.flatMap(({ index }) => begun[index]?._id ?? []));
    }
  }

  /** A piece ends what has not ended yet; all that ended here is counted at the end, so that no piece has to be remembered. */
  async #cleanUp(space: Space, { batch, to }: Write<'cleanUp'>): Promise<boolean> {
    const { states } = this.database;
    const { s } = space;
    const outside = { ...visibleAt(s, this.tenant.position), t: OPEN, b: { $ne: batch }, p: { $lt: to } };
    const options = { projection: { _id: 1 }, limit: CLEANED_UP_AT_ONCE, batchSize: CLEANED_UP_AT_ONCE + 1 };
    const piece = (await states.find(outside, options).toArray()).map(({ _id }) => _id);
    const open = { s, _id: { $in: piece }, t: OPEN, p: { $lt: to } };
    if (piece.length > 0) await states.updateMany(open, { $set: { t: to, h: 'deleted' } });
    if (piece.length === CLEANED_UP_AT_ONCE) return false;
    const deleted = await states.countDocuments({ s, t: to, h: 'deleted' });
    space.state.rows -= deleted;
    return true;
  }

  /** At the end: rows that the slice made may be old already. Those of a slice that was cut count as well. */
  async #forget(forgets: readonly Write<'forget'>[]): Promise<void> {
    const { states } = this.database;
    const { position } = this.slice;
    // The latest of a space covers the others.
    const inOrder = forgets.toSorted((a, b) => compareSortValues(a.before, b.before));
    for (const [name, { field, before }] of new Map(inOrder.map((write) => [write.space, write]))) {
      const space = await this.#space(name);
      const { s, definition } = space;
      const old = { [sortKey(definition, field)]: { $lt: sortValue(before) } };
      await states.updateMany({ ...visibleAt(s, position), ...old }, { $set: { t: position, h: 'forgotten' } });
      const t = { $gt: this.tenant.position, $lte: position };
      const forgotten = await states.countDocuments({ s, t, h: 'forgotten' });
      space.state.rows -= forgotten;
    }
  }

  /** Computes again what is stored of the fields. @param instead in place of values that a state has */
  async #rewrite({ definition }: Space, which: StateFilter, instead: Fields = {}): Promise<void> {
    const { assetType, slots } = definition;
    const { states } = this.database;
    for await (const { _id, s, i, n, f, t, h, o, c, u, b, p, d } of states.find(which)) {
      const before: Fields = JSON.parse(d);
      const replaced = Object.entries(instead).filter(([name]) => Object.hasOwn(before, name));
      const fields = withoutNulls({ ...before, ...Object.fromEntries(replaced) });
      const values = { k: keyOf(assetType, fields), d: JSON.stringify(fields), ...slotValues(slots, fields) };
      await states.replaceOne({ _id }, { s, i, n, f, t, h, o, c, u, b, p, ...values });
    }
  }
}

function put(space: Space, { row, was }: Write<'put'>): void {
  const { s, definition, state, heads, begun, ended, touched } = space;
  const head = heads.get(row.id);
  const n = head?.n ?? state.next;
  if (head === undefined) [state.next, state.rows] = [n + 1, state.rows + 1];
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
  state.rows -= 1;
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
