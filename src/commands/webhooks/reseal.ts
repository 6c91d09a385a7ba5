/** Signing secrets under another key: what receivers verify with stays as it is. */
import type { Webhook } from '../../domain/identity/directory.js';
import { webhooksStream } from '../../domain/streams.js';
import type { WebhookEvent } from '../../domain/webhook/events.js';
import { type Caller, type SecretBox, UnopenableSecretError } from '../context.js';
import { writeDirectory } from '../identity/directoryWriter.js';
import type { WebhookCommands } from './secrets.js';

/** Of all live secrets: the primary ones, and the staged ones of rotations under way. */
export type ResealReport = {
  /** How many were sealed anew. */
  readonly resealed: number;
  /** How many were under the first key already. */
  readonly current: number;
  /** Those that no key opens; they are left as they are. */
  readonly unopenable: readonly UnopenableSecret[];
};

export type UnopenableSecret = {
  readonly tenant: string;
  readonly webhookId: string;
  readonly which: 'primary' | 'staged';
};

/**
 * Seals every live secret of the tenant's webhooks that is under another key anew, under the first key. All of a tenant
 * are one append, decided on the stream as it is: what a secret is replaced with meanwhile is never undone.
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
    resealed: outcomes.filter(({ outcome }) => typeof outcome === 'object').length,
    current: outcomes.filter(({ outcome }) => outcome === 'current').length,
    unopenable: outcomes
      .filter(({ outcome }) => outcome === 'unopenable')
      .map(({ webhookId, which }) => ({ tenant: caller.tenant, webhookId, which })),
  };
}

type Outcome = { readonly sealed: string } | 'current' | 'unopenable';
type ResealedWebhook = { readonly id: string; readonly primary: Outcome; readonly staged?: Outcome };

function resealed(secretBox: SecretBox, { id, sealedSecret, stagedSecret }: Webhook): ResealedWebhook {
  const primary = outcomeOf(secretBox, sealedSecret);
  return stagedSecret === undefined ? { id, primary } : { id, primary, staged: outcomeOf(secretBox, stagedSecret) };
}

function outcomeOf(secretBox: SecretBox, secret: string): Outcome {
  try {
    const sealed = secretBox.reseal(secret);
    return sealed === undefined ? 'current' : { sealed };
  } catch (error) {
    if (error instanceof UnopenableSecretError) return 'unopenable';
    throw error;
  }
}

function eventOf({ id, primary, staged }: ResealedWebhook): readonly WebhookEvent[] {
  const data = {
    id,
    ...(typeof primary === 'object' ? { sealedSecret: primary.sealed } : {}),
    ...(typeof staged === 'object' ? { sealedStagedSecret: staged.sealed } : {}),
  };
  return Object.keys(data).length === 1 ? [] : [{ type: 'WebhookSecretsResealed', data }];
}
