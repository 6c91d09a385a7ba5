/** Tenants as of the event that is being projected: a table's shape is that of its time. */
import { evolveTenant, TENANT_STREAM_PREFIX, type Tenant } from '../domain/identity/directory.js';
import type { TenantEvent } from '../domain/identity/events.js';
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
    const { category, tenant: name } = parseStream(event.stream);
    const tenant = this.#tenants.get(name);
    if (category !== 'tenant') return tenant;
    const change = { type: event.type, data: event.data } as TenantEvent;
    const evolved = evolveTenant(tenant, change, event.metadata.occurredAt);
    if (evolved !== undefined) this.#tenants.set(name, evolved);
    return evolved;
  }
}
