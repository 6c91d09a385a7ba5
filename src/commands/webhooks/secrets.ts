/**
 * Signing secrets of webhooks: each is shown once and kept sealed. A rotation has two steps, so that no call goes
 * unverified: a staged secret signs beside the primary one, then takes its place.
 */
import { randomBytes } from 'node:crypto';
import type { Position } from '../../ports/eventStore.js';
import { type Caller, type Commands, ConflictError } from '../context.js';
import type { DirectoryCommands } from '../identity/directoryWriter.js';
import { writeWebhook } from './writeWebhook.js';

export type WebhookCommands = DirectoryCommands & Pick<Commands, 'secretBox'>;

const SECRET_BYTES = 32;

/** A symmetric key as Standard Webhooks writes it: `whsec_` and base64 of 32 random bytes. */
export const newSigningSecret = (): string => `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;

export type NewSecret = { readonly position: Position; readonly secret: string };

/** A new secret; the old one signs nothing any more, and a rotation under way is over. @throws NotFoundError */
export async function regenerateWebhookSecret(
  commands: WebhookCommands,
  caller: Caller,
  id: string,
): Promise<NewSecret> {
  const secret = newSigningSecret();
  const sealedSecret = commands.secretBox.seal(secret);
  const position = await writeWebhook(commands, caller, id, () => [
    { type: 'WebhookSecretRegenerated', data: { id, sealedSecret } },
  ]);
  return { position, secret };
}

/** Begins a rotation. @throws NotFoundError, ConflictError (one is under way) */
export async function stageWebhookSecret(commands: WebhookCommands, caller: Caller, id: string): Promise<NewSecret> {
  const secret = newSigningSecret();
  const sealedSecret = commands.secretBox.seal(secret);
  const position = await writeWebhook(commands, caller, id, ({ stagedSecret }) => {
    if (stagedSecret !== undefined) {
      throw new ConflictError('A rotation is under way: promote the staged secret, or take it back.');
    }
    return [{ type: 'WebhookSecretStaged', data: { id, sealedSecret } }];
  });
  return { position, secret };
}

/** Ends a rotation: the staged secret is the only one. @throws NotFoundError, ConflictError (none is staged) */
export const promoteWebhookSecret = (commands: DirectoryCommands, caller: Caller, id: string): Promise<Position> =>
  endRotation(commands, caller, id, 'WebhookSecretPromoted');

/** Ends a rotation: the staged secret signs nothing any more. @throws NotFoundError, ConflictError (none is staged) */
export const unstageWebhookSecret = (commands: DirectoryCommands, caller: Caller, id: string): Promise<Position> =>
  endRotation(commands, caller, id, 'WebhookSecretUnstaged');

const endRotation = (
  commands: DirectoryCommands,
  caller: Caller,
  id: string,
  type: 'WebhookSecretPromoted' | 'WebhookSecretUnstaged',
): Promise<Position> =>
  writeWebhook(commands, caller, id, ({ stagedSecret }) => {
    if (stagedSecret === undefined) throw new ConflictError('No rotation is under way: no secret is staged.');
    return [{ type, data: { id } }];
  });
