/** Activity: what people and clients asked for, and what the service did by itself; one entry for each such event. */
import { activityOf } from '../domain/activity.js';
import { DIRECTORY_STREAM_PREFIXES } from '../domain/identity/directory.js';
import { STREAM_PREFIXES } from '../domain/streams.js';
import type { ActivityEntry } from '../ports/activity.js';
import type { RecordedEvent } from '../ports/eventStore.js';
import type { Projection } from '../ports/projection.js';

const { table, sync, order, delivery, access } = STREAM_PREFIXES;

export const activityProjection: Projection = {
  name: 'activity',
  version: 1,
  streamPrefixes: [...DIRECTORY_STREAM_PREFIXES, table, sync, order, delivery, access],
  async apply(event, tenant, target) {
    if (event.type === 'TenantDeleted') await target.dropTenant('activity', tenant.name);
    const entry = activityEntry(event, tenant);
    if (entry !== undefined) await target.addActivity(tenant.name, [entry]);
  },
};

/** The event as an entry; undefined if it is no activity. */
export function activityEntry(
  event: RecordedEvent,
  tenant: { readonly orderModel: string },
): ActivityEntry | undefined {
  const activity = activityOf(event, tenant);
  if (activity === undefined) return undefined;
  const { actor, correlationId, causationId, occurredAt: at, request } = event.metadata;
  const { position, revision, id: eventId } = event;
  const entry = { ...activity, at, position, revision, eventId, actor, correlationId, causationId };
  return request === undefined ? entry : { ...entry, request };
}
