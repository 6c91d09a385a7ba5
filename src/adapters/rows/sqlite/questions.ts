/** What is asked of a reader thread, and what it replies. */
import type { PageQuery, RowsQuery, VersionQuery } from '../../../ports/rowStore.js';
import type { IndexSpec } from './indexes.js';

export type Question = { readonly tenant: string } & (
  | { readonly kind: 'progress' | 'spaces' }
  | { readonly kind: 'rows'; readonly space: string; readonly query: RowsQuery }
  | { readonly kind: 'page'; readonly space: string; readonly query: PageQuery }
  | { readonly kind: 'versions'; readonly space: string; readonly query: VersionQuery }
);

export type WantedIndex = {
  readonly kind: 'make';
  readonly tenant: string;
  readonly space: string;
  readonly spec: IndexSpec;
};

export type Reply =
  | { readonly kind: 'answer'; readonly answer: unknown; readonly wanted: readonly IndexSpec[] }
  /** A kind of its own, as an error that is sent to another thread loses its class. */
  | { readonly kind: 'unavailable'; readonly message: string }
  | { readonly kind: 'error'; readonly error: Error };

export type ReaderThreadData = {
  readonly directory: string;
  /** One cell: 1 as soon as the question in work is cancelled, else 0. Set by the asking thread. */
  readonly unwanted: Int32Array<SharedArrayBuffer>;
};
