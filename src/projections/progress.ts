/** How far tenants' rows are, in a process that reads them. */
import type { Position } from '../ports/eventStore.js';
import type { Parked } from '../ports/rowStore.js';

/** What the follower tells. */
export type FollowerNews =
  /** The tenant's rows are made up to here. */
  | { readonly kind: 'applied'; readonly tenant: string; readonly position: Position }
  | { readonly kind: 'parked'; readonly tenant: string; readonly parked: Parked }
  /** Its rows are not shown: they are made from the beginning. `reason`: what has happened to them. */
  | { readonly kind: 'filling'; readonly tenant: string; readonly reason?: string }
  /** It is filled, or no longer parked. */
  | { readonly kind: 'running'; readonly tenant: string }
  | { readonly kind: 'deleted'; readonly tenant: string }
  /** The rows are of another log: all are made again. */
  | { readonly kind: 'reset'; readonly reason: string }
  /** All tenants that are not apart or parked are made up to the last checkpoint. */
  | { readonly kind: 'read'; readonly position: Position };
