/** How the platform API shows a webhook: never with its secret, except for the answer that tells of a new one. */
import type { Request, RequestHandler, Response } from 'express';
import { type Caller, NotFoundError } from '../../commands/context.js';
import { tenantOf } from '../../commands/tables.js';
import type { NewSecret } from '../../commands/webhooks/secrets.js';
import type { Tenant, Webhook } from '../../domain/identity/directory.js';
import type { Position } from '../../ports/eventStore.js';
import { pathParameter } from '../assets/access.js';
import type { ApiDeps } from '../deps.js';
import { sendJson } from '../sendJson.js';
import { ADMINS, allow } from './signedIn.js';

/** @throws NotFoundError */
export function webhookOf(tenant: Tenant, id: string): Webhook {
  const found = tenant.webhooks.get(id);
  if (found === undefined) throw new NotFoundError(`There is no webhook ${id}.`);
  return found;
}

export const webhookView = (webhook: Webhook) => ({
  id: webhook.id,
  name: webhook.name,
  url: webhook.url,
  events: webhook.events,
  custom_data: webhook.customData,
  enabled: webhook.disabled === undefined,
  disabled: webhook.disabled ?? null,
  rotating: webhook.stagedSecret !== undefined,
  created_at: webhook.createdAt,
});

/** The webhook as it is after a command, which waits for the directory. @throws NotFoundError */
export const viewAfter = ({ directory }: Pick<ApiDeps, 'directory'>, tenant: string, id: string) =>
  webhookView(webhookOf(tenantOf({ directory }, tenant), id));

/** Runs a command on the webhook with this id. */
export type WebhookCommand = (caller: Caller, id: string, req: Request, res: Response) => Promise<Position | NewSecret>;

/** For admins: the command for the webhook `:id`, then the webhook as it is, and this once the secret if one was made. */
export const changing = (deps: Pick<ApiDeps, 'directory'>, command: WebhookCommand, status = 200): RequestHandler =>
  allow(ADMINS, async (req, res) => {
    const caller = req.context.caller();
    const id = pathParameter(req, 'id');
    const done = await command(caller, id, req, res);
    const secret = typeof done === 'number' ? {} : { secret: done.secret };
    sendJson(res, status, JSON.stringify({ data: { ...viewAfter(deps, caller.tenant, id), ...secret } }));
  });
