/**
 * Storage of rows and their versions. An engine stores rows and finds them, and knows nothing else: what a row looks like is
 * computed in `projections/rows.ts`, what is asked of rows in `queries/`.
 *
 * Adapters: `adapters/rows/sqlite` (embedded: one file a tenant), `adapters/rows/mongodb`. Contract tests for every adapter:
 * `test/contract/rowStore.ts`.
 */
import type { AssetType } from '../domain/assetTypes/assetType.js';
import type { Fields, FieldValue } from '../domain/assetTypes/fieldTypes.js';
import type { Row, Version } from '../domain/row.js';
import type { Cancellation } from '../supervision/cancellation.js';
import type { EventPosition, Position, Revision } from './eventStore.js';

/** One table of one tenant, or one of the service's own spaces of a tenant. No query can be built without a tenant. */
export type SpaceRef = { readonly tenant: string; readonly space: string };

/** A row as it is stored: `data` is the JSON text of its fields, so that nothing is parsed that is only passed on. */
export type StoredRow = Omit<Row, 'fields'> & {
  readonly data: string;
  /** Its number in the space's order of creation. Never changes, and is the same in every copy made from the log. */
  readonly n: number;
};
/** A state that a row had, or has: `to` is undefined and `how` is `present` while it has it. */
export type StoredVersion = Omit<Version, 'fields' | 'to' | 'how'> & {
  readonly data: string;
  readonly n: number;
  readonly to: Position | undefined;
  readonly how: Version['how'] | 'present';
};

export type SpaceState = {
  /** The tenant's progress when this was read. */
  readonly progress: Position;
  /** Position of the last event that changed a row here, or moved a batch id; 0: none. While it is the same, so is every answer. */
  readonly changed: Position;
  /** The last event of the table's stream: its revision (-1 before the first) and time (''); of tables with a stream of their own. */
  readonly revision: Revision;
  readonly lastEventAt: string;
  readonly rows: number;
};

/**
 * A test of one field, by values as they are stored. `contains`: its match text contains one of these texts, which are folded.
 * `equals`, `differs`: it is, or is not, exactly one of these. `compares`: by sort values; null matches neither way.
 */
export type FieldCondition =
  | { readonly kind: 'contains'; readonly field: string; readonly anyOf: readonly string[] }
  | { readonly kind: 'equals' | 'differs'; readonly field: string; readonly anyOf: readonly FieldValue[] }
  | {
      readonly kind: 'compares';
      readonly field: string;
      readonly is: 'gt' | 'gte' | 'lt' | 'lte';
      readonly value: string | number;
    }
  /** Of `created_at` and `updated_at` too, as of the others but `contains`. */
  | { readonly kind: 'null'; readonly field: string; readonly isNull: boolean }
  /** Ids from the first to the last, both inclusive; one id where they are equal. */
  | { readonly kind: 'ids'; readonly from: string; readonly to: string };

export type Condition =
  | FieldCondition
  | { readonly kind: 'any'; readonly anyOf: readonly FieldCondition[] }
  /** The rows that a clean-up with this batch id would delete. */
  | { readonly kind: 'outsideBatch'; readonly batch: string };

/** `n` is the order of creation. */
export type Sort = {
  readonly field: 'n' | 'id' | 'created_at' | 'updated_at' | (string & {});
  readonly direction: 'asc' | 'desc';
};

export type PageQuery = {
  /** All must hold. No condition selects nothing by itself: `queries/` answers those without asking. */
  readonly conditions: readonly Condition[];
  /** Complete: its last term is `n` or `id`, so there are no ties. */
  readonly sort: readonly Sort[];
  readonly offset: number;
  readonly limit: number;
  /** Only rows behind this number, in the direction of the sort, which is by `n` alone. */
  readonly behind?: number | undefined;
  /** The rows as they were then. */
  readonly at?: Position | undefined;
  readonly withTotal: boolean;
  /** The page ends before the row with which `data` is longer than this; its first row is always there. In characters. */
  readonly maxCharacters: number;
};

export type Page = {
  readonly rows: readonly StoredRow[];
  /** How many rows hold the conditions; only where it was asked for. */
  readonly total?: number | undefined;
  readonly state: SpaceState;
};

export type VersionQuery = {
  /** Of this row only: all its states, by `to`, then n; the present one is the last. */
  readonly id?: string | undefined;
  /** `to` lies in here: above the first, not above the second. By `to`, then n. */
  readonly ended?: readonly [after: Position, until: Position] | undefined;
  /** `from` lies in here; present states as well. By `from`, then n. Exactly one of the two, or `id`. */
  readonly begun?: readonly [after: Position, until: Position] | undefined;
  /** Only these. */
  readonly how?: StoredVersion['how'] | undefined;
  readonly direction: 'asc' | 'desc';
  /** Only those behind this place in that order and direction, whether or not there is one at it. */
  readonly behind?: readonly [position: Position, n: number] | undefined;
  readonly limit: number;
  readonly withTotal: boolean;
};

export type VersionPage = {
  readonly versions: readonly StoredVersion[];
  readonly total?: number | undefined;
  readonly state: SpaceState;
};

export type RowsQuery = {
  readonly ids: readonly string[];
  readonly keys: readonly string[];
  readonly at?: Position | undefined;
  /** Also the ids that the last rows of these keys had when they were deleted, for keys that no row has. */
  readonly withFormerIds?: boolean;
};

export type FoundRows = {
  /** Each once, in no order. */
  readonly rows: readonly StoredRow[];
  readonly formerIds: ReadonlyMap<string, string>;
  readonly state: SpaceState;
};

/** Why a tenant's rows stand still: this event cannot be applied. */
export type Parked = {
  readonly position: Position;
  readonly eventId: string;
  readonly eventType: string;
  /** In sentences. */
  readonly error: string;
  /** ISO 8601. */
  readonly since: string;
};

export type TenantProgress = {
  /** The tenant's rows are made up to here. */
  readonly position: Position;
  /** `filling`: they are made from the beginning, and not shown before they have come to where the log was then. */
  readonly state: 'running' | 'filling' | 'parked';
  readonly parked?: Parked | undefined;
  /** Rows of all spaces. */
  readonly rows: number;
};

/** What every process asks. A cancelled read ends soon and rejects with the reason. */
export interface RowReads {
  /** Rows by id or by key, read at one moment. Nothing if the space does not exist. */
  rows(space: SpaceRef, query: RowsQuery, cancellation?: Cancellation): Promise<FoundRows>;
  page(space: SpaceRef, query: PageQuery, cancellation?: Cancellation): Promise<Page>;
  versions(space: SpaceRef, query: VersionQuery, cancellation?: Cancellation): Promise<VersionPage>;
  /** The asset types of the tenant's spaces as far as its rows are made; undefined for a tenant without rows. */
  spaces(
    tenant: string,
  ): Promise<ReadonlyMap<string, { readonly assetType: AssetType; readonly state: SpaceState }> | undefined>;
  /** What is stored of the tenant's progress; undefined for a tenant without rows. */
  progress(tenant: string): Promise<TenantProgress | undefined>;
  close(): Promise<void>;
}

/** A write, computed from one event. */
export type RowWrite =
  | { readonly kind: 'define'; readonly assetType: AssetType }
  /** Creates the row, or replaces it. `was`: the row before, which stays as a version (in spaces that keep their past). */
  | { readonly kind: 'put'; readonly space: string; readonly row: Row; readonly was?: Row | undefined }
  | { readonly kind: 'delete'; readonly space: string; readonly was: Row; readonly to: Position }
  | { readonly kind: 'touch'; readonly space: string; readonly ids: readonly string[]; readonly batch: string | null }
  /**
   * Deletes each row with another batch id or none, as at this position. The first write of its slice: the others are those of
   * its event, and are applied with its last part.
   */
  | { readonly kind: 'cleanUp'; readonly space: string; readonly batch: string; readonly to: Position }
  /** In all versions of the row, where they have values; null removes one. The unique field's is the key of versions, too. */
  | { readonly kind: 'redact'; readonly space: string; readonly id: string; readonly fields: Fields }
  /** Deletes rows with an older time in this field (ISO 8601, exclusive), without a version: their time to be kept is over. */
  | { readonly kind: 'forget'; readonly space: string; readonly field: string; readonly before: string }
  /** The end of the table's stream. */
  | { readonly kind: 'end'; readonly space: string; readonly revision: Revision; readonly at: string };

/** Consecutive events of one tenant as writes, which are applied in their order. */
export type Slice = {
  readonly writes: readonly RowWrite[];
  /** Spaces that the writes change: `changed` of their state becomes `position`. */
  readonly position: Position;
  /** The tenant was deleted: the follower removes its rows in place of applying this one. No slice follows. */
  readonly drop?: true;
};

/** How far the log was read for all tenants, and which ones have yet to come there. */
export type Checkpoint = EventPosition & { readonly log: string };

/** What the follower writes. One process, or on MongoDB one of each share of tenants, has it. */
export interface RowWriter extends Pick<RowReads, 'rows' | 'spaces' | 'progress'> {
  /** All tenants with rows; of one whose rows were lost, it is `filling` and its position 0. */
  tenants(): Promise<ReadonlyMap<string, TenantProgress>>;
  /**
   * Applies the slice and stores its position as the tenant's progress, in one commit; does nothing where the progress covers it.
   * Creates what the tenant lacks.
   * @returns false if a part of a long clean-up is left: call again with the same slice
   * @throws RowRefusedError if the engine works, and cannot store a row; RowsLostError, as any method of a writer does
   */
  apply(tenant: string, slice: Slice): Promise<boolean>;
  /** Sets the tenant's state; undefined: running. */
  mark(tenant: string, state: 'filling' | Parked | undefined): Promise<void>;
  /** An empty copy of the tenant's rows beside those that are shown. One a tenant; an older one is discarded. */
  copy(tenant: string): Promise<RowCopy>;
  /** Everything of the tenant, in one order for all engines: by space, then rows by n, then versions by n and `from`. */
  dump(tenant: string): AsyncIterable<DumpLine>;
  remove(tenant: string): Promise<void>;
  checkpoint(): Promise<Checkpoint | undefined>;
  keep(checkpoint: Checkpoint): Promise<void>;
  /** The tenants whose rows readers found damaged since the last call. Empty ones are in their place, as after a RowsLostError. */
  lost(): Promise<readonly RowsLostError[]>;
  close(): Promise<void>;
}

export type RowCopy = Pick<RowWriter, 'rows' | 'spaces' | 'progress' | 'apply' | 'dump'> & {
  /** It takes the place of the tenant's rows in one step. */
  swap(): Promise<void>;
  discard(): Promise<void>;
};

export type DumpLine = {
  readonly space: string;
  readonly kind: 'space' | 'row' | 'version';
  readonly id: string;
  readonly text: string;
};

/** The engine cannot store a row, as one that is too large, or the rows differ from the log. The same write fails again. */
export class RowRefusedError extends Error {
  override readonly name = 'RowRefusedError';
}

/** The rows cannot be read now: their engine is away, or they are being made. The message is for callers. */
export class RowsUnavailableError extends Error {
  override readonly name: string = 'RowsUnavailableError';
}

/**
 * Rows of this tenant were damaged, or of another release's layout. The writer that throws it has put empty ones in their place,
 * whose state is `filling`.
 */
export class RowsLostError extends RowsUnavailableError {
  override readonly name = 'RowsLostError';
  /** Where the damaged file is kept. */
  readonly aside: string | undefined;

  constructor(
    readonly tenant: string,
    message: string,
    { aside, ...options }: ErrorOptions & { readonly aside?: string | undefined } = {},
  ) {
    super(message, options);
    this.aside = aside;
  }
}
