/** Events as the projector takes them: each with its tenant as it was then. */
import type { Tenant } from '../domain/identity/directory.js';
import { parseStream } from '../domain/streams.js';
import type { RecordedEvent } from '../ports/eventStore.js';
import type { Projection } from '../ports/projection.js';
import { changesOf } from '../projections/records.js';
import type { ProjectedTenants } from './transaction.js';

/** An event, and its tenant as of it. */
export type Step = {
  readonly event: RecordedEvent;
  readonly tenant: string;
  /** Undefined where nothing is known of the tenant. @throws why it cannot be known */
  readonly known: () => Tenant | undefined;
  /** About how many records it changes. */
  readonly changes: number;
};

/** Looked up once, however often the events are then applied: a tenant evolves with each of its own. */
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
