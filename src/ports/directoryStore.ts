/**
 * Storage of the directory between starts, so that a start reads only new events. Holds nothing that the log does not:
 * if it is missing or old, the start takes longer.
 *
 * Adapter: `adapters/directory`.
 */
import type { EventPosition } from './eventStore.js';

/** The position that the stored directory has reached, in which log and in which build. */
export type DirectoryPlace = EventPosition & {
  readonly logId: string;
  /** Changes with each build from the start of the log: tells processes that share the store whose parts it holds. */
  readonly build: string;
};

/** A part of a tenant as plain JSON; the value is undefined if the part was removed. */
export type StoredPart = { readonly tenant: string; readonly part: string; readonly value: unknown };

/**
 * `later`: nothing was stored, because another process is storing, or has stored a later position of the same build.
 * `superseded`: nothing was stored, because the store holds another build.
 */
export type DirectorySaved = 'saved' | 'later' | 'superseded';

/** Methods throw the engine's errors (full disk, damaged or locked file) and then change nothing. */
export interface DirectoryStore {
  /** Undefined if nothing is stored. Parts come in the order in which they were first stored. */
  load(): Promise<{ readonly place: DirectoryPlace; readonly parts: readonly StoredPart[] } | undefined>;
  /** Stores changed parts and the new position, both or nothing. */
  save(place: DirectoryPlace, changed: Iterable<StoredPart>): Promise<DirectorySaved>;
  /** Replaces all stored content. */
  replace(place: DirectoryPlace, parts: Iterable<StoredPart>): Promise<Exclude<DirectorySaved, 'superseded'>>;
  close(): Promise<void>;
}
