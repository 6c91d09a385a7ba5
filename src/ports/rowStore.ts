/**
 * Storage of rows and their versions. An engine stores rows and finds them: what a row looks like is computed in
 * `projections/rows.ts`, what is asked of rows in `queries/`. Contract tests for every adapter: `test/contract/rowStore.ts`.
 */
import type { AssetType } from '../domain/assetTypes/assetType.js';
import type { Fields, FieldValue } from '../domain/assetTypes/fieldTypes.js';
import type { Row, Version } from '../domain/spaces.js';
import type { Cancellation } from '../supervision/cancellation.js';
import type { EventPosition, Position, Revision } from './eventStore.js';

/** A table of a tenant, or a space of the service's own. */
export type SpaceRef = { readonly tenant: string; readonly space: string };

/** `data`: the JSON text of its fields. `n`: its number in the order of creation, the same in every copy made from the log. */
export type StoredRow = Omit<Row, 'fields'> & { readonly data: string; readonly n: number };
/** A state that a row had, or has: `to` is undefined and `how` is `present` while it has it. */
export type StoredVersion = StoredRow & { readonly to: Position | undefined; readonly how: Version['how'] | 'present' };

export type SpaceState = {
  readonly progress: Position;
  /** Position of the last event that changed a row here, or a batch id; 0: none. While it is the same, so is every answer. */
  readonly changed: Position;
  /** Of the last event of the table's stream: -1 and '' before the first. */
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

export type Sort = {
  readonly field: 'n' | 'id' | 'created_at' | 'updated_at' | (string & {});
  readonly direction: 'asc' | 'desc';
};

export type PageQuery = {
  readonly conditions: readonly Condition[];
  /** Its last term is `n` or `id`, so there are no ties. */
  readonly sort: readonly Sort[];
  readonly offset: number;
  readonly limit: number;
  /** Only rows behind this number, in the direction of the sort, which is by `n` alone. */
  readonly behind?: number | undefined;
  readonly at?: Position | undefined;
  readonly withTotal: boolean;
  /** The page ends before the row with which `data` is longer than this; its first row is always there. In characters. */
  readonly maxCharacters: number;
};

/** `total`: how many there are, where it was asked for. */
export type Page = {
  readonly total?: number | undefined;
  readonly state: SpaceState;
  readonly rows: readonly StoredRow[];
};

export type VersionQuery = {
  /** One of three: all states of this row, the newest first; */
  readonly id?: string | undefined;
  /** those whose `to` is above the first and not above the second, by `to`, then n; */
  readonly ended?: readonly [after: Position, until: Position] | undefined;
  /** those whose `from` is, present ones as well, by `from`, then n. */
  readonly begun?: readonly [after: Position, until: Position] | undefined;
  readonly how?: 'deleted' | 'present' | undefined;
  /** Only those behind this place in that order, whether or not there is one at it. */
  readonly behind?: readonly [position: Position, n: number] | undefined;
  readonly limit: number;
};

export type VersionPage = { readonly state: SpaceState; readonly versions: readonly StoredVersion[] };

export type RowsQuery = {
  readonly ids: readonly string[];
  readonly keys: readonly string[];
  readonly at?: Position | undefined;
};

/** Each row once, in no order. `formerIds`: of keys that no row has, the ids of the last rows that had them. */
export type FoundRows = Omit<Page, 'total'> & { readonly formerIds: ReadonlyMap<string, string> };

/** This event cannot be applied, so the tenant's rows stand still. `error`: in sentences; `since`: ISO 8601. */
export type Parked = {
  readonly position: Position;
  readonly eventId: string;
  readonly eventType: string;
  readonly error: string;
  readonly since: string;
};

export type ParkedTenant = Parked & { readonly tenant: string };

/**
 * Its rows, of all spaces, are made up to the position. `filling`: from the beginning, and they are not shown yet. `logBytes`:
 * characters of the tenant's events up to there.
 */
export type TenantProgress = {
  readonly position: Position;
  readonly logBytes: number;
  readonly state: 'running' | 'filling' | 'parked';
  readonly parked?: Parked | undefined;
  readonly rows: number;
};

export type Spaces = ReadonlyMap<string, { readonly assetType: AssetType; readonly state: SpaceState }>;

/** A cancelled read rejects with the reason at once. A space that does not exist is empty. */
export interface RowReads {
  rows(space: SpaceRef, query: RowsQuery, cancellation?: Cancellation): Promise<FoundRows>;
  page(space: SpaceRef, query: PageQuery, cancellation?: Cancellation): Promise<Page>;
  versions(space: SpaceRef, query: VersionQuery, cancellation?: Cancellation): Promise<VersionPage>;
  /** As far as its rows are made. This and `progress`: undefined for a tenant without rows. */
  spaces(tenant: string): Promise<Spaces | undefined>;
  progress(tenant: string): Promise<TenantProgress | undefined>;
  close(): Promise<void>;
}

export type RowWrite =
  | { readonly kind: 'define'; readonly assetType: AssetType }
  /** Creates the row, or replaces it. `was`: the row before, which stays as a version (in spaces that keep their past). */
  | { readonly kind: 'put'; readonly space: string; readonly row: Row; readonly was?: Row | undefined }
  | { readonly kind: 'delete'; readonly space: string; readonly was: Row; readonly to: Position }
  | { readonly kind: 'touch'; readonly space: string; readonly ids: readonly string[]; readonly batch: string | null }
  /** Deletes each row with another batch id or none. The first write of its slice: others are applied with its last part. */
  | { readonly kind: 'cleanUp'; readonly space: string; readonly batch: string; readonly to: Position }
  /** In all versions of the row, and their keys, where they have values; null removes one. */
  | { readonly kind: 'redact'; readonly space: string; readonly id: string; readonly fields: Fields }
  /** Deletes rows with an older time in this field (ISO 8601, exclusive), without a version. */
  | { readonly kind: 'forget'; readonly space: string; readonly field: string; readonly before: string }
  /** The end of the table's stream. */
  | { readonly kind: 'end'; readonly space: string; readonly revision: Revision; readonly at: string };

/** Consecutive events of one tenant as writes, in their order. `position`: of the last one. */
export type Slice = {
  readonly writes: readonly RowWrite[];
  readonly position: Position;
  /** The progress that the writes were computed on. Default 0. */
  readonly after?: Position;
  /** What is added to the tenant's. Default: 0. */
  readonly logBytes?: number;
};

export type Checkpoint = EventPosition & { readonly log: string };

/** Other rows of a tenant are written beside those that are shown as if they were a tenant of this name. */
export const copyOf = (tenant: string): string => `${tenant}~copy`;

/**
 * What the follower writes. One process has it, or one of each share of tenants. Rows are read whether or not the tenant is
 * running. @throws RowsLostError from each method
 */
export interface RowWriter extends RowReads {
  /**
   * Applies the slice and stores its position as the tenant's progress, in one commit; nothing where the progress covers it.
   * @returns false if it is not done: call again with the same slice @throws RowRefusedError; RowsLostError also where other
   *   rows, which are behind `after`, have taken the place of the tenant's
   */
  apply(tenant: string, slice: Slice): Promise<boolean>;
  /** All tenants with rows, without copies. Those that run are no further than this position. */
  tenants(): Promise<ReadonlyMap<string, Omit<TenantProgress, 'rows'>>>;
  mark(tenant: string, state: 'filling' | Parked | undefined): Promise<void>;
  swap(tenant: string): Promise<void>;
  remove(tenant: string): Promise<void>;
  checkpoint(): Promise<Checkpoint | undefined>;
  /** @returns the tenants whose rows were found damaged since, by readers too. Empty ones are in their place. */
  keep(checkpoint: Checkpoint | undefined): Promise<readonly RowsLostError[]>;
}

/** The engine works and cannot store a row, or the rows differ from the log: the same write fails again. */
export class RowRefusedError extends Error {}

/** The rows cannot be read now. The message is for callers. */
export class RowsUnavailableError extends Error {}

/** @throws RowsUnavailableError unless the tenant's rows are shown */
export function refuseHidden(state: TenantProgress['state'] = 'running'): void {
  if (state === 'filling') throw new RowsUnavailableError('The rows of this tenant are being made.');
  if (state === 'parked')
    throw new RowsUnavailableError('The rows of this tenant are not shown: an event could not be applied.');
}

/** Rows were damaged, or of another layout. The writer has put empty ones in their place, whose state is `filling`. */
export class RowsLostError extends RowsUnavailableError {
  constructor(
    readonly tenant: string,
    message: string,
  ) {
    super(message);
  }
}
