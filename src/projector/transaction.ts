/** What the projector applies events with: one transaction, and each event's tenant as it was at the event. */
import { evolveTenant, type Tenant } from '../domain/identity/directory.js';
import type { DirectoryEvent } from '../domain/identity/events.js';
import { parseStream, tenantStream } from '../domain/streams.js';
import { copiedOnce, type Writable } from '../domain/writable.js';
import type { EventStore, LogAnchor, Position, RecordedEvent } from '../ports/eventStore.js';
import type { ReadModelWriter } from '../ports/readModelWriter.js';

/**
 * Writes in one transaction: what `write` did is committed with the checkpoints it returns, or nothing is.
 * @throws whatever `write` or the engine throws
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

/** Tenants as of the event that is being projected: a table's shape is that of its time. */
export class ProjectedTenants {
  readonly #eventStore: Pick<EventStore, 'readStream'>;
  /** By name; undefined of one that did not exist when it was looked for. */
  readonly #tenants = new Map<string, Tenant | undefined>();
  /** Why the tenant cannot be known, of those whose own events cannot be applied. */
  readonly #failures = new Map<string, unknown>();

  constructor(eventStore: Pick<EventStore, 'readStream'>) {
    this.#eventStore = eventStore;
  }

  /**
   * To be called with events before they are evolved. A tenant whose events come for the first time is read from its own
   * stream, as it was before them: so the log is not gone through for those of whom nothing comes. Of one that was
   * deleted later nothing is projected in the first place.
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
   * The event's tenant after the event; undefined when nothing is known of it, and when it was deleted, which is an event
   * to be projected itself. @throws what one of the tenant's own events made fail
   */
  evolve(event: RecordedEvent): Tenant | undefined {
    const { category, tenant: name } = parseStream(event.stream);
    if (category === 'tenant') this.#evolve(name, event);
    if (this.#failures.has(name)) throw this.#failures.get(name);
    const tenant = this.#tenants.get(name);
    return tenant?.deleted && event.type !== 'TenantDeleted' ? undefined : tenant;
  }

  #evolve(tenant: string, event: RecordedEvent, writable?: Writable): void {
    // Whatever it was, it ends.
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
 * @returns its tenant after it; undefined when nothing is known of it
 * @throws Error where that cannot be told
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
