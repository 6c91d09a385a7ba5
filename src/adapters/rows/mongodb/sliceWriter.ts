/**
 * Writes a slice: states that begin are added, states that end get their end, and last of all the tenant's progress makes both
 * visible. A slice that was cut is written again, in other slices perhaps, and so may two processes at once: what is there
 * already is the same, and stays.
 */
import { MongoBulkWriteError, MongoInvalidArgumentError } from 'mongodb';
import type { AssetField, AssetType } from '../../../domain/assetTypes/assetType.js';
import type { Fields } from '../../../domain/assetTypes/fieldTypes.js';
import { withoutNulls } from '../../../domain/referenceTable/decide.js';
import { keyOf, sortValue } from '../../../domain/spaces.js';
import { RowRefusedError, type RowWrite, type Slice } from '../../../ports/rowStore.js';
import { type Definition, type Definitions, type StateFilter, sortKey } from './conditions.js';
import type { Database } from './connection.js';
import {
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
import { OtherWriterError } from './shares.js';

type Write<Kind extends RowWrite['kind']> = Extract<RowWrite, { kind: Kind }>;

/** States that a piece of a clean-up ends. */
const CLEANED_UP_AT_ONCE = 2_000;
const DUPLICATE_KEY = 11_000;
/** BadValue, FailedToParse, TypeMismatch, InvalidBSON, DocumentValidationFailure, too large: the server refuses this document. */
const REFUSALS: readonly unknown[] = [2, 9, 14, 22, 121, 10_334, 17_419];

/** The state that a row has after the writes so far. */
type Head = Pick<StateDocument, 'i' | 'n' | 'f'>;
/** `b`: the batch id may have moved in the slice. */
type End = Pick<StateDocument, 't' | 'h' | 'b'>;

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

const EMPTY = { next: 1, changed: 0, revision: -1, lastEventAt: '', rows: 0 } as const;

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
      const space = await (write.kind === 'define' ? this.#define(write.assetType) : this.#space(write.space));
      if (write.kind === 'end') Object.assign(space.state, { revision: write.revision, lastEventAt: write.at });
      else if (write.kind !== 'define') space.state.changed = position;
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
        await this.#flush();
        await this.#rewrite(space, { s: space.s, i: write.id, t: { $lte: visible } }, write.fields);
      }
    }
    await this.#flush();
    await this.#touch();
    const forgets = writes.filter((write) => write.kind === 'forget');
    // The last of a space is the latest.
    for (const forget of new Map(forgets.map((each) => [each.space, each])).values()) await this.#forget(forget);
    return true;
  }

  /** Stores the progress. @returns the spaces in which something has changed @throws OtherWriterError */
  async commit(): Promise<readonly string[]> {
    const { _id, generation, position: before } = this.tenant;
    const { position, logBytes = 0 } = this.slice;
    const spaces = Object.fromEntries([...this.#spaces].map(([name, { state }]) => [`spaces.${name}`, state]));
    const { matchedCount } = await this.database.tenants.updateOne(
      { _id, generation, position: before },
      { $set: { position, ...spaces }, $inc: { 'inLog.bytes': logBytes } },
    );
    if (matchedCount === 0) throw new OtherWriterError();
    return [...this.#spaces.values()].filter(({ state }) => state.changed === position).map(({ s }) => s);
  }

  async #space(name: string): Promise<Space> {
    const known = this.#spaces.get(name);
    if (known !== undefined) return known;
    const state = spaceIn(this.tenant, name);
    if (state === undefined) throw new Error(`There is no space ${name}.`);
    const space = this.#know(name, await this.definitions.get(this.database, state.definition), state);
    const ids = this.slice.writes.flatMap((write) => {
      if (write.kind === 'put' && write.space === name) return write.row.id;
      return write.kind === 'delete' && write.space === name ? write.was.id : [];
    });
    if (ids.length === 0) return space;
    const seen = { ...visibleAt(space.s, this.tenant.position), i: { $in: [...new Set(ids)] } };
    const options = { projection: { _id: 0, i: 1, n: 1, f: 1 }, batchSize: ids.length + 1 };
    for await (const head of this.database.states.find<Head>(seen, options)) space.heads.set(head.i, head);
    return space;
  }

  #know(name: string, definition: Definition, state: SpaceDocument): Space {
    const nothing = { heads: new Map(), begun: new Map(), ended: new Map(), touched: new Map() };
    const space = { s: spaceKey(this.tenant, name), definition, state: { ...state }, ...nothing };
    this.#spaces.set(name, space);
    return space;
  }

  async #define(assetType: AssetType): Promise<Space> {
    const { name } = assetType;
    const isNew = !this.#spaces.has(name) && spaceIn(this.tenant, name) === undefined;
    const space = isNew ? undefined : await this.#space(name);
    const before = space?.definition;
    const definition = await this.definitions.put(this.database, assetType, before);
    if (space === undefined || before === undefined)
      return this.#know(name, definition, { ...EMPTY, definition: definition.id });
    space.definition = definition;
    space.state.definition = definition.id;
    // Rows may have fields already that are sought from now on.
    const isSought = (field: AssetField): boolean => !before.slots.has(field.name) && definition.slots.has(field.name);
    if (before.assetType.fields.some(isSought)) await this.#rewrite(space, { s: space.s });
    return space;
  }

  /** Writes states that have begun, and ends, also of states that a slice which was cut had added. */
  async #flush(): Promise<void> {
    const spaces = [...this.#spaces.values()];
    const added = spaces.flatMap(({ begun }) => [...begun.values()]);
    if (added.length > 0) await written(added, this.database.states.insertMany(added, { ordered: false }));
    const changes = spaces.flatMap(({ s, ended }) =>
      [...grouped(ended)].map(([ids, end]) => ({
        updateMany: { filter: { s, _id: { $in: ids } }, update: { $set: end } },
      })),
    );
    if (changes.length > 0) await this.database.states.bulkWrite(changes);
    for (const { begun, ended } of spaces) {
      begun.clear();
      ended.clear();
    }
  }

  /** Moves batch ids to what they are at the slice's end. What a later event has touched stays. */
  async #touch(): Promise<void> {
    const { position: p } = this.slice;
    const changes = [...this.#spaces.values()].flatMap(({ s, touched }) =>
      [...grouped(touched)].map(([ids, b]) => ({
        updateMany: { filter: { ...visibleAt(s, p), p: { $lte: p }, i: { $in: ids } }, update: { $set: { b, p } } },
      })),
    );
    if (changes.length > 0) await this.database.states.bulkWrite(changes);
  }

  /** A piece ends what has not ended yet; all that ended here is counted at the end, so that no piece has to be remembered. */
  async #cleanUp({ s, state }: Space, { batch, to }: Write<'cleanUp'>): Promise<boolean> {
    const { states } = this.database;
    const open = { t: OPEN, p: { $lt: to } };
    const outside = { ...visibleAt(s, this.tenant.position), ...open, b: { $ne: batch } };
    const options = { projection: { _id: 1 }, limit: CLEANED_UP_AT_ONCE, batchSize: CLEANED_UP_AT_ONCE + 1 };
    const piece = (await states.find(outside, options).toArray()).map(({ _id }) => _id);
    if (piece.length > 0)
      await states.updateMany({ s, _id: { $in: piece }, ...open }, { $set: { t: to, h: 'deleted' } });
    if (piece.length === CLEANED_UP_AT_ONCE) return false;
    state.rows -= await states.countDocuments({ s, t: to, h: 'deleted' });
    return true;
  }

  /** Rows that the slice made may be old already. Those of a slice that was cut count as well. */
  async #forget({ space: name, field, before }: Write<'forget'>): Promise<void> {
    const { states } = this.database;
    const { position } = this.slice;
    const { s, definition, state } = await this.#space(name);
    const old = { [sortKey(definition, field)]: { $lt: sortValue(before) } };
    await states.updateMany({ ...visibleAt(s, position), ...old }, { $set: { t: position, h: 'forgotten' } });
    const t = { $gt: this.tenant.position, $lte: position };
    state.rows -= await states.countDocuments({ s, t, h: 'forgotten' });
  }

  /** Computes again what is stored of the fields. @param instead in place of values that a state has */
  async #rewrite({ s, definition }: Space, which: StateFilter, instead: Fields = {}): Promise<void> {
    const { assetType, slots } = definition;
    const { states } = this.database;
    for await (const { _id, i, d } of states.find(which, { projection: { i: 1, d: 1 } })) {
      const before: Fields = JSON.parse(d);
      const replaced = Object.entries(instead).filter(([name]) => Object.hasOwn(before, name));
      const fields = withoutNulls({ ...before, ...Object.fromEntries(replaced) });
      const gone = Object.fromEntries(Object.keys(slotValues(slots, before)).map((slot) => [slot, null]));
      const values = { k: keyOf(assetType, fields), d: JSON.stringify(fields), ...gone, ...slotValues(slots, fields) };
      // Not over what a later event has replaced.
      const updateOne = { filter: { _id, d }, update: { $set: values } };
      await written([{ s, i, d }], states.bulkWrite([{ updateOne }]));
    }
  }
}

/** States that are there already are the same. @throws RowRefusedError naming the row that the server refuses or cannot be sent */
async function written(states: readonly Pick<StateDocument, 's' | 'i' | 'd'>[], writing: Promise<unknown>) {
  try {
    await writing;
  } catch (error) {
    const errors = error instanceof MongoBulkWriteError ? [error.writeErrors].flat() : [];
    if (errors.length > 0 && errors.every(({ code }) => code === DUPLICATE_KEY)) return;
    const refused = errors.find(({ code }) => REFUSALS.includes(code));
    const isTooLarge = error instanceof MongoInvalidArgumentError;
    const state = isTooLarge ? states.toSorted((a, b) => b.d.length - a.d.length)[0] : states[refused?.index ?? -1];
    if (state === undefined || !(error instanceof Error)) throw error;
    const [reason, space] = [refused?.errmsg ?? error.message, state.s.split('.').at(-1)];
    throw new RowRefusedError(`MongoDB refuses row ${state.i} of "${space}": ${reason}.`, { cause: error });
  }
}

function put({ s, definition, state, heads, begun, ended, touched }: Space, { row, was }: Write<'put'>): void {
  const head = heads.get(row.id);
  const n = head?.n ?? state.next;
  if (head === undefined) [state.next, state.rows] = [n + 1, state.rows + 1];
  // One that the same append made was never shown.
  else if (head.f !== row.from)
    ended.set(stateId(s, head), { t: row.from, h: was ? 'changed' : 'replaced', b: was?.batch ?? null });
  const document = newDocument(s, definition.slots, row, n);
  begun.set(document._id, document);
  heads.set(row.id, document);
  touched.delete(row.id);
}

function remove({ s, state, heads, begun, ended, touched }: Space, { was, to }: Write<'delete'>): void {
  const head = heads.get(was.id);
  if (head === undefined) return;
  const isNew = head.f === to && begun.delete(stateId(s, head));
  if (!isNew) ended.set(stateId(s, head), { t: to, h: 'deleted', b: was.batch });
  heads.delete(was.id);
  touched.delete(was.id);
  state.rows -= 1;
}

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
