/** How far the projections have come, and what is parked or applied out of order. */
import type { LogAnchor, Position } from './eventStore.js';

/** A tenant's part of a projection that is stopped: an event could not be applied, and later ones are skipped. */
export type Parked = {
  readonly tenant: string;
  readonly projection: string;
  /** The tenant's events are applied up to here, and none after it. */
  readonly checkpoint: Position;
  /** The event that could not be applied. */
  readonly position: Position;
  readonly eventId: string;
  readonly eventType: string;
  /** The error, in sentences. */
  readonly error: string;
  /** ISO 8601 UTC. */
  readonly since: string;
  /** An operator has asked for a retry. */
  readonly retryAsked: boolean;
};

/** An event beyond its projection's checkpoint that is applied, fully or partly: it overtook an earlier, longer one. */
export type OutOfOrder = {
  readonly projection: string;
  readonly tenant: string;
  readonly position: Position;
  /** How many of the event's pieces are applied; null means all. */
  readonly pieces: number | null;
};

/** Most parts parked at once. If more fail, the cause is not a tenant's data, and projecting stops. */
export const MAX_PARKED = 1_000;

export interface ProjectionProgress {
  /** How often the read models were replaced as a whole since this was opened. A new value voids everything known. */
  replaced?(): number;
  /** Position that a projection has reached; 0 if it never ran. */
  checkpoint(projection: string): Promise<Position>;
  /** All checkpoints, read at one moment. */
  checkpoints(): Promise<ReadonlyMap<string, Position>>;
  /** The furthest anchor that was read for projecting; undefined before the first, and in data of earlier releases. */
  anchor(): Promise<LogAnchor | undefined>;
  /** All parked parts; at most MAX_PARKED. */
  parked(): Promise<readonly Parked[]>;
  /** Events applied beyond the checkpoints; for a parked part, beyond its own checkpoint. */
  outOfOrder(): Promise<readonly OutOfOrder[]>;
  /**
   * Resolves true as soon as the projection has reached the position, false after `timeoutMs`, and false at once while
   * it is parked for the tenant. Cheap if it is reached already.
   * @param tenant whose events are waited for; unset for any
   */
  waitFor(projection: string, position: Position, timeoutMs: number, tenant?: string): Promise<boolean>;
  /** The same for one event and the earlier ones of its stream, which may be shown before events of other streams. */
  waitForEvent(projection: string, position: Position, timeoutMs: number, tenant?: string): Promise<boolean>;
}
