/** The events that a projector applies: read from a range of the log, each with its tenant as of that event. */
import { evolveTenant, type Tenant } from '../domain/identity/directory.js';
import type { DirectoryEvent } from '../domain/identity/events.js';
import { parseStream, tenantStream } from '../domain/streams.js';
import { copiedOnce, type Writable } from '../domain/writable.js';
import type { EventStore, Position, RecordedEvent } from '../ports/eventStore.js';
import type { Projection } from '../ports/projection.js';
import { eventWeight } from './weight.js';

/** An event, with its tenant as of that event. */
export type Step = {
  readonly event: RecordedEvent;
  readonly tenant: string;
  /** Undefined if the tenant is unknown. @throws the failure of one of the tenant's own events */
  readonly known: () => Tenant | undefined;
  /** What it costs to project: see weight.ts. */
  readonly weight: number;
  /** Whether it shares its position with others, as the events of one append do on EventStoreDB. */
  readonly sharesPosition: boolean;
};

/** Looks tenants up once, since a tenant evolves with each of its events, however often the steps are applied. */
export async function stepsOf(tenants: ProjectedTenants, events: readonly RecordedEvent[]): Promise<readonly Step[]> {
  await tenants.prepare(events);
  return events.map((event, index) => {
    const { tenant } = parseStream(event.stream);
    const weight = eventWeight(event);
    const sharesPosition = [events[index - 1], events[index + 1]].some((other) => other?.position === event.position);
    const step = { event, tenant, weight, sharesPosition };
    try {
      const known = tenants.evolve(event);
      return { ...step, known: () => known };
    } catch (error) {
      const known = () => {
        throw error;
      };
      return { ...step, known };
    }
  });
}

export const isOf = (projection: Projection, { event }: Step): boolean =>
  projection.streamPrefixes.some((prefix) => event.stream.startsWith(prefix));

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
  const tenant = evolveTenant(tenants.get(name), change, event.metadata.occurredAt, writable, event.position);
  if (tenant === undefined) return undefined;
  if (tenant.name !== name) throw new Error(`The event names another tenant than its stream, ${name}.`);
  tenants.set(name, tenant);
  return tenant;
}

type LogRange = { readonly after: Position; readonly to: Position; readonly streamPrefixes: readonly string[] };

/** Slices of the range; the last one's position is `to`, unless the signal aborted. @throws what the log throws */
export async function* slicesUpTo(
  eventStore: Pick<EventStore, 'subscribe'>,
  { after, to, streamPrefixes }: LogRange,
  signal: AbortSignal,
): AsyncGenerator<{ readonly events: readonly RecordedEvent[]; readonly position: Position }> {
  if (after >= to) return;
  const reading = new AbortController();
  const reader = AbortSignal.any([signal, reading.signal]);
  try {
    for await (const slice of eventStore.subscribe({ after, streamPrefixes, signal: reader })) {
      const events = slice.events.filter(({ position }) => position <= to);
      yield { events, position: Math.min(slice.position, to) };
      if (slice.position >= to) return;
    }
  } finally {
    reading.abort();
  }
}
