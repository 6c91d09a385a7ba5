/** Names of actors in answers. An actor keeps its name after it has been removed. */
import { type StreamReads, streamPages } from '../commands/streamPages.js';
import type { Tenant } from '../domain/identity/directory.js';
import type { ClientEvent } from '../domain/identity/events.js';
import { clientsStream } from '../domain/streams.js';
import type { EventStore } from '../ports/eventStore.js';
import type { ActivityEntry } from '../queries/activity.js';
import type { Cancellation } from '../supervision/cancellation.js';
import * as json from './openapi/schema.js';

/** Events of a tenant's API clients that are searched for the names of removed clients. */
const MAX_CLIENT_EVENTS = 5_000;

/** Events of earlier releases lack the names of clients. */
type Actor = ActivityEntry['actor'];

export type ShownActor = { readonly kind: string; readonly id: string; readonly name: string | null };

export const actorSchema: json.JsonSchema = json.closedObject({
  kind: json.oneOf(['client', 'user', 'operator', 'system']),
  id: json.text,
  name: {
    ...json.nullableText,
    description:
      'The name of a client or user at that time, even if it was removed since; null if unknown. An operator is a person at the command line; system is the service itself.',
  },
});

export type ShowActor = (actor: Actor) => ShownActor;

type Log = { readonly eventStore: StreamReads & Pick<EventStore, 'erasures'> };

/**
 * Prepares the names of these actors, without those that are erased. Reads the log only for a client whose name is neither in its event nor in the
 * tenant. @throws the cancellation's reason
 */
export async function actorsShown(
  { eventStore }: Log,
  { name: tenant, clients }: Pick<Tenant, 'name' | 'clients'>,
  actors: Iterable<Actor>,
  cancellation?: Cancellation,
): Promise<ShowActor> {
  const isUnknown = ({ kind, id, name }: Actor) => kind === 'client' && name === undefined && !clients.has(id);
  const former = [...actors].some(isUnknown) ? await clientNames(eventStore, tenant, cancellation) : undefined;
  return (actor) => {
    const { kind, id, name } = eventStore.erasures?.actor(tenant, actor) ?? actor;
    return { kind, id, name: name ?? nameOf(kind, id) ?? null };
  };

  function nameOf(kind: string, id: string): string | undefined {
    if (kind === 'client') return clients.get(id)?.name ?? former?.get(id);
    if (kind === 'operator') return `${id} at the command line`;
    return kind === 'system' ? `the service (${id})` : undefined;
  }
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

/** Names of all clients that ever existed, by id. A client's name never changes, and only its first event has it. */
async function clientNames(
  eventStore: StreamReads,
  tenant: string,
  cancellation?: Cancellation,
): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>();
  const first = { to: MAX_CLIENT_EVENTS - 1, cancellation };
  for await (const events of streamPages(eventStore, clientsStream(tenant), first)) {
    for (const { type, data } of events) {
      const event = { type, data } as ClientEvent;
      if (event.type === 'ApiClientCreated') names.set(event.data.clientId, event.data.name);
    }
  }
  return names;
}
