/** How several processes that project into the same read models share the work. Adapter: `adapters/readmodels/mongodb`. */
export interface Projectors {
  /** Returns the number of lanes. If there are no read models yet, the first caller sets it to `wanted`. */
  settleLanes(wanted: number): Promise<number>;
  /** Registers this process as a projector for a few seconds; to be repeated. */
  beat(id: string): Promise<void>;
  /** Removes the registration. */
  leave(id: string): Promise<void>;
  /** Ids of all registered processes, oldest registration first. */
  alive(): Promise<readonly string[]>;
  close(): Promise<void>;
}
