/** Names of actors in answers. An actor keeps its name after it has been removed: its events have it. */
import type { Tenant } from '../domain/identity/directory.js';
import type { EventStore } from '../ports/eventStore.js';
import type { ActivityEntry } from '../queries/activity.js';
import * as json from './openapi/schema.js';

/** Events of earlier releases lack the names of clients. */
type Actor = ActivityEntry['actor'];

export type ShownActor = { readonly kind: string; readonly id: string; readonly name: string | null };

export const actorSchema: json.JsonSchema = json.closedObject({
  kind: json.oneOf(['client', 'user', 'operator', 'system']),
  id: json.text,
  name: {
    ...json.nullableText,
    description:
      'At that time, even if it was removed since; null if unknown. An operator is a person at the command line; system is the service itself.',
  },
});

type Source = { readonly eventStore: Pick<EventStore, 'erasures'> };

/** Without a name that is erased. */
export function shownActor(
  { eventStore }: Source,
  { name: tenant, clients }: Pick<Tenant, 'name' | 'clients'>,
  actor: Actor,
): ShownActor {
  const { kind, id, name } = eventStore.erasures?.actor(tenant, actor) ?? actor;
  if (name !== undefined) return { kind, id, name };
  if (kind === 'operator') return { kind, id, name: `${id} at the command line` };
  if (kind === 'system') return { kind, id, name: `the service (${id})` };
  return { kind, id, name: (kind === 'client' ? clients.get(id)?.name : undefined) ?? null };
}

/** The id of the actor with this id or whole name, ignoring case; the text itself if it is nobody's who is there. */
export function namedActor({ clients, users }: Pick<Tenant, 'clients' | 'users'>, text: string): string {
  const wanted = text.toLowerCase();
  for (const { clientId, name } of clients.values()) if (name.toLowerCase() === wanted) return clientId;
  for (const { id, email, firstName, lastName } of users.values()) {
    if ([email, `${firstName} ${lastName}`].some((each) => each.toLowerCase() === wanted)) return String(id);
  }
  return text;
}
