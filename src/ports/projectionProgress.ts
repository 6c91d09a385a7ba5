/** How far the projections are: for those who wait until a write is visible. */
import type { Position } from './eventStore.js';

export interface ProjectionProgress {
  /** Position that a projection has reached. 0 when it never ran. */
  checkpoint(projection: string): Promise<Position>;
  /**
   * Resolves true as soon as the projection has reached the position, false after `timeoutMs`.
   * Must cost little when it has been reached already.
   */
  waitFor(projection: string, position: Position, timeoutMs: number): Promise<boolean>;
}
