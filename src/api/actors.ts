/** Names of actors in answers. An actor keeps its name after it has been removed: its events have it. */
import type { Application } from '../commands/application.js';
import type { Tenant } from '../domain/identity/directory.js';
import type { ActivityEntry } from '../queries/activity.js';
import * as json from './openapi/schema.js';

type ShownActor = { readonly kind: string; readonly id: string; readonly name: string | null };

export const actorSchema: json.JsonSchema = json.closedObject({
  kind: json.oneOf(['client', 'user', 'operator', 'system']),
  id: json.text,
  name: {
    ...json.nullableText,
    description:
      'At that time, even if it was removed since; null if unknown. An operator is a person at the command line; system is the service itself.',
  },
});

/** What an actor did, with the actor as answers show it: without a name that is erased. */
export type Acted<T> = Omit<T, 'actor'> & { readonly actor: ShownActor };

/** @param entry of an earlier release may lack the name of a client */
export function acted<T extends Pick<ActivityEntry, 'actor'>>(
  { eventStore }: Application,
  { name: tenant, clients }: Tenant,
  entry: T,
): Acted<T> {
  const { kind, id, name } = eventStore.erasures?.actor(tenant, entry.actor) ?? entry.actor;
  const ofKind = () => {
    if (kind === 'operator') return `${id} at the command line`;
    if (kind === 'system') return 'Dynamic Assets';
    return kind === 'client' ? clients.get(id)?.name : undefined;
  };
  return { ...entry, actor: { kind, id, name: name ?? ofKind() ?? null } };
}

/** The id of the actor with this id or whole name, ignoring case; the text itself if it is nobody's who is there. */
export function namedActor({ clients, users }: Tenant, text: string): string {
  const wanted = text.toLowerCase();
  for (const { clientId, name } of clients.values()) if (name.toLowerCase() === wanted) return clientId;
  for (const { id, email, firstName, lastName } of users.values()) {
    if ([email, `${firstName} ${lastName}`].some((each) => each.toLowerCase() === wanted)) return String(id);
  }
  return text;
}
