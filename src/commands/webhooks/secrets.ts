/**
 * Signing secrets of webhooks: each is shown once and stored sealed. A rotation has two steps, so that receivers can verify
 * every attempt: a staged secret signs beside the primary one, then replaces it.
 */
import { randomBytes } from 'node:crypto';
import type { Webhook } from '../../domain/identity/directory.js';
import { webhooksStream } from '../../domain/streams.js';
import type { WebhookEvent } from '../../domain/webhook/events.js';
import { type Caller, type Commands, ConflictError, type SecretBox, UnopenableSecretError } from '../context.js';
import {
  type DirectoryChange,
  type DirectoryCommands,
  writeDirectory,
  writeWebhook,
} from '../identity/directoryWriter.js';

export type WebhookCommands = DirectoryCommands & Pick<Commands, 'secretBox'>;

const SECRET_BYTES = 32;

/** A symmetric key in the form of Standard Webhooks: `whsec_` and base64 of 32 random bytes. */
export const newSigningSecret = (): string => `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;

export type NewSecret = DirectoryChange & { readonly secret: string };

/** A new secret; the old one stops signing, and a rotation under way ends. @throws NotFoundError */
export async function regenerateWebhookSecret(
  commands: WebhookCommands,
  caller: Caller,
  id: string,
): Promise<NewSecret> {
  const secret = newSigningSecret();
  const sealedSecret = commands.secretBox.seal(secret);
  const change = await writeWebhook(commands, caller, id, () => [
    { type: 'WebhookSecretRegenerated', data: { id, sealedSecret } },
  ]);
  return { ...change, secret };
}

/** Begins a rotation. @throws NotFoundError, ConflictError (one is under way) */
export async function stageWebhookSecret(commands: WebhookCommands, caller: Caller, id: string): Promise<NewSecret> {
  const secret = newSigningSecret();
  const sealedSecret = commands.secretBox.seal(secret);
  const change = await writeWebhook(commands, caller, id, ({ stagedSecret }) => {
    if (stagedSecret !== undefined) {
      throw new ConflictError('A rotation is under way: promote the staged secret, or take it back.');
    }
    return [{ type: 'WebhookSecretStaged', data: { id, sealedSecret } }];
  });
  return { ...change, secret };
}

/** Ends a rotation: only the staged secret stays. @throws NotFoundError, ConflictError (none is staged) */
export const promoteWebhookSecret = (
  commands: DirectoryCommands,
  caller: Caller,
  id: string,
): Promise<DirectoryChange> => endRotation(commands, caller, id, 'WebhookSecretPromoted');

/** Ends a rotation without it: the staged secret stops signing. @throws NotFoundError, ConflictError (none is staged) */
export const unstageWebhookSecret = (
  commands: DirectoryCommands,
  caller: Caller,
  id: string,
): Promise<DirectoryChange> => endRotation(commands, caller, id, 'WebhookSecretUnstaged');

const endRotation = (
  commands: DirectoryCommands,
  caller: Caller,
  id: string,
  type: 'WebhookSecretPromoted' | 'WebhookSecretUnstaged',
): Promise<DirectoryChange> =>
  writeWebhook(commands, caller, id, ({ stagedSecret }) => {
    if (stagedSecret === undefined) throw new ConflictError('No rotation is under way: no secret is staged.');
    return [{ type, data: { id } }];
  });

/** Counts of all live secrets: the primary ones, and the staged ones of rotations under way. */
export type ResealReport = {
  /** How many were sealed again. */
  readonly resealed: number;
  /** How many were under the first key already. */
  readonly current: number;
  /** Secrets that no key opens; they are left as they are. */
  readonly unopenable: readonly UnopenableSecret[];
};

type UnopenableSecret = {
  readonly tenant: string;
  readonly webhookId: string;
  readonly which: 'primary' | 'staged';
};

/**
 * Seals again, under the first key, every live secret of the tenant's webhooks that is under another key. It is one append,
 * decided on the current stream, so that a secret that is replaced meanwhile is never brought back.
 * @throws TryAgainError
 */
export async function resealWebhookSecrets(commands: WebhookCommands, caller: Caller): Promise<ResealReport> {
  let webhooks: readonly ResealedWebhook[] = [];
  await writeDirectory(commands, caller, webhooksStream(caller.tenant), (tenant) => {
    webhooks = [...(tenant?.webhooks.values() ?? [])].map((webhook) => resealed(commands.secretBox, webhook));
    return webhooks.flatMap(eventOf);
  });
  const outcomes = webhooks.flatMap(({ id, primary, staged }) => [
    { webhookId: id, which: 'primary', outcome: primary } as const,
    ...(staged === undefined ? [] : [{ webhookId: id, which: 'staged', outcome: staged } as const]),
  ]);
  return {
    resealed: outcomes.filter(({ outcome }) => outcome.kind === 'resealed').length,
    current: outcomes.filter(({ outcome }) => outcome.kind === 'current').length,
    unopenable: outcomes
      .filter(({ outcome }) => outcome.kind === 'unopenable')
      .map(({ webhookId, which }) => ({ tenant: caller.tenant, webhookId, which })),
  };
}

type Outcome = { readonly kind: 'resealed'; readonly sealed: string } | { readonly kind: 'current' | 'unopenable' };
type ResealedWebhook = { readonly id: string; readonly primary: Outcome; readonly staged?: Outcome };

function resealed(secretBox: SecretBox, { id, sealedSecret, stagedSecret }: Webhook): ResealedWebhook {
  const primary = outcomeOf(secretBox, sealedSecret);
  return stagedSecret === undefined ? { id, primary } : { id, primary, staged: outcomeOf(secretBox, stagedSecret) };
}

function outcomeOf(secretBox: SecretBox, secret: string): Outcome {
  try {
    const sealed = secretBox.reseal(secret);
    return sealed === undefined ? { kind: 'current' } : { kind: 'resealed', sealed };
  } catch (error) {
    if (error instanceof UnopenableSecretError) return { kind: 'unopenable' };
    throw error;
  }
}

function eventOf({ id, primary, staged }: ResealedWebhook): readonly WebhookEvent[] {
  const data = {
    id,
    ...(primary.kind === 'resealed' ? { sealedSecret: primary.sealed } : {}),
    ...(staged?.kind === 'resealed' ? { sealedStagedSecret: staged.sealed } : {}),
  };
  return Object.keys(data).length === 1 ? [] : [{ type: 'WebhookSecretsResealed', data }];
}
