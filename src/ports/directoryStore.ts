/**
 * Where the directory is kept between starts, so that a start reads only what is new in the log. It holds nothing that the
 * log does not: without it, or where it is behind, a start takes longer.
 *
 * Adapter: `adapters/directory`.
 */
import type { EventPosition } from './eventStore.js';

/** How far the directory was in which log, and in which of its buildings from the beginning. */
export type DirectoryPlace = EventPosition & {
  readonly logId: string;
  /** Another one each time that it is built anew: processes that share the store tell by it whose parts are in it. */
  readonly build: string;
};

/** A part of a tenant as plain JSON; undefined where it is there no more. */
export type StoredPart = { readonly tenant: string; readonly part: string; readonly value: unknown };

/**
 * `later`: nothing was stored, since another process is storing, or has stored a later place of the same building.
 * `superseded`: nothing was stored, since what is there is of another building.
 */
export type DirectorySaved = 'saved' | 'later' | 'superseded';

/** Its methods throw what the engine throws: a full disk, a file that is damaged or held. Nothing is changed then. */
export interface DirectoryStore {
  /** undefined where nothing is stored. Parts come in the order in which they were first stored. */
  load(): Promise<{ readonly place: DirectoryPlace; readonly parts: readonly StoredPart[] } | undefined>;
  /** Stores what has changed since the place stored before, and the place: both or nothing. */
  save(place: DirectoryPlace, changed: Iterable<StoredPart>): Promise<DirectorySaved>;
  /** Stores this instead of whatever is there. */
  replace(place: DirectoryPlace, parts: Iterable<StoredPart>): Promise<Exclude<DirectorySaved, 'superseded'>>;
  close(): Promise<void>;
}
