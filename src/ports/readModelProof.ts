/**
 * The proof of read models: what is stored is compared with what the log says, record by record, and with itself: its
 * indexes and counts. A copy that a rebuild fills stands for the log; see `ReadModelRebuild`.
 */

import type { Position } from './eventStore.js';

/** What is compared as one: a table, or (with the table null) a tenant's histories of orders, or its delivery log. */
export type ProofPart = { readonly tenant: string; readonly table: string | null };

/** Something stored that is not what the log says. It shows no values: they may be confidential. */
export type Difference = ProofPart & {
  /** The engine's name of the table, index or collection that it is in; `catalog` for counts and revisions. */
  readonly place: string;
  /** Id of the record or delivery, `<order id> <revision>` of a history's entry; null where it is not about one. */
  readonly record: string | null;
  readonly kind: 'missing' | 'unexpected' | 'different';
  /** What is wrong, in words. */
  readonly detail: string;
};

/**
 * `live`: what is served, beside the copy. `copy`: the copy by itself, its indexes and counts with its records, in steps so
 * short that a thread which has other work as well can take them.
 */
export type ProofSubject = 'live' | 'copy';

export type ProofQuestion = {
  readonly subject: ProofSubject;
  /** The cursor that the slice before has given; unset at first. */
  readonly after?: string | undefined;
  /** Deliveries that ended before this time, ISO 8601, may be missing from what is served. */
  readonly droppedBefore?: string | undefined;
};

export type ProofSlice = {
  /** How many records were looked at. */
  readonly records: number;
  readonly differences: readonly Difference[];
  /** Both sides were seen at one position. Where they were not, a difference may come of that. */
  readonly exact: boolean;
  /** What is served has some of the changes up to here: beyond its checkpoint, where a commit was cut short. */
  readonly until?: Position | undefined;
  /** Of a whole part: how many records the catalog says there are, where it counts them. */
  readonly counted?: number | undefined;
  /** Where the next slice begins; undefined after the last. */
  readonly next?: string | undefined;
};

/** Each call takes bounded memory. None holds up a writer in another thread or process. */
export interface ReadModelProof {
  /** Of the scope, in what is served or in the copy. */
  parts(): Promise<readonly ProofPart[]>;
  /** The next records of a part, in the order of their ids. */
  slice(part: ProofPart, question: ProofQuestion): Promise<ProofSlice>;
  /** What is not of one record: counts, indexes, entries of indexes that no record has. */
  whole(part: ProofPart, question: Pick<ProofQuestion, 'subject'>): Promise<ProofSlice>;
  /** What several tenants share; looked at where the scope is all of them. */
  shared(): Promise<readonly Difference[]>;
}
