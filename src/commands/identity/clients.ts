/** API clients (spec §5.1): their secret is shown once and kept as a hash. */
import { z } from 'zod';
import { boundedList } from '../../domain/boundedList.js';
import { SCOPES, type Scope } from '../../domain/identity/scopes.js';
import { MAX_CLIENTS, MAX_LIST_ENTRIES } from '../../domain/limits.js';
import { clientsStream } from '../../domain/streams.js';
import type { Position } from '../../ports/eventStore.js';
import { parseBody, shortText } from '../body.js';
import { type Caller, NotFoundError } from '../context.js';
import { type DirectoryCommands, refuseMore, writeDirectory } from './directoryWriter.js';
import { hashSecret, newClientSecret } from './secrets.js';

export const clientBody = z.strictObject({
  name: shortText,
  scopes: boundedList({
    element: z.enum(SCOPES, `must be one of ${SCOPES.join(', ')}.`),
    max: MAX_LIST_ENTRIES,
    type: 'must be an array of scopes.',
    min: [1, 'must have at least 1 scope.'],
  }).default([...SCOPES]),
});

export type NewClient = {
  readonly position: Position;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scopes: readonly Scope[];
};

/** @param body `{ name, scopes? }`; all scopes by default. @throws ValidationError, NotFoundError (tenant) */
export async function createClient(commands: DirectoryCommands, caller: Caller, body: unknown): Promise<NewClient> {
  const input = parseBody(clientBody, body);
  const scopes = SCOPES.filter((scope) => input.scopes.includes(scope));
  const clientId = commands.newId();
  const clientSecret = newClientSecret();
  const position = await writeDirectory(commands, caller, clientsStream(caller.tenant), (tenant) => {
    if (tenant === undefined) throw new NotFoundError(`There is no tenant ${caller.tenant}.`);
    refuseMore('API clients', tenant.clients.size, MAX_CLIENTS);
    const data = { clientId, name: input.name, scopes, secretHash: hashSecret(clientSecret) };
    return [{ type: 'ApiClientCreated', data }];
  });
  return { position, clientId, clientSecret, scopes };
}

/** A new secret; the old one ends at once, and so do the tokens given for it. @throws NotFoundError */
export async function regenerateClientSecret(
  commands: DirectoryCommands,
  caller: Caller,
  clientId: string,
): Promise<{ readonly position: Position; readonly clientSecret: string }> {
  const clientSecret = newClientSecret();
  const position = await writeDirectory(commands, caller, clientsStream(caller.tenant), (tenant) => {
    if (tenant?.clients.has(clientId) !== true) throw new NotFoundError(`There is no API client ${clientId}.`);
    return [{ type: 'ApiClientSecretRegenerated', data: { clientId, secretHash: hashSecret(clientSecret) } }];
  });
  return { position, clientSecret };
}

/** Its tokens end with it. @throws NotFoundError */
export async function removeClient(commands: DirectoryCommands, caller: Caller, clientId: string): Promise<Position> {
  return writeDirectory(commands, caller, clientsStream(caller.tenant), (tenant) => {
    if (tenant?.clients.has(clientId) !== true) throw new NotFoundError(`There is no API client ${clientId}.`);
    return [{ type: 'ApiClientRemoved', data: { clientId } }];
  });
}
