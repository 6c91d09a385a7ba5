/** Records the day on which a client last asked for a token: once a day for each secret, in the background. */
import { noteClientUse } from '../../commands/identity/clients.js';
import { type ApiClient, dayOf, type LiveSecret } from '../../domain/identity/events.js';
import type { Api } from '../deps.js';
import type { RequestContext } from '../requestContext.js';

/** Lost if the process ends before; the client's next token makes up for it. */
const NOTED_AFTER_MS = 300_000;

/** Uses being recorded. The directory replaces the client's object once it shows the new day. */
const noting = new WeakMap<ApiClient, string>();

export function noteUse(
  { commands, log }: Pick<Api, 'commands' | 'log'>,
  context: RequestContext,
  client: ApiClient,
  secret: LiveSecret,
): void {
  const today = dayOf(commands.now());
  const lastUsed = secret === 'primary' ? client.lastUsed : client.staged?.lastUsed;
  const key = `${secret} ${today}`;
  if (lastUsed === today || noting.get(client) === key) return;
  noting.set(client, key);
  const { requestId } = context;
  const caller = {
    tenant: context.tenant.name,
    actor: { kind: 'client', id: client.clientId, name: client.name },
    correlationId: requestId,
    causationId: requestId,
  } as const;
  const { ids } = context;
  const note = () =>
    noteClientUse(commands, caller, client.clientId, secret).catch((error: unknown) => {
      noting.delete(client);
      log.warn({ err: error, ...ids }, 'the use of an API client was not noted');
    });
  setTimeout(note, NOTED_AFTER_MS).unref();
}
