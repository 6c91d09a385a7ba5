/** A projection: evolves a read model event by event. */
import type { Tenant } from '../domain/identity/directory.js';
import { SINGLE_STREAM_PREFIXES } from '../domain/streams.js';
import type { RecordedEvent } from './eventStore.js';
import type { ReadModelWriter, RebuildScope } from './readModelWriter.js';

/** The methods that projections write with; a rebuild passes those of a hidden copy. */
export type ProjectionTarget = Pick<
  ReadModelWriter,
  'defineTable' | 'applyToTable' | 'addHistory' | 'addActivity' | 'delivery' | 'putDelivery' | 'dropTenant'
>;

export type Projection = {
  readonly name: RebuildScope['projection'];
  /** Raise it when `apply` writes something else than before: the runner then fills the projection again from the log. */
  readonly version: number;
  /** Includes the prefix of tenant streams. */
  readonly streamPrefixes: readonly string[];
  /** Applies one event. Its only effect is on `target`: no calls, no clock, no messages. */
  apply(event: RecordedEvent, tenant: Tenant, target: ProjectionTarget): Promise<void>;
};

/** Stream prefixes of the projection; with a tenant, of it and of tenants whose names begin with its name. */
export function streamsOf(projection: Projection, tenant?: string): readonly string[] {
  if (tenant === undefined) return projection.streamPrefixes;
  return projection.streamPrefixes.map((prefix) =>
    SINGLE_STREAM_PREFIXES.includes(prefix) ? `${prefix}${tenant}` : `${prefix}${tenant}.`,
  );
}
