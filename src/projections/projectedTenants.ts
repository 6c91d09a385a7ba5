/** Tenants as of the event that is being projected: a table's shape is that of its time. */
import { evolveTenant, TENANT_STREAM_PREFIX, type Tenant } from '../domain/identity/directory.js';
import type { DirectoryEvent } from '../domain/identity/events.js';
import { parseStream } from '../domain/streams.js';
import type { EventStore, Position, RecordedEvent } from '../ports/eventStore.js';

export class ProjectedTenants {
  readonly #tenants = new Map<string, Tenant>();

  /** Everything about tenants up to `position`. */
  static async asOf(eventStore: EventStore, position: Position): Promise<ProjectedTenants> {
    const tenants = new ProjectedTenants();
    if (position === 0) return tenants;
    const reading = new AbortController();
    for await (const slice of eventStore.subscribe({
      after: 0,
      streamPrefixes: [TENANT_STREAM_PREFIX],
      signal: reading.signal,
    })) {
      for (const event of slice.events) if (event.position <= position) tenants.evolve(event);
      if (slice.position >= position || slice.caughtUp) break;
    }
    reading.abort();
    return tenants;
  }

  /** The event's tenant after the event; undefined when nothing is known of it. */
  evolve(event: RecordedEvent): Tenant | undefined {
    const { category, tenant } = parseStream(event.stream);
    return category === 'tenant' ? evolveTenantIn(this.#tenants, event) : this.#tenants.get(tenant);
  }
}

/** Applies an event of a directory stream. @returns its tenant after it; undefined when nothing is known of it */
export function evolveTenantIn(tenants: Map<string, Tenant>, event: RecordedEvent): Tenant | undefined {
  const { tenant: name } = parseStream(event.stream);
  const change = { type: event.type, data: event.data } as DirectoryEvent;
  const tenant = evolveTenant(tenants.get(name), change, event.metadata.occurredAt);
  if (tenant !== undefined) tenants.set(name, tenant);
  return tenant;
}
