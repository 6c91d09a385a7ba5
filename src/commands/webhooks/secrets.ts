/** Signing secrets of webhooks: each is shown once and stored sealed. */
import { randomBytes } from 'node:crypto';
import { webhooksStream } from '../../domain/streams.js';
import type { WebhookEvent } from '../../domain/webhook/events.js';
import { type Caller, type Commands, UnopenableSecretError } from '../context.js';
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

/** A new secret. The one before signs beside it for a day, so that receivers can verify every attempt meanwhile. */
export async function rotateWebhookSecret(commands: WebhookCommands, caller: Caller, id: string): Promise<NewSecret> {
  const secret = newSigningSecret();
  const sealedSecret = commands.secretBox.seal(secret);
  const rotated = { type: 'WebhookSecretRegenerated', data: { id, sealedSecret } } as const;
  return { ...(await writeWebhook(commands, caller, id, () => [rotated])), secret };
}

export type ResealReport = {
  /** How many were sealed again. */
  readonly resealed: number;
  /** How many were under the first key already. */
  readonly current: number;
  /** Webhooks whose secrets no key opens; they are left as they are. */
  readonly unopenable: readonly { readonly tenant: string; readonly webhookId: string }[];
};

/**
 * Seals again, under the first key, each secret of the tenant's webhooks that is under another key. It is one append,
 * decided on the current stream, so that a secret that is replaced meanwhile is never brought back.
 */
export async function resealWebhookSecrets(commands: WebhookCommands, caller: Caller): Promise<ResealReport> {
  const { tenant } = caller;
  let report: ResealReport = { resealed: 0, current: 0, unopenable: [] };
  await writeDirectory(commands, caller, webhooksStream(tenant), ({ webhooks }) => {
    const unopenable: { tenant: string; webhookId: string }[] = [];
    const events = [...webhooks.values()].flatMap(({ id, sealedSecret: sealed }): readonly WebhookEvent[] => {
      try {
        const sealedSecret = commands.secretBox.reseal(sealed);
        return sealedSecret === undefined ? [] : [{ type: 'WebhookSecretsResealed', data: { id, sealedSecret } }];
      } catch (error) {
        if (!(error instanceof UnopenableSecretError)) throw error;
        unopenable.push({ tenant, webhookId: id });
        return [];
      }
    });
    const resealed = events.length;
    report = { resealed, current: webhooks.size - resealed - unopenable.length, unopenable };
    return events;
  });
  return report;
}
