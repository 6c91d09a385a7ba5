/** What a projection is: it evolves a read model by the events of the log, one at a time. */
import { TENANT_STREAM_PREFIX, type Tenant } from '../domain/identity/directory.js';
import { tenantStream } from '../domain/streams.js';
import type { RecordedEvent } from './eventStore.js';
import type { ReadModelWriter, RebuildScope } from './readModelWriter.js';

/** The part of the read models that projections write to; a rebuild gives them a hidden copy of it. */
export type ProjectionTarget = Pick<
  ReadModelWriter,
  'defineTable' | 'applyToTable' | 'addHistory' | 'delivery' | 'putDelivery' | 'dropTenant'
>;

export type Projection = {
  readonly name: RebuildScope['projection'];
  /** Raised when it writes differently than before: the runner then rebuilds it from the log. */
  readonly version: number;
  /** With the streams of tenants among them. */
  readonly streamPrefixes: readonly string[];
  /**
   * Applies one event. `tenant` is the event's tenant as of this event (asset types are what counts).
   * Must have no effect besides `target`: no calls, no time, no messages.
   */
  apply(event: RecordedEvent, tenant: Tenant, target: ProjectionTarget): Promise<void>;
};

/** Streams of the projection; those of one tenant where it is named, and maybe of others whose names begin with its name. */
export function streamsOf(projection: Projection, tenant?: string): readonly string[] {
  if (tenant === undefined) return projection.streamPrefixes;
  return projection.streamPrefixes.map((prefix) =>
    prefix === TENANT_STREAM_PREFIX ? tenantStream(tenant) : `${prefix}${tenant}.`,
  );
}
