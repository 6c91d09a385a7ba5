/** API clients (spec §5.1): their secret is shown once and kept as a hash. */
import { z } from 'zod';
import { boundedList } from '../../domain/boundedList.js';
import type { ApiClient, ClientEvent, LiveSecret } from '../../domain/identity/events.js';
import { DATA_SCOPES, SCOPES, type Scope } from '../../domain/identity/scopes.js';
import { MAX_CLIENTS, MAX_LIST_ENTRIES } from '../../domain/limits.js';
import { clientsStream, clientUseStream } from '../../domain/streams.js';
import { parseBody, shortText } from '../body.js';
import { NotFoundError } from '../context.js';
import {
  type DirectoryChange,
  type DirectoryWrite,
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

export type NewClientSecret = DirectoryChange & { readonly clientSecret: string };
type NewClient = NewClientSecret & { readonly clientId: string; readonly scopes: readonly Scope[] };

/** @param body `{ name, scopes? }`; DATA_SCOPES by default. @throws ValidationError, ConflictError (too many) */
export const createClient: DirectoryWrite<[body: unknown], NewClient> = async (commands, caller, body) => {
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
};

type Renewal = 'ApiClientSecretRegenerated' | 'ApiClientSecretStaged';

/** Regenerated: the old one, and tokens issued for it, end at once. Staged: both are valid until the rotation ends. */
export const renewClientSecret: DirectoryWrite<[clientId: string, type: Renewal], NewClientSecret> = async (
  commands,
  caller,
  clientId,
  type,
) => {
  const clientSecret = newClientSecret();
  const change = await writeClient(commands, caller, clientId, ({ staged }) => {
    if (type === 'ApiClientSecretStaged') requireNoRotation(staged);
    return [{ type, data: { clientId, secretHash: hashSecret(clientSecret) } }];
  });
  return { ...change, clientSecret };
};

type RotationEnd = 'ApiClientSecretPromoted' | 'ApiClientSecretUnstaged';

/** Promoted: only the staged secret stays; unstaged: it goes. Tokens issued for the other end. */
export const endClientRotation: DirectoryWrite<[clientId: string, type: RotationEnd]> = (
  commands,
  caller,
  clientId,
  type,
) =>
  writeClient(commands, caller, clientId, ({ staged }) => {
    requireRotation(staged);
    return [{ type, data: { clientId } }];
  });

/** Its tokens end, too. @throws NotFoundError */
export const removeClient: DirectoryWrite<[clientId: string]> = (commands, caller, clientId) =>
  writeClient(commands, caller, clientId, () => [{ type: 'ApiClientRemoved', data: { clientId } }]);

/** Records that a token was issued for a secret of the client. */
export const recordClientUse: DirectoryWrite<[clientId: string, LiveSecret]> = (commands, caller, clientId, secret) =>
  writeTenant(commands, caller, clientUseStream(caller.tenant, clientId), () => [
    { type: 'ApiClientUsed', data: { clientId, secret } },
  ]);

const writeClient: DirectoryWrite<[clientId: string, decide: (client: ApiClient) => readonly ClientEvent[]]> = (
  commands,
  caller,
  clientId,
  decide,
) =>
  writeDirectory(commands, caller, clientsStream(caller.tenant), ({ clients }) => {
    const client = clients.get(clientId);
    if (client === undefined) throw new NotFoundError(`There is no API client ${clientId}.`);
    return decide(client);
  });
