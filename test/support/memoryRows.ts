/**
 * Rows in memory, as plain arrays: the model that engines are compared with. Obviously right rather than quick. Copies share
 * nothing with what they copy, so tests may change what is inside to plant a difference.
 */
import type { AssetType } from '#app/domain/assetTypes/assetType.js';
import type { Fields, FieldValue } from '#app/domain/assetTypes/fieldTypes.js';
import { keyOf, matchText, type Row, sortValue, type Version } from '#app/domain/spaces.js';
import {
  type Checkpoint,
  type Condition,
  copyOf,
  type FieldCondition,
  type FoundRows,
  type Page,
  type PageQuery,
  type Parked,
  type RowReads,
  type RowsLostError,
  type RowsQuery,
  RowsUnavailableError,
  type RowWrite,
  type RowWriter,
  type Slice,
  type Sort,
  type SpaceRef,
  type SpaceState,
  type StoredRow,
  type StoredVersion,
  type TenantProgress,
  type VersionPage,
  type VersionQuery,
} from '#app/ports/rowStore.js';

type Numbered<Of> = Of & { readonly n: number };
type MemoryRow = Numbered<Row>;
type MemoryVersion = Numbered<Version>;
type MemoryState = Numbered<Row> & Pick<StoredVersion, 'to' | 'how'>;

type MemorySpace = {
  assetType: AssetType;
  next: number;
  changed: number;
  revision: number;
  lastEventAt: string;
  /** By `n`. */
  rows: MemoryRow[];
  versions: MemoryVersion[];
};

type MemoryTenant = {
  position: number;
  logBytes?: number;
  state: 'filling' | Parked | undefined;
  readonly spaces: Map<string, MemorySpace>;
};

type Settings = {
  /** How many rows one call deletes of a clean-up. Default: all. */
  readonly cleanedUpAtOnce?: number;
};

const newTenant = (): MemoryTenant => ({ position: 0, state: undefined, spaces: new Map() });

/** The writer; its `reads` are those of everybody else. */
export class MemoryRows implements RowWriter {
  readonly reads: RowReads = this.#readsWhileShown();
  readonly stored = new Map<string, MemoryTenant>();
  readonly #settings: Settings;
  #checkpoint: Checkpoint | undefined;

  constructor(settings: Settings = {}) {
    this.#settings = settings;
  }

  async rows({ tenant, space }: SpaceRef, { ids, keys, at }: RowsQuery): Promise<FoundRows> {
    const found = this.#space(tenant, space);
    const shown = found === undefined ? [] : rowsAt(found, at);
    const isAsked = ({ id, key }: Row): boolean => ids.includes(id) || (key !== null && keys.includes(key));
    const formerIds = new Map<string, string>();
    for (const key of keys) {
      const last = found?.versions
        .filter((version) => version.key === key && version.how === 'deleted' && version.to <= (at ?? Infinity))
        .sort((a, b) => b.to - a.to || b.n - a.n)[0];
      if (last !== undefined && !shown.some((row) => row.key === key)) formerIds.set(key, last.id);
    }
    return { rows: shown.filter(isAsked).map(asStored), formerIds, state: this.#state(tenant, found) };
  }

  async page({ tenant, space }: SpaceRef, query: PageQuery): Promise<Page> {
    const found = this.#space(tenant, space);
    const { conditions, sort, offset, limit, behind, maxCharacters } = query;
    const matching = (found === undefined ? [] : rowsAt(found, query.at)).filter((row) => holdsAll(row, conditions));
    matching.sort((a, b) => compareRows(a, b, sort));
    const isDown = sort.at(-1)?.direction === 'desc';
    const rest = matching.filter(({ n }) => behind === undefined || (isDown ? n < behind : n > behind));
    const rows: StoredRow[] = [];
    let characters = 0;
    for (const row of rest.slice(offset, offset + limit).map(asStored)) {
      characters += row.data.length;
      if (rows.length > 0 && characters > maxCharacters) break;
      rows.push(row);
    }
    return { rows, state: this.#state(tenant, found), ...(query.withTotal && { total: matching.length }) };
  }

  async versions({ tenant, space }: SpaceRef, query: VersionQuery): Promise<VersionPage> {
    const found = this.#space(tenant, space);
    const { id, ended, begun, how, behind, limit } = query;
    const sign = id === undefined ? 1 : -1;
    const placeOf = ({ from, to }: MemoryState): number => (begun === undefined ? (to ?? Infinity) : from);
    const isWanted = (state: MemoryState): boolean =>
      (id === undefined || state.id === id) &&
      (how === undefined || state.how === how) &&
      (ended === undefined || (state.to !== undefined && isWithin(state.to, ended))) &&
      (begun === undefined || isWithin(state.from, begun));
    const isBehind = (state: MemoryState): boolean =>
      behind === undefined || sign * (placeOf(state) - behind[0] || state.n - behind[1]) > 0;
    const matching = (found === undefined ? [] : statesIn(found)).filter(isWanted);
    matching.sort((a, b) => sign * (comparePlaces(placeOf(a), placeOf(b)) || a.n - b.n));
    const versions = matching.filter(isBehind).slice(0, limit).map(asStored);
    return { versions, state: this.#state(tenant, found) };
  }

  async spaces(tenant: string): Promise<Map<string, { assetType: AssetType; state: SpaceState }> | undefined> {
    const spaces = this.stored.get(tenant)?.spaces;
    if (spaces === undefined) return undefined;
    const described = [...spaces].map(
      ([name, space]) => [name, { assetType: space.assetType, state: this.#state(tenant, space) }] as const,
    );
    return new Map(described);
  }

  async progress(tenant: string): Promise<TenantProgress | undefined> {
    const stored = this.stored.get(tenant);
    if (stored === undefined) return undefined;
    const { position, logBytes = 0, state } = stored;
    const rows = [...stored.spaces.values()].reduce((sum, space) => sum + space.rows.length, 0);
    if (state === undefined || state === 'filling') return { position, logBytes, state: state ?? 'running', rows };
    return { position, logBytes, state: 'parked', parked: state, rows };
  }

  async tenants(): Promise<Map<string, TenantProgress>> {
    const tenants = new Map<string, TenantProgress>();
    for (const tenant of [...this.stored.keys()].filter((name) => !name.includes('~'))) {
      const progress = await this.progress(tenant);
      if (progress !== undefined) tenants.set(tenant, progress);
    }
    return tenants;
  }

  async apply(tenant: string, slice: Slice): Promise<boolean> {
    return this.#apply(this.#created(tenant), slice);
  }

  async mark(tenant: string, state: 'filling' | Parked | undefined): Promise<void> {
    this.#created(tenant).state = state;
  }

  async swap(tenant: string): Promise<void> {
    this.stored.set(tenant, this.#created(copyOf(tenant)));
    this.stored.delete(copyOf(tenant));
  }

  async remove(tenant: string): Promise<void> {
    this.stored.delete(tenant);
  }

  async checkpoint(): Promise<Checkpoint | undefined> {
    return this.#checkpoint;
  }

  async keep(checkpoint: Checkpoint | undefined): Promise<readonly RowsLostError[]> {
    this.#checkpoint = checkpoint ?? this.#checkpoint;
    return [];
  }

  async close(): Promise<void> {
    // Nothing is open.
  }

  /** Tenants that are being filled, or are parked, are not shown. */
  #readsWhileShown(): RowReads {
    const shown = async (tenant: string): Promise<void> => {
      if (this.stored.get(tenant)?.state !== undefined)
        throw new RowsUnavailableError('The rows of this tenant are being made.');
    };
    return {
      rows: async (space, query) => shown(space.tenant).then(() => this.rows(space, query)),
      page: async (space, query, cancellation) => {
        await shown(space.tenant);
        cancellation?.throwIfCancelled();
        return this.page(space, query);
      },
      versions: async (space, query) => shown(space.tenant).then(() => this.versions(space, query)),
      spaces: (tenant) => this.spaces(tenant),
      progress: (tenant) => this.progress(tenant),
      close: async () => undefined,
    };
  }

  #created(tenant: string): MemoryTenant {
    const stored = this.stored.get(tenant) ?? newTenant();
    this.stored.set(tenant, stored);
    return stored;
  }

  #space(tenant: string, space: string): MemorySpace | undefined {
    return this.stored.get(tenant)?.spaces.get(space);
  }

  #state(tenant: string, space: MemorySpace | undefined): SpaceState {
    const { changed, revision, lastEventAt, rows } = space ?? { changed: 0, revision: -1, lastEventAt: '', rows: [] };
    const progress = this.stored.get(tenant)?.position ?? 0;
    return { progress, changed, revision, lastEventAt, rows: rows.length };
  }

  #apply(tenant: MemoryTenant, { writes, position, logBytes = 0 }: Slice): boolean {
    if (position <= tenant.position) return true;
    for (const write of writes) {
      if (write.kind === 'define') define(tenant, write.assetType);
      else {
        const space = tenant.spaces.get(write.space);
        if (space === undefined) throw new Error(`There is no space ${write.space}.`);
        if (write.kind !== 'end') space.changed = position;
        if (!change(space, write, this.#settings)) return false;
      }
    }
    tenant.position = position;
    tenant.logBytes = (tenant.logBytes ?? 0) + logBytes;
    return true;
  }
}

function define({ spaces }: MemoryTenant, assetType: AssetType): void {
  const space = spaces.get(assetType.name);
  if (space !== undefined) space.assetType = assetType;
  else {
    const state = { assetType, next: 1, changed: 0, revision: -1, lastEventAt: '' };
    spaces.set(assetType.name, { ...state, rows: [], versions: [] });
  }
}

/** @returns false if a part of a clean-up is left */
function change(space: MemorySpace, write: Exclude<RowWrite, { kind: 'define' }>, settings: Settings): boolean {
  switch (write.kind) {
    case 'put':
      put(space, write.row, write.was);
      return true;
    case 'delete':
      remove(space, ({ id }) => id === write.was.id, write.to);
      return true;
    case 'touch':
      space.rows = space.rows.map((row) => (write.ids.includes(row.id) ? { ...row, batch: write.batch } : row));
      return true;
    case 'cleanUp': {
      const outside = space.rows.filter(({ batch }) => batch !== write.batch);
      const gone = new Set(outside.slice(0, settings.cleanedUpAtOnce).map(({ id }) => id));
      remove(space, ({ id }) => gone.has(id), write.to);
      return gone.size === outside.length;
    }
    case 'redact':
      space.versions = space.versions.map((version) => {
        if (version.id !== write.id) return version;
        const fields = redacted(version.fields, write.fields);
        return { ...version, fields, key: keyOf(space.assetType, fields) };
      });
      return true;
    case 'forget':
      space.rows = space.rows.filter(({ fields }) => {
        const time = fields[write.field] ?? null;
        return typeof time !== 'string' || time >= write.before;
      });
      return true;
    case 'end':
      space.revision = write.revision;
      space.lastEventAt = write.at;
      return true;
  }
}

function put(space: MemorySpace, row: Row, was: Row | undefined): void {
  const place = space.rows.findIndex(({ id }) => id === row.id);
  const n = space.rows[place]?.n ?? space.next;
  if (was !== undefined) space.versions.push({ ...was, n, to: row.from, how: 'changed' });
  if (place >= 0) space.rows[place] = { ...row, n };
  else {
    space.rows.push({ ...row, n });
    space.next += 1;
  }
}

/** A row that was made by the same append was never shown, so it leaves no version. */
function remove(space: MemorySpace, isGone: (row: Row) => boolean, to: number): void {
  const gone = space.rows.filter(isGone);
  space.rows = space.rows.filter((row) => !gone.includes(row));
  for (const row of gone) if (row.from < to) space.versions.push({ ...row, to, how: 'deleted' });
}

const redacted = (fields: Fields, others: Fields): Fields => {
  const shown = Object.entries(fields).map(([name, value]) => [name, name in others ? others[name] : value] as const);
  return Object.fromEntries(
    shown.flatMap(([name, value]) => (value === null || value === undefined ? [] : [[name, value]])),
  );
};

const asStored = <Of extends Numbered<Row>>({
  fields,
  ...rest
}: Of): Omit<Of, 'fields'> & { readonly data: string } => ({
  ...rest,
  data: JSON.stringify(fields),
});

/** States that rows had, and those that they have. */
const statesIn = ({ rows, versions }: MemorySpace): MemoryState[] => [
  ...versions,
  ...rows.map((row) => ({ ...row, to: undefined, how: 'present' as const })),
];

const isWithin = (position: number, [after, until]: readonly [number, number]): boolean =>
  position > after && position <= until;

/** Infinity is no difference of itself. */
const comparePlaces = (a: number, b: number): number => (a === b ? 0 : a - b);

function rowsAt({ rows, versions }: MemorySpace, at: number | undefined): MemoryRow[] {
  if (at === undefined) return [...rows];
  const past = versions.filter(({ from, to }) => from <= at && at < to).map(({ to: _, how: __, ...row }) => row);
  return [...rows.filter(({ from }) => from <= at), ...past];
}

const holdsAll = (row: Row, conditions: readonly Condition[]): boolean =>
  conditions.every((condition) => {
    if (condition.kind === 'any') return condition.anyOf.some((each) => holds(row, each));
    if (condition.kind === 'outsideBatch') return row.batch !== condition.batch;
    return holds(row, condition);
  });

function holds(row: Row, condition: FieldCondition): boolean {
  if (condition.kind === 'ids') return row.id >= condition.from && row.id <= condition.to;
  const value = fieldValue(row, condition.field);
  switch (condition.kind) {
    case 'contains':
      return condition.anyOf.some((text) => matchText(value)?.includes(text) === true);
    case 'equals':
      return condition.anyOf.some((each) => isSame(each, value));
    case 'differs':
      return !condition.anyOf.some((each) => isSame(each, value));
    case 'null':
      return (value === null) === condition.isNull;
    case 'compares': {
      // The times of a row are texts that are not folded.
      const found = condition.field === 'created_at' || condition.field === 'updated_at' ? value : sortValue(value);
      if (typeof found !== 'string' && typeof found !== 'number') return false;
      const order = compareSortValues(found, condition.value);
      return { gt: order > 0, gte: order >= 0, lt: order < 0, lte: order <= 0 }[condition.is];
    }
  }
}

const isSame = (a: FieldValue, b: FieldValue): boolean => JSON.stringify(a) === JSON.stringify(b);

function fieldValue(row: Row, field: string): FieldValue {
  if (field === 'id') return row.id;
  if (field === 'created_at') return row.created;
  if (field === 'updated_at') return row.updated;
  return Object.hasOwn(row.fields, field) ? (row.fields[field] ?? null) : null;
}

function compareRows(a: MemoryRow, b: MemoryRow, sort: readonly Sort[]): number {
  for (const { field, direction } of sort) {
    const order =
      field === 'n' ? a.n - b.n : compareSortValues(sortValue(fieldValue(a, field)), sortValue(fieldValue(b, field)));
    if (order !== 0) return direction === 'asc' ? order : -order;
  }
  return 0;
}

/** The first value is the lower one where it is negative. Text compares by code points, as in both engines. */
function compareSortValues(a: string | number | null, b: string | number | null): number {
  if (a === b) return 0;
  if (a === null) return -1;
  if (b === null) return 1;
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return a < b ? -1 : 1;
}
