/**
 * Proof of read models: compares stored data with the log, record by record, and indexes and counts with the records. A
 * copy filled from the log stands for the log; see `ReadModelRebuild`.
 */

/** The unit of comparison: a table, or (table null) a tenant's order histories, or its delivery log. */
export type ProofPart = { readonly tenant: string; readonly table: string | null };

/** A stored fact that contradicts the log. Contains no values: they may be confidential. */
export type Difference = ProofPart & {
  /** The engine's table, index or collection; `catalog` for counts and revisions. */
  readonly place: string;
  /** Id of the record or delivery, or `<order id> <revision>` of a history entry; null if it is not about one of them. */
  readonly record: string | null;
  readonly kind: 'missing' | 'unexpected' | 'different';
  /** What is wrong, as a sentence. */
  readonly detail: string;
};

/**
 * `live`: compares the served data with the copy. `copy`: compares the copy's indexes and counts with its records, in
 * slices short enough for a thread that has other work.
 */
export type ProofSubject = 'live' | 'copy';

export type ProofQuestion = {
  readonly subject: ProofSubject;
  /** `next` of the previous slice; unset at first. */
  readonly after?: string | undefined;
  /** Deliveries that ended before this time (ISO 8601) may be missing from the served data. */
  readonly droppedBefore?: string | undefined;
};

export type ProofSlice = {
  /** Records compared. */
  readonly records: number;
  readonly differences: readonly Difference[];
  /** Both sides were read at the same position, of whole commits. If false, differences may only come from that. */
  readonly exact: boolean;
  /** Only from `structure`: the record count in the catalog, if it has one. */
  readonly counted?: number | undefined;
  /** Cursor of the next slice; undefined after the last. */
  readonly next?: string | undefined;
};

/** Each call takes bounded memory and blocks no writer in another thread or process. */
export interface ReadModelProof {
  /** Parts within the scope, of the served data and of the copy. */
  parts(): Promise<readonly ProofPart[]>;
  /** The next records of a part, in the order of their ids. */
  slice(part: ProofPart, question: ProofQuestion): Promise<ProofSlice>;
  /** Checks beyond single records: counts, indexes, index entries without a record. */
  structure(part: ProofPart, question: Pick<ProofQuestion, 'subject'>): Promise<ProofSlice>;
  /** Checks data shared by tenants; used if the scope is all tenants. */
  shared(): Promise<readonly Difference[]>;
}
