/**
 * Storage of the directory between starts, so that a start reads only new events. Holds nothing that the log does not:
 * if it is missing or old, the start takes longer.
 */
import type { EventPosition } from './eventStore.js';

/** The position that the stored directory has reached, in which log and in which build. */
export type DirectoryPlace = EventPosition & {
  readonly logId: string;
  /** Changes with each build from the start of the log: tells processes that share the store whose tenants it holds. */
  readonly build: string;
};

/** A tenant as JSON text. */
export type StoredTenant = { readonly name: string; readonly json: string };

/** Methods throw the engine's errors (full disk, damaged or locked file) and then change nothing. */
export interface DirectoryStore {
  /** Undefined if nothing is stored. Tenants come in the order in which they were first stored. */
  load(): { readonly place: DirectoryPlace; readonly tenants: readonly StoredTenant[] } | undefined;
  /**
   * Stores tenants and the new position, both or nothing.
   * @param isWhole they take the place of all that is stored, which may be of another build
   * @returns whether they were stored: not while another process stores, has stored a later position, or another build
   */
  save(place: DirectoryPlace, tenants: Iterable<StoredTenant>, isWhole: boolean): boolean;
  close(): void;
}
