/** Two tools for applying events: one transaction, and each event's tenant as of that event. */
import { evolveTenant, type Tenant } from '../domain/identity/directory.js';
import type { DirectoryEvent } from '../domain/identity/events.js';
import { parseStream, tenantStream } from '../domain/streams.js';
import { copiedOnce, type Writable } from '../domain/writable.js';
import type { EventStore, LogAnchor, Position, RecordedEvent } from '../ports/eventStore.js';
import type { ReadModelWriter } from '../ports/readModelWriter.js';

/**
 * Runs `write` in one transaction and commits its changes with the checkpoints that it returns, or nothing.
 * @throws what `write` or the engine throws
 */
export async function inTransaction(
  writer: Pick<ReadModelWriter, 'begin' | 'commit' | 'rollback'>,
  write: () => Promise<ReadonlyMap<string, Position>>,
  place?: LogAnchor,
): Promise<void> {
  await writer.begin();
  try {
    await writer.commit(await write(), place);
  } catch (error) {
    await writer.rollback();
    throw error;
  }
}

/** Tenants as of the event that is being projected: a table has the fields of that time. */
export class ProjectedTenants {
  readonly #eventStore: Pick<EventStore, 'readStream'>;
  /** By name; undefined if the tenant did not exist when it was looked up. */
  readonly #tenants = new Map<string, Tenant | undefined>();
  /** Tenants with an own event that cannot be applied: the error. */
  readonly #failures = new Map<string, unknown>();

  constructor(eventStore: Pick<EventStore, 'readStream'>) {
    this.#eventStore = eventStore;
  }

  /**
   * Call it with events before they are evolved. A tenant that appears for the first time is read from its own stream
   * up to that event, so tenants without events cost nothing. One that is deleted later is read to its end, so that
   * none of its events is projected.
   */
  async prepare(events: readonly RecordedEvent[]): Promise<void> {
    for (const { stream, position } of events) {
      const { tenant } = parseStream(stream);
      if (this.#tenants.has(tenant)) continue;
      const history = await this.#eventStore.readStream(tenantStream(tenant));
      const writable = copiedOnce();
      this.#tenants.set(tenant, undefined);
      this.#failures.delete(tenant);
      const isDeleted = history.some(({ type }) => type === 'TenantDeleted');
      for (const event of history) {
        if (isDeleted || event.position < position) this.#evolve(tenant, event, writable);
      }
    }
  }

  /**
   * The event's tenant after the event; undefined if it is unknown or deleted (the deletion itself is projected).
   * @throws the failure of one of the tenant's own events
   */
  evolve(event: RecordedEvent): Tenant | undefined {
    const { category, tenant: name } = parseStream(event.stream);
    if (category === 'tenant') this.#evolve(name, event);
    if (this.#failures.has(name)) throw this.#failures.get(name);
    const tenant = this.#tenants.get(name);
    return tenant?.deleted && event.type !== 'TenantDeleted' ? undefined : tenant;
  }

  #evolve(tenant: string, event: RecordedEvent, writable?: Writable): void {
    // A deletion ends any failure.
    if (event.type === 'TenantDeleted') this.#failures.delete(tenant);
    if (this.#failures.has(tenant)) return;
    try {
      evolveTenantIn(this.#tenants, event, writable);
    } catch (error) {
      this.#failures.set(tenant, error);
    }
  }
}

/**
 * Applies an event of a directory stream.
 * @returns the tenant after the event; undefined if it is unknown
 * @throws Error if the event cannot be applied
 */
export function evolveTenantIn(
  tenants: Pick<Map<string, Tenant | undefined>, 'get' | 'set'>,
  event: RecordedEvent,
  writable?: Writable,
): Tenant | undefined {
  const { tenant: name } = parseStream(event.stream);
  const change = { type: event.type, data: event.data } as DirectoryEvent;
  const tenant = evolveTenant(tenants.get(name), change, event.metadata.occurredAt, writable);
  if (tenant === undefined) return undefined;
  if (tenant.name !== name) throw new Error(`The event names another tenant than its stream, ${name}.`);
  tenants.set(name, tenant);
  return tenant;
}
