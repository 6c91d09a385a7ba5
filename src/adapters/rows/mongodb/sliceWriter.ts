/**
 * Writes a slice: states that begin are added, states that end get their end, and last of all the tenant's progress makes both
 * visible. A slice that was cut is written again, in other slices perhaps, and so may two processes at once: what is there
 * already is the same, and stays.
 */
import type { Fields } from '../../../domain/assetTypes/fieldTypes.js';
import { withoutNulls } from '../../../domain/referenceTable/decide.js';
import { keyOf, sortValue } from '../../../domain/row.js';
import type { Position } from '../../../ports/eventStore.js';
import type { RowWrite, Slice } from '../../../ports/rowStore.js';
import { RowsUnavailableError } from '../../../ports/rowStore.js';
import { addStates } from './addStates.js';
import type { StateFilter } from './conditions.js';
import { sortKey } from './conditions.js';
import type { Database } from './connection.js';
import type { Definition, Definitions } from './definitions.js';
import {
  OPEN,
  type SpaceDocument,
  type StateDocument,
  slotValues,
  spaceKey,
  type TenantDocument,
} from './documents.js';
import { RowDrafts, type RowsWrite, type StoredState } from './rowDrafts.js';

/** States that a piece of a clean-up ends, and how long one call goes on with pieces. */
const CLEANED_UP_AT_ONCE = 2_000;
const CLEAN_UP_MS = 50;
const REWRITTEN_AT_ONCE = 1_000;

type Space = { readonly s: string; definition: Definition; state: SpaceDocument; waiting: RowsWrite[] };
type Written = 'done' | 'clean-up goes on';

export class SliceWriter {
  /** Spaces in which states end. */
  readonly ending = new Set<string>();
  readonly #database: Database;
  readonly #definitions: Definitions;
  readonly #tenant: TenantDocument;
  readonly #slice: Slice;
  readonly #spaces = new Map<string, Space>();
  /** What is written so far is visible from here. */
  #visible: Position;

  /** @param tenant as it is stored */
  constructor(database: Database, definitions: Definitions, tenant: TenantDocument, slice: Slice) {
    this.#database = database;
    this.#definitions = definitions;
    this.#tenant = tenant;
    this.#slice = slice;
    this.#visible = tenant.position;
  }

  /** Writes the states, which nobody sees before `commit`. */
  async write(): Promise<Written> {
    const forgets: Extract<RowWrite, { kind: 'forget' }>[] = [];
    for (const write of this.#slice.writes) {
      if (write.kind === 'define') {
        await this.#define(write.assetType);
        continue;
      }
      const space = await this.#space(write.space);
      const isEnd = write.kind === 'end';
      space.state = {
        ...space.state,
        ...(isEnd ? { revision: write.revision, lastEventAt: write.at } : { changed: this.#slice.position }),
      };
      if (write.kind === 'cleanUp' && (await this.#cleanUp(space, write)) !== 'done') return 'clean-up goes on';
      if (write.kind === 'redact') {
        await this.#writeRows();
        await this.#redact(space, write);
      }
      if (write.kind === 'forget') forgets.push(write);
      if (write.kind === 'put' || write.kind === 'delete' || write.kind === 'touch') space.waiting.push(write);
    }
    await this.#writeRows();
    await this.#forget(forgets);
    return 'done';
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

  async #space(name: string): Promise<Space> {
    const known = this.#spaces.get(name);
    if (known !== undefined) return known;
    const state = this.#tenant.spaces[name];
    if (state === undefined) throw new Error(`There is no space ${name}.`);
    return this.#know(name, await this.#definitions.get(this.#database, state.definition), state);
  }

  #know(name: string, definition: Definition, state: SpaceDocument): Space {
    const space = { s: spaceKey(this.#tenant, name), definition, state, waiting: [] };
    this.#spaces.set(name, space);
    return space;
  }

  async #define(assetType: Definition['assetType']): Promise<void> {
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

  /** Puts, deletes and touches that wait. */
  async #writeRows(): Promise<void> {
    const writes = [...this.#spaces.values()].flatMap(({ waiting }) => waiting);
    const spaces = [...this.#spaces.values()].filter(({ waiting }) => waiting.length > 0);
    const outcomes = await Promise.allSettled(spaces.map((space) => this.#writeRowsOf(space, space.waiting)));
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
    for (const space of spaces) space.waiting = [];
    const positions = writes.map((write) =>
      write.kind === 'put' ? write.row.from : write.kind === 'delete' ? write.to : 0,
    );
    this.#visible = positions.reduce((last, each) => Math.max(last, each), this.#visible);
  }

  async #writeRowsOf(space: Space, writes: readonly RowsWrite[]): Promise<void> {
    const { position } = this.#slice;
    const ids = writes.flatMap((write) =>
      write.kind === 'put' ? write.row.id : write.kind === 'delete' ? write.was.id : [],
    );
    const drafts = new RowDrafts(await this.#stored(space.s, [...new Set(ids)]), space.state.next);
    for (const write of writes) drafts.add(write);
    space.state = { ...space.state, next: drafts.next, rows: space.state.rows + drafts.added };
    const { states } = this.#database;
    const made = drafts.documents(space.s, space.definition.slots, position);
    const there = await addStates(states, space.definition.assetType.name, made);
    if (made.some(({ t }) => t !== OPEN)) this.ending.add(space.s);
    for (const { to, how, ids: ended } of drafts.endings(space.s, there)) {
      this.ending.add(space.s);
      await states.updateMany({ s: space.s, _id: { $in: ended }, t: { $gt: to } }, { $set: { t: to, h: how } });
    }
    // At the end, as they are seen at once. What a later event has touched stays.
    for (const [batch, { rows, states: some }] of drafts.touches(space.s, there)) {
      const touched = { s: space.s, o: 1, p: { $lte: position } } as const;
      const move = { $set: { b: batch, p: position } };
      const present = { f: { $lte: position }, t: { $gt: position } };
      if (rows.length > 0) await states.updateMany({ ...touched, ...present, i: { $in: rows } }, move);
      if (some.length > 0) await states.updateMany({ ...touched, _id: { $in: some } }, move);
    }
  }

  async #stored(s: string, ids: string[]): Promise<Map<string, StoredState>> {
    if (ids.length === 0) return new Map();
    const found = await this.#database.states
      .find<StoredState & Pick<StateDocument, 'i'>>(
        { ...this.#seen(s), i: { $in: ids } },
        { projection: { _id: 0, i: 1, n: 1, f: 1 }, batchSize: ids.length + 1 },
      )
      .toArray();
    return new Map(found.map((state) => [state.i, state]));
  }

  #seen(s: string): StateFilter {
    return { s, o: 1, f: { $lte: this.#visible }, t: { $gt: this.#visible } };
  }

  /** A piece ends what has not ended yet; all that ended here is counted at the end, so that no piece has to be remembered. */
  async #cleanUp(space: Space, { batch, to }: Extract<RowWrite, { kind: 'cleanUp' }>): Promise<Written> {
    const { states } = this.#database;
    const { s } = space;
    this.ending.add(s);
    const outside: StateFilter = { ...this.#seen(s), t: OPEN, b: { $ne: batch }, p: { $lt: to } };
    const startedAt = performance.now();
    for (;;) {
      const options = { projection: { _id: 1 }, limit: CLEANED_UP_AT_ONCE, batchSize: CLEANED_UP_AT_ONCE + 1 };
      const some = (await states.find(outside, options).toArray()).map(({ _id }) => _id);
      if (some.length > 0)
        await states.updateMany({ s, _id: { $in: some }, t: OPEN, p: { $lt: to } }, { $set: { t: to, h: 'deleted' } });
      if (some.length < CLEANED_UP_AT_ONCE) break;
      if (performance.now() - startedAt > CLEAN_UP_MS) return 'clean-up goes on';
    }
    const deleted = await states.countDocuments({ s, t: to, h: 'deleted' });
    space.state = { ...space.state, rows: space.state.rows - deleted };
    return 'done';
  }

  /** The last thing in a slice: rows that it made may be old already. Those of a slice that was cut count as well. */
  async #forget(forgets: readonly Extract<RowWrite, { kind: 'forget' }>[]): Promise<void> {
    const { states } = this.#database;
    const { position } = this.#slice;
    const spaces = new Set<Space>();
    for (const { space: name, field, before } of forgets) {
      const space = await this.#space(name);
      const old = { [sortKey(space.definition, field)]: { $lt: sortValue(before) } };
      const present = { s: space.s, o: 1, f: { $lte: position }, t: { $gt: position } } as const;
      await states.updateMany({ ...present, ...old }, { $set: { t: position, h: 'forgotten' } });
      spaces.add(space);
    }
    for (const space of spaces) {
      const ended = { $gt: this.#tenant.position, $lte: position };
      const forgotten = await states.countDocuments({ s: space.s, t: ended, h: 'forgotten' });
      if (forgotten > 0) this.ending.add(space.s);
      space.state = { ...space.state, rows: space.state.rows - forgotten };
    }
  }

  /** In versions that there are by now. */
  #redact(space: Space, { id, fields }: Extract<RowWrite, { kind: 'redact' }>): Promise<void> {
    return this.#rewrite(space, { s: space.s, i: id, t: { $lte: this.#visible } }, fields);
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
      const cleared = Object.keys(slotValues(slots, before)).map((slot) => [slot, ''] as const);
      await states.updateOne({ _id }, { $unset: Object.fromEntries(cleared) });
      await states.updateOne(
        { _id },
        { $set: { k: keyOf(assetType, fields), d: JSON.stringify(fields), ...slotValues(slots, fields) } },
      );
    }
  }
}
