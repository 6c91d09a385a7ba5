/** API clients (spec §5.1): their secret is shown once and kept as a hash. */
import { z } from 'zod';
import { boundedList } from '../../domain/boundedList.js';
import type { ApiClient, ClientEvent, LiveSecret } from '../../domain/identity/events.js';
import { DATA_SCOPES, SCOPES, type Scope } from '../../domain/identity/scopes.js';
import { MAX_CLIENTS, MAX_LIST_ENTRIES } from '../../domain/limits.js';
import { clientsStream, clientUseStream } from '../../domain/streams.js';
import { parseBody, shortText } from '../body.js';
import { type Caller, NotFoundError } from '../context.js';
import {
  type DirectoryChange,
  type DirectoryCommands,
  refuseMore,
  writeDirectory,
  writeTenant,
} from './directoryWriter.js';
import { hashSecret, newClientSecret, requireNoRotation, requireRotation } from './secrets.js';

export const clientBody = z.strictObject({
  name: shortText,
  scopes: boundedList({
    element: z.enum(SCOPES, `must be one of ${SCOPES.join(', ')}.`),
    max: MAX_LIST_ENTRIES,
    type: 'must be an array of scopes.',
    min: [1, 'must have at least 1 scope.'],
  }).default([...DATA_SCOPES]),
});

type NewClient = DirectoryChange & {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scopes: readonly Scope[];
};

/** @param body `{ name, scopes? }`; DATA_SCOPES by default. @throws ValidationError, NotFoundError (tenant) */
export async function createClient(commands: DirectoryCommands, caller: Caller, body: unknown): Promise<NewClient> {
  const input = parseBody(clientBody, body);
  const scopes = SCOPES.filter((scope) => input.scopes.includes(scope));
  const clientId = commands.newId();
  const clientSecret = newClientSecret();
  const change = await writeDirectory(commands, caller, clientsStream(caller.tenant), (tenant) => {
    refuseMore('API clients', tenant.clients.size, MAX_CLIENTS);
    const data = { clientId, name: input.name, scopes, secretHash: hashSecret(clientSecret) };
    return [{ type: 'ApiClientCreated', data }];
  });
  return { ...change, clientId, clientSecret, scopes };
}

export type NewClientSecret = DirectoryChange & Pick<NewClient, 'clientSecret'>;

/**
 * A new secret. Regenerated: the old one, and tokens issued for it, end at once. Staged: a rotation begins, and both are
 * valid until it ends.
 * @throws NotFoundError, ConflictError (a rotation is under way already)
 */
export async function renewClientSecret(
  commands: DirectoryCommands,
  caller: Caller,
  clientId: string,
  type: 'ApiClientSecretRegenerated' | 'ApiClientSecretStaged',
): Promise<NewClientSecret> {
  const clientSecret = newClientSecret();
  const change = await writeClient(commands, caller, clientId, ({ staged }) => {
    if (type === 'ApiClientSecretStaged') requireNoRotation(staged);
    return [{ type, data: { clientId, secretHash: hashSecret(clientSecret) } }];
  });
  return { ...change, clientSecret };
}

/**
 * Ends a rotation. Promoted: only the staged secret stays; unstaged: it goes. Tokens issued for the other end.
 * @throws NotFoundError, ConflictError (none is under way)
 */
export const endClientRotation = (
  commands: DirectoryCommands,
  caller: Caller,
  clientId: string,
  type: 'ApiClientSecretPromoted' | 'ApiClientSecretUnstaged',
): Promise<DirectoryChange> =>
  writeClient(commands, caller, clientId, ({ staged }) => {
    requireRotation(staged);
    return [{ type, data: { clientId } }];
  });

/** Its tokens end, too. @throws NotFoundError */
export const removeClient = (commands: DirectoryCommands, caller: Caller, clientId: string): Promise<DirectoryChange> =>
  writeClient(commands, caller, clientId, () => [{ type: 'ApiClientRemoved', data: { clientId } }]);

/** Records that a token was issued for a secret of the client. */
export const recordClientUse = (
  commands: DirectoryCommands,
  caller: Caller,
  clientId: string,
  secret: LiveSecret,
): Promise<DirectoryChange> =>
  writeTenant(commands, caller, clientUseStream(caller.tenant, clientId), () => [
    { type: 'ApiClientUsed', data: { clientId, secret } },
  ]);

/** @throws NotFoundError */
function writeClient(
  commands: DirectoryCommands,
  caller: Caller,
  clientId: string,
  decide: (client: ApiClient) => readonly ClientEvent[],
): Promise<DirectoryChange> {
  return writeDirectory(commands, caller, clientsStream(caller.tenant), (tenant) => {
    const client = tenant.clients.get(clientId);
    if (client === undefined) throw new NotFoundError(`There is no API client ${clientId}.`);
    return decide(client);
  });
}
