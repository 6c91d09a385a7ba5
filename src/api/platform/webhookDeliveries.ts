/** The delivery log of a webhook: `/api/v1/platform/webhooks/:id/deliveries`. It outlives its webhook. */
import { type Request, Router } from 'express';
import { NotFoundError } from '../../commands/context.js';
import { valueSchema } from '../../domain/assetTypes/fieldTypes.js';
import { WEBHOOK_EVENT_KINDS } from '../../domain/webhook/events.js';
import type { DeliveryAttempt, DeliveryLogEntry, DeliveryQuery, DeliveryState } from '../../ports/deliveryLog.js';
import { pathParameter } from '../assets/access.js';
import { parametersOf } from '../assets/listQuery.js';
import type { ApiDeps } from '../deps.js';
import { badRequest, methodNotAllowed } from '../errors.js';
import { sendJson } from '../sendJson.js';
import { requestOrigin } from '../tenantHost.js';
import { ADMINS_AND_AUDITORS, allow } from './signedIn.js';

const STATES: readonly DeliveryState[] = ['open', 'succeeded', 'failed'];
const dateTime = valueSchema('DateTime');
const DEFAULT_LIMIT = 25;
const MAX_LIMIT = 100;

export function webhookDeliveriesRouter({ readModels, config }: Pick<ApiDeps, 'readModels' | 'config'>): Router {
  /** A webhook that was removed has its log still; one that is unheard of has none. */
  async function checkKnown({ context }: Request, webhookId: string): Promise<void> {
    if (context.tenant.webhooks.has(webhookId)) return;
    const [any] = await readModels.deliveries(context.tenant.name, { webhookId, limit: 1 });
    if (any === undefined) throw new NotFoundError(`There is no webhook ${webhookId}.`);
  }

  const router = Router({ caseSensitive: true });
  router
    .route('/webhooks/:id/deliveries')
    .get(
      allow(ADMINS_AND_AUDITORS, async (req, res) => {
        const webhookId = pathParameter(req, 'id');
        const parameters = parametersOf(req.originalUrl);
        const { limit, ...query } = parseDeliveryQuery(webhookId, parameters);
        await checkKnown(req, webhookId);
        const found = await readModels.deliveries(req.context.tenant.name, { ...query, limit: limit + 1 });
        const page = found.slice(0, limit);
        const last = found.length > limit ? page.at(-1) : undefined;
        const url = `${requestOrigin(req, config)}${req.baseUrl}${req.path}`;
        const next = last === undefined ? null : `${url}?${nextPage(parameters, last)}`;
        sendJson(res, 200, JSON.stringify({ data: page.map(deliveryView), links: { next } }));
      }),
    )
    .all(methodNotAllowed('GET, HEAD'));
  router
    .route('/webhooks/:id/deliveries/:deliveryId')
    .get(
      allow(ADMINS_AND_AUDITORS, async (req, res) => {
        const deliveryId = String(req.params.deliveryId);
        const entry = await readModels.delivery(req.context.tenant.name, deliveryId.toLowerCase());
        if (entry?.webhookId !== pathParameter(req, 'id')) {
          throw new NotFoundError(`There is no delivery ${deliveryId} to this webhook.`);
        }
        sendJson(res, 200, JSON.stringify({ data: deliveryView(entry) }));
      }),
    )
    .all(methodNotAllowed('GET, HEAD'));
  return router;
}

/** @throws HttpError 400 naming the parameter that is wrong */
export function parseDeliveryQuery(webhookId: string, parameters: URLSearchParams): DeliveryQuery {
  const state = oneOf(parameters, 'state', STATES);
  const kind = oneOf(parameters, 'kind', WEBHOOK_EVENT_KINDS);
  const orderId = single(parameters, 'order_id')?.toLowerCase();
  const since = time(parameters, 'since');
  const until = time(parameters, 'until');
  const after = integer(parameters, 'cursor', Number.MAX_SAFE_INTEGER);
  return {
    webhookId,
    ...(state === undefined ? {} : { state }),
    ...(kind === undefined ? {} : { kind }),
    ...(orderId === undefined ? {} : { orderId }),
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
    ...(after === undefined ? {} : { after }),
    limit: integer(parameters, 'limit', MAX_LIMIT) ?? DEFAULT_LIMIT,
  };
}

function single(parameters: URLSearchParams, name: string): string | undefined {
  const [value, second] = parameters.getAll(name);
  if (second !== undefined) throw badRequest(`${name} is given twice.`);
  return value;
}

function oneOf<Value extends string>(
  parameters: URLSearchParams,
  name: string,
  values: readonly Value[],
): Value | undefined {
  const text = single(parameters, name);
  const value = values.find((each) => each === text);
  if (text !== undefined && value === undefined) throw badRequest(`${name} must be one of ${values.join(', ')}.`);
  return value;
}

function integer(parameters: URLSearchParams, name: string, most: number): number | undefined {
  const text = single(parameters, name);
  if (text === undefined) return undefined;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > most) {
    throw badRequest(
      name === 'cursor' ? 'cursor must be that of a link to a next page.' : `${name} must be 1 to ${most}.`,
    );
  }
  return value;
}

function time(parameters: URLSearchParams, name: string): string | undefined {
  const text = single(parameters, name);
  if (text === undefined) return undefined;
  const normalized = dateTime.safeParse(text).data;
  if (typeof normalized !== 'string') throw badRequest(`${name} must be a time such as 2026-11-21T03:11:47Z.`);
  return normalized;
}

/** What was asked for, behind the last entry of this page. */
function nextPage(parameters: URLSearchParams, last: DeliveryLogEntry): string {
  const next = new URLSearchParams(parameters);
  next.set('cursor', String(last.position));
  return next.toString();
}

const deliveryView = (entry: DeliveryLogEntry) => ({
  id: entry.id,
  message_id: entry.messageId,
  kind: entry.kind,
  purpose: entry.purpose,
  order_id: entry.orderId,
  table: entry.table,
  sequence: entry.sequence,
  state: entry.state,
  requested_at: entry.requestedAt,
  ended_at: entry.endedAt,
  reason: entry.reason,
  retry_at: entry.retryAt,
  attempts: entry.attempts.map(attemptView),
});

const attemptView = (attempt: DeliveryAttempt) => ({
  attempt: attempt.attempt,
  url: attempt.url,
  started_at: attempt.startedAt,
  ended_at: attempt.endedAt,
  duration_ms: attempt.durationMs,
  status: attempt.status,
  reason: attempt.reason,
  response_body: attempt.responseBody,
});
