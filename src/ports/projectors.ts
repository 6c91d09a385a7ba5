/** What several processes that project into the same read models agree on. Adapter: `adapters/readmodels/mongodb`. */
export interface Projectors {
  /** How many lanes there are. Who asks first settles it, with `wanted` where there are no read models yet. */
  settleLanes(wanted: number): Promise<number>;
  /** Says that this process projects; it counts as one that does for some seconds. */
  beat(id: string): Promise<void>;
  /** Says that it does no more. */
  leave(id: string): Promise<void>;
  /** Ids of those that project, in the order in which they have come. */
  alive(): Promise<readonly string[]>;
  close(): Promise<void>;
}
