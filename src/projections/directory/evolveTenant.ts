import { evolveTenant, type Tenant, type Writable } from '../../domain/identity/directory.js';
import type { DirectoryEvent } from '../../domain/identity/events.js';
import { parseStream } from '../../domain/streams.js';
import type { RecordedEvent } from '../../ports/eventStore.js';

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
