/** Events as the projector applies them: each with its tenant as of that event. */
import type { Tenant } from '../domain/identity/directory.js';
import { parseStream } from '../domain/streams.js';
import type { RecordedEvent } from '../ports/eventStore.js';
import type { Projection } from '../ports/projection.js';
import { changesOf } from '../projections/records.js';
import type { ProjectedTenants } from './transaction.js';

/** An event, with its tenant as of that event. */
export type Step = {
  readonly event: RecordedEvent;
  readonly tenant: string;
  /** Undefined if the tenant is unknown. @throws the failure of one of the tenant's own events */
  readonly known: () => Tenant | undefined;
  /** Roughly how many records it changes. */
  readonly changes: number;
};

/** Looks tenants up once, since a tenant evolves with each of its events, however often the steps are applied. */
export async function stepsOf(tenants: ProjectedTenants, events: readonly RecordedEvent[]): Promise<readonly Step[]> {
  await tenants.prepare(events);
  return events.map((event) => {
    const { tenant } = parseStream(event.stream);
    const changes = changesOf(event);
    try {
      const known = tenants.evolve(event);
      return { event, tenant, changes, known: () => known };
    } catch (error) {
      const known = () => {
        throw error;
      };
      return { event, tenant, changes, known };
    }
  });
}

export const isOf = (projection: Projection, { event }: Step): boolean =>
  projection.streamPrefixes.some((prefix) => event.stream.startsWith(prefix));
