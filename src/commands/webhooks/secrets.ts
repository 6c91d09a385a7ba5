/**
 * Signing secrets of webhooks: each is shown once and stored sealed. A rotation has two steps, so that receivers can verify
 * every attempt: a staged secret signs beside the primary one, then replaces it.
 */
import { randomBytes } from 'node:crypto';
import { webhooksStream } from '../../domain/streams.js';
import type { WebhookEvent } from '../../domain/webhook/events.js';
import { type Caller, type Commands, UnopenableSecretError } from '../context.js';
import {
  type DirectoryChange,
  type DirectoryCommands,
  type DirectoryWrite,
  writeDirectory,
  writeWebhook,
} from '../identity/directoryWriter.js';
import { requireNoRotation, requireRotation } from '../identity/secrets.js';

export type WebhookCommands = DirectoryCommands & Pick<Commands, 'secretBox'>;

const SECRET_BYTES = 32;

/** A symmetric key in the form of Standard Webhooks: `whsec_` and base64 of 32 random bytes. */
export const newSigningSecret = (): string => `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;

export type NewSecret = DirectoryChange & { readonly secret: string };

type Renewal = 'WebhookSecretRegenerated' | 'WebhookSecretStaged';

/** Regenerated: the old one stops signing, and a rotation under way ends. Staged: a rotation begins. */
export async function renewWebhookSecret(
  commands: WebhookCommands,
  caller: Caller,
  id: string,
  type: Renewal,
): Promise<NewSecret> {
  const secret = newSigningSecret();
  const sealedSecret = commands.secretBox.seal(secret);
  const change = await writeWebhook(commands, caller, id, ({ stagedSecret }) => {
    if (type === 'WebhookSecretStaged') requireNoRotation(stagedSecret);
    return [{ type, data: { id, sealedSecret } }];
  });
  return { ...change, secret };
}

type RotationEnd = 'WebhookSecretPromoted' | 'WebhookSecretUnstaged';

/** Promoted: only the staged secret stays; unstaged: it stops signing. */
export const endWebhookRotation: DirectoryWrite<[id: string, type: RotationEnd]> = (commands, caller, id, type) =>
  writeWebhook(commands, caller, id, ({ stagedSecret }) => {
    requireRotation(stagedSecret);
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

type Which = 'primary' | 'staged';
type UnopenableSecret = { readonly tenant: string; readonly webhookId: string; readonly which: Which };

/**
 * Seals again, under the first key, every live secret of the tenant's webhooks that is under another key. It is one append,
 * decided on the current stream, so that a secret that is replaced meanwhile is never brought back.
 */
export async function resealWebhookSecrets(commands: WebhookCommands, caller: Caller): Promise<ResealReport> {
  const { tenant } = caller;
  let report: ResealReport = { resealed: 0, current: 0, unopenable: [] };
  await writeDirectory(commands, caller, webhooksStream(tenant), ({ webhooks }) => {
    let [resealed, current] = [0, 0];
    const unopenable: UnopenableSecret[] = [];
    const sealedAgain = (webhookId: string, which: Which, secret: string | undefined) => {
      if (secret === undefined) return undefined;
      try {
        const sealed = commands.secretBox.reseal(secret);
        if (sealed === undefined) current += 1;
        else resealed += 1;
        return sealed;
      } catch (error) {
        if (!(error instanceof UnopenableSecretError)) throw error;
        unopenable.push({ tenant, webhookId, which });
        return undefined;
      }
    };
    const events = [...webhooks.values()].flatMap((webhook): readonly WebhookEvent[] => {
      const { id } = webhook;
      const sealedSecret = sealedAgain(id, 'primary', webhook.sealedSecret);
      const sealedStagedSecret = sealedAgain(id, 'staged', webhook.stagedSecret);
      if (sealedSecret === undefined && sealedStagedSecret === undefined) return [];
      const [primary, staged] = [sealedSecret && { sealedSecret }, sealedStagedSecret && { sealedStagedSecret }];
      return [{ type: 'WebhookSecretsResealed', data: { id, ...primary, ...staged } }];
    });
    report = { resealed, current, unopenable };
    return events;
  });
  return report;
}
