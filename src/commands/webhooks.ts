/** Webhooks (spec §6): their signing secret is shown once and kept sealed. */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { webhooksStream } from '../domain/streams.js';
import { WEBHOOK_EVENT_KINDS } from '../domain/webhook/events.js';
import { targetUrlError } from '../domain/webhook/targetUrl.js';
import type { Position } from '../ports/eventStore.js';
import { parseBody } from './body.js';
import { type Caller, type Commands, NotFoundError, ValidationError } from './context.js';
import { type DirectoryCommands, writeDirectory } from './identity/directoryWriter.js';

export type WebhookCommands = DirectoryCommands & Pick<Commands, 'secretBox'>;

const SECRET_BYTES = 32;
const MAX_CUSTOM_DATA_BYTES = 65_536;

export const webhookBody = z.strictObject({
  url: z.string('must be a string.'),
  name: z
    .string('must be a string.')
    .min(1, 'must not be empty.')
    .max(255, 'must be at most 255 characters.')
    .optional(),
  events: z
    .array(
      z.enum(WEBHOOK_EVENT_KINDS, `must be one of ${WEBHOOK_EVENT_KINDS.join(', ')}.`),
      'must be an array of kinds of event.',
    )
    .min(1, 'must have at least 1 kind of event.')
    .default(['order.approved']),
  custom_data: z
    .record(z.string(), z.unknown(), 'must be an object.')
    .refine((data) => Buffer.byteLength(JSON.stringify(data)) <= MAX_CUSTOM_DATA_BYTES, {
      message: `must be at most ${MAX_CUSTOM_DATA_BYTES} bytes of JSON.`,
    })
    .default({}),
});

export type NewWebhook = {
  readonly position: Position;
  readonly id: string;
  readonly name: string;
  /** `whsec_` and base64 of 32 random bytes. */
  readonly secret: string;
};

/**
 * @param body `{ url, name?, events?, custom_data? }`; the name is the host by default, events `order.approved`
 * @param checkTarget why the URL cannot be called (its host leads to a refused address); undefined when it can
 * @throws ValidationError, NotFoundError (tenant)
 */
export async function createWebhook(
  commands: WebhookCommands,
  caller: Caller,
  body: unknown,
  checkTarget: (url: string) => Promise<string | undefined>,
): Promise<NewWebhook> {
  const input = parseBody(webhookBody, body);
  const wrong = targetUrlError(input.url) ?? (await checkTarget(input.url));
  if (wrong !== undefined) throw new ValidationError({ url: [`The url field ${wrong}`] });
  const url = new URL(input.url);
  const id = commands.newId();
  const name = input.name ?? url.host;
  const events = WEBHOOK_EVENT_KINDS.filter((kind) => input.events.includes(kind));
  const secret = newSigningSecret();
  const sealedSecret = commands.secretBox.seal(secret);
  const position = await writeDirectory(commands, caller, webhooksStream(caller.tenant), (tenant) => {
    if (tenant === undefined) throw new NotFoundError(`There is no tenant ${caller.tenant}.`);
    const data = { id, name, url: url.href, events, customData: input.custom_data, sealedSecret };
    return [{ type: 'WebhookCreated', data }];
  });
  return { position, id, name, secret };
}

/** A new secret; the old one signs nothing any more. @throws NotFoundError */
export async function regenerateWebhookSecret(
  commands: WebhookCommands,
  caller: Caller,
  id: string,
): Promise<{ readonly position: Position; readonly secret: string }> {
  const secret = newSigningSecret();
  const sealedSecret = commands.secretBox.seal(secret);
  const position = await writeDirectory(commands, caller, webhooksStream(caller.tenant), (tenant) => {
    if (tenant?.webhooks.has(id) !== true) throw new NotFoundError(`There is no webhook ${id}.`);
    return [{ type: 'WebhookSecretRegenerated', data: { id, sealedSecret } }];
  });
  return { position, secret };
}

/** Deliveries that wait for another attempt end without it. @throws NotFoundError */
export async function removeWebhook(commands: DirectoryCommands, caller: Caller, id: string): Promise<Position> {
  return writeDirectory(commands, caller, webhooksStream(caller.tenant), (tenant) => {
    if (tenant?.webhooks.has(id) !== true) throw new NotFoundError(`There is no webhook ${id}.`);
    return [{ type: 'WebhookRemoved', data: { id } }];
  });
}

/** Symmetric keys as Standard Webhooks writes them. */
const newSigningSecret = (): string => `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
