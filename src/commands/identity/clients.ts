/** API clients (spec §5.1): their secret is shown once and kept as a hash. Two are valid for a day after a rotation. */
import { z } from 'zod';
import { boundedList } from '../../domain/boundedList.js';
import type { ApiClient } from '../../domain/identity/events.js';
import { DATA_SCOPES, SCOPES, type Scope } from '../../domain/identity/scopes.js';
import { MAX_CLIENTS, MAX_LIST_ENTRIES } from '../../domain/limits.js';
import { clientsStream, clientUseStream } from '../../domain/streams.js';
import { choiceOf, parseBody, shortText } from '../body.js';
import {
  changesOf,
  type DirectoryChange,
  type DirectoryWrite,
  refuseMore,
  writeClient,
  writeDirectory,
  writeTenant,
} from './directoryWriter.js';
import { hashSecret, newClientSecret } from './secrets.js';

const given = { name: shortText, scopes: boundedList(choiceOf(SCOPES), MAX_LIST_ENTRIES, 'scopes') };
export const clientBody = z.strictObject({ ...given, scopes: given.scopes.default([...DATA_SCOPES]) });
export const changeClientBody = z.strictObject(given).partial();

const ordered = (scopes: readonly Scope[]): readonly Scope[] => SCOPES.filter((each) => scopes.includes(each));

export type NewClientSecret = DirectoryChange & { readonly clientSecret: string };
type NewClient = NewClientSecret & { readonly clientId: string; readonly scopes: readonly Scope[] };

/** @param body `{ name, scopes? }`; DATA_SCOPES by default. @throws ValidationError, ConflictError (too many) */
export const createClient: DirectoryWrite<[body: unknown], NewClient> = async (commands, caller, body) => {
  const input = parseBody(clientBody, body);
  const scopes = ordered(input.scopes);
  const clientId = commands.newId();
  const clientSecret = newClientSecret();
  const change = await writeDirectory(commands, caller, clientsStream(caller.tenant), (tenant) => {
    refuseMore('API clients', tenant.clients.size, MAX_CLIENTS);
    const data = { clientId, name: input.name, scopes, secretHash: hashSecret(clientSecret) };
    return [{ type: 'ApiClientCreated', data }];
  });
  return { ...change, clientId, clientSecret, scopes };
};

/** @param body `{ name?, scopes? }`. Tokens lose scopes at once, and later ones have new scopes. @throws ValidationError, NotFoundError */
export const changeClient: DirectoryWrite<[clientId: string, body: unknown]> = (commands, caller, clientId, body) => {
  const { name, scopes } = parseBody(changeClientBody, body);
  return writeClient(commands, caller, clientId, (client) => {
    const changed = changesOf<Pick<ApiClient, 'name' | 'scopes'>>({ name, scopes: scopes && ordered(scopes) }, client);
    return Object.keys(changed).length === 0 ? [] : [{ type: 'ApiClientChanged', data: { clientId, ...changed } }];
  });
};

/** The old secret, and tokens issued for it, end after the overlap. */
export const renewClientSecret: DirectoryWrite<[clientId: string, overlapHours: number], NewClientSecret> = async (
  commands,
  caller,
  clientId,
  overlapHours,
) => {
  const clientSecret = newClientSecret();
  const oldEndsAt = new Date(Date.parse(commands.now()) + overlapHours * 3_600_000).toISOString();
  const data = { clientId, secretHash: hashSecret(clientSecret), ...(overlapHours === 0 ? {} : { oldEndsAt }) };
  const change = await writeClient(commands, caller, clientId, () => [{ type: 'ApiClientSecretRegenerated', data }]);
  return { ...change, clientSecret };
};

/** Its tokens end, too. @throws NotFoundError */
export const removeClient: DirectoryWrite<[clientId: string]> = (commands, caller, clientId) =>
  writeClient(commands, caller, clientId, () => [{ type: 'ApiClientRemoved', data: { clientId } }]);

/** Records that the client got a token. */
export const recordClientUse: DirectoryWrite<[clientId: string]> = (commands, caller, clientId) =>
  writeTenant(commands, caller, clientUseStream(caller.tenant, clientId), () => [
    { type: 'ApiClientUsed', data: { clientId } },
  ]);
