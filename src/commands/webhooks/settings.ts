/** Webhooks (spec §6): where a tenant's events are sent, and the secrets that sign them. Each is shown once and stored sealed. */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { isObject } from '../../domain/assetTypes/recordSchema.js';
import { boundedList } from '../../domain/boundedList.js';
import type { Webhook } from '../../domain/identity/directory.js';
import { MAX_LIST_ENTRIES, MAX_URL_LENGTH, MAX_VALUE_BYTES, MAX_WEBHOOKS } from '../../domain/limits.js';
import { webhooksStream } from '../../domain/streams.js';
import { WEBHOOK_EVENT_KINDS, type WebhookEventKind } from '../../domain/webhook/catalogue.js';
import type { CustomData, DisabledCause, WebhookEvent } from '../../domain/webhook/events.js';
import { choiceOf, parseBody, shortText, truth } from '../body.js';
import { type Caller, type Commands, ValidationError } from '../context.js';
import {
  changesOf,
  type DirectoryChange,
  type DirectoryCommands,
  type DirectoryWrite,
  refuseMore,
  writeDirectory,
  writeWebhook,
} from '../identity/directoryWriter.js';
import { resealed } from '../identity/signingKeys.js';

const isTarget = (text: string): boolean => {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return protocol === 'https:' && username === '' && password === '';
};
const url = z
  .string('must be a string.')
  .max(MAX_URL_LENGTH, `must be at most ${MAX_URL_LENGTH} characters.`)
  .refine(isTarget, 'must be an HTTPS URL without user and password, like https://erp.example.com/orders.')
  .meta({ format: 'uri', pattern: '^[Hh][Tt][Tt][Pp][Ss]://' });
export const eventKind = choiceOf(WEBHOOK_EVENT_KINDS);
export const eventKinds = boundedList(eventKind, MAX_LIST_ENTRIES, 'kinds of event');
/** Any object, as it was given. */
const customData = z
  .custom<CustomData>(isObject, 'must be an object.')
  .refine((data) => Buffer.byteLength(JSON.stringify(data)) <= MAX_VALUE_BYTES, {
    message: `must be at most ${MAX_VALUE_BYTES} bytes of JSON.`,
  })
  .meta({ type: 'object', additionalProperties: true });

const given = { url, name: shortText.optional(), events: eventKinds, custom_data: customData };
export const webhookBody = z.strictObject({
  ...given,
  events: eventKinds.default(['order.approved']),
  custom_data: customData.default({}),
});
export const changeWebhookBody = z.strictObject({ ...given, enabled: truth }).partial();

export type WebhookCommands = DirectoryCommands & Pick<Commands, 'secretBox'>;

export type NewSecret = DirectoryChange & { readonly secret: string };

/** Why a URL cannot be a target, to follow "The url field"; undefined when it can. */
export type CheckTarget = (url: string) => Promise<string | undefined>;

/** @param body see webhookBody; `name` is the host by default. @throws ValidationError */
export async function createWebhook(
  commands: WebhookCommands,
  caller: Caller,
  body: unknown,
  checkTarget: CheckTarget,
): Promise<NewSecret & { readonly id: string; readonly name: string }> {
  const { url: wanted, name, events, custom_data: customData } = parseBody(webhookBody, body);
  const target = await targetOf(wanted, checkTarget);
  const secret = newSigningSecret();
  const created = { id: commands.newId(), name: name ?? target.host };
  const sent = { url: target.href, events: inOrder(events), customData };
  const data = { ...created, ...sent, sealedSecret: commands.secretBox.seal(secret) };
  const change = await writeDirectory(commands, caller, webhooksStream(caller.tenant), ({ webhooks }) => {
    refuseMore('webhooks', webhooks.size, MAX_WEBHOOKS);
    return [{ type: 'WebhookCreated', data }];
  });
  return { ...change, ...created, secret };
}

/** Changes what the body names (see changeWebhookBody). @throws ValidationError, NotFoundError */
export const changeWebhook: DirectoryWrite<[id: string, body: unknown, CheckTarget]> = async (
  commands,
  caller,
  id,
  body,
  checkTarget,
) => {
  const { url: wanted, name, events, custom_data: customData, enabled } = parseBody(changeWebhookBody, body);
  const target = wanted === undefined ? undefined : await targetOf(wanted, checkTarget);
  const given = { name, url: target?.href, events: events && inOrder(events), customData };
  return writeWebhook(commands, caller, id, (webhook) => {
    const changed = changesOf(given, webhook);
    const isSame = Object.keys(changed).length === 0;
    const change: WebhookEvent[] = isSame ? [] : [{ type: 'WebhookChanged', data: { id, ...changed } }];
    return enabled === undefined ? change : [...change, ...switched(webhook, enabled)];
  });
};

/** Deliveries that wait for another attempt end without one. @throws NotFoundError */
export const removeWebhook: DirectoryWrite<[id: string]> = (commands, caller, id) =>
  writeWebhook(commands, caller, id, () => [{ type: 'WebhookRemoved', data: { id } }]);

type Disabling = { readonly cause: DisabledCause; readonly reason: string };

/** A disabled webhook keeps its first cause. @throws NotFoundError */
export const disableWebhook: DirectoryWrite<[id: string, Disabling]> = (commands, caller, id, disabling) =>
  writeWebhook(commands, caller, id, (webhook) => switched(webhook, false, disabling));

const BY_ADMIN: Disabling = { cause: 'admin', reason: 'Disabled by an admin.' };

function switched({ id, disabled }: Webhook, isOn: boolean, why = BY_ADMIN): readonly WebhookEvent[] {
  if (isOn === (disabled === undefined)) return [];
  return isOn ? [{ type: 'WebhookEnabled', data: { id } }] : [{ type: 'WebhookDisabled', data: { id, ...why } }];
}

async function targetOf(text: string, checkTarget: CheckTarget): Promise<URL> {
  const wrong = await checkTarget(text);
  if (wrong !== undefined) throw new ValidationError({ url: [`The url field ${wrong}`] });
  return new URL(text);
}

/** Each kind once, in the order of the catalogue. */
export const inOrder = (kinds: readonly WebhookEventKind[]): readonly WebhookEventKind[] =>
  WEBHOOK_EVENT_KINDS.filter((kind) => kinds.includes(kind));

/** A symmetric key in the form of Standard Webhooks. */
const newSigningSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

/** A new secret. The one before signs beside it for a day, so that receivers can verify every attempt meanwhile. */
export async function rotateWebhookSecret(commands: WebhookCommands, caller: Caller, id: string): Promise<NewSecret> {
  const secret = newSigningSecret();
  const sealedSecret = commands.secretBox.seal(secret);
  const rotated = { type: 'WebhookSecretRegenerated', data: { id, sealedSecret } } as const;
  return { ...(await writeWebhook(commands, caller, id, () => [rotated])), secret };
}

/**
 * Seals again, under the first key, each secret of the tenant's webhooks that is under another key. It is one append,
 * decided on the current stream, so that a secret that is replaced meanwhile is never brought back.
 * @returns how many; those that no key opens are left, and the doctor names them
 */
export async function resealWebhookSecrets(commands: WebhookCommands, caller: Caller): Promise<number> {
  let events: readonly WebhookEvent[] = [];
  await writeDirectory(commands, caller, webhooksStream(caller.tenant), ({ webhooks }) => {
    events = [...webhooks.values()].flatMap(({ id, sealedSecret: sealed }): readonly WebhookEvent[] => {
      const sealedSecret = resealed(commands.secretBox, sealed);
      return sealedSecret === undefined ? [] : [{ type: 'WebhookSecretsResealed', data: { id, sealedSecret } }];
    });
    return events;
  });
  return events.length;
}
