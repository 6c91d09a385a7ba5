/** The replay of an order, for clients that audit and for users: its history, each entry with the deliveries that it led to. */
import { z } from 'zod';
import { NotFoundError } from '../../commands/context.js';
import { tenantOf } from '../../commands/tables.js';
import type { Tenant } from '../../domain/identity/directory.js';
import { AUDIT_SCOPE } from '../../domain/identity/scopes.js';
import { MAX_DOCUMENT_BYTES, MAX_ENTRIES, MAX_RECORDS } from '../../domain/limits.js';
import type { Revision } from '../../ports/eventStore.js';
import { roomFor } from '../../queries/asking.js';
import { orderHistory } from '../../queries/orderHistory.js';
import type { Cancellation } from '../../supervision/cancellation.js';
import { acted } from '../actors.js';
import type { Api } from '../deps.js';
import { notFound } from '../errors.js';
import * as json from '../openapi/schema.js';
import { deliveryView, shownDelivery } from '../platform/webhooks.js';
import { type Call, RECORD_ID, type Reply, type Resource } from '../routes/operation.js';
import { parametersIn, parseQuery } from '../routes/query.js';
import { historyEntry } from './history.js';
import { revisionCursor } from './listQuery.js';
import { untilShown } from './moments.js';
import { nextLink } from './pages.js';

const schemas: json.Schemas = {
  ReplayStep: json.closedObject({
    ...historyEntry.properties,
    changes: json.listOf(json.ref('FieldChange')),
    problems: { ...json.listOf(json.ref('OrderProblem')), description: 'In spite of which the order was approved.' },
    deliveries: json.listOf(json.ref('ReplayDelivery')),
  }),
  ReplayDelivery: json.closedObject({
    webhook_id: json.uuid,
    webhook_name: { ...json.nullableText, description: 'null if the webhook was removed.' },
    ...deliveryView.properties,
  }),
};

/** Steps as JSON; none for an unknown order. @param first revision of the first step @throws the cancellation's reason */
export async function* replaySteps(
  { commands, queries }: Api,
  tenant: Tenant,
  orderId: string,
  first: Revision,
  cancellation: Cancellation,
) {
  for await (const entry of orderHistory(commands.eventStore, tenant, orderId, first, cancellation)) {
    const { revision, changes, problems } = entry;
    const asked = { orderId, sequence: { gte: revision, lte: revision }, order: 'oldest', limit: MAX_RECORDS } as const;
    const deliveries = await queries.deliveries.page(tenant.name, asked, cancellation);
    const text = JSON.stringify({
      ...historyEntry.show(acted(commands, tenant, entry)),
      changes,
      problems,
      deliveries: deliveries.map((delivery) => ({
        webhook_id: delivery.webhookId,
        webhook_name: tenant.webhooks.get(delivery.webhookId)?.name ?? null,
        ...shownDelivery(tenant, delivery),
      })),
    });
    yield { revision, deliveries, text };
  }
}

const replayQuery = z.strictObject({ cursor: revisionCursor });

/** Documentation of a replay, for clients and users. */
export const orderReplay = {
  work: 'costly',
  summary: 'All that happened to an order, with the deliveries that it led to',
  description: `Each event, oldest first, with its changes and its deliveries (the first ${MAX_RECORDS}) with all attempts, as far as the delivery log goes back.`,
  query: parametersIn(replayQuery),
  answer: json.linkedPage('ReplayStep', MAX_ENTRIES),
} as const;

/** @throws NotFoundError if the tenant has no such order */
export async function replayReply(api: Api, { req, query }: Call, orderId: string): Promise<Reply> {
  const first = Number(parseQuery(replayQuery, query).cursor ?? 0);
  const tenant = tenantOf(api.commands, req.context.tenant.name);
  await untilShown(api, tenant.name);
  const page: string[] = [];
  const fits = roomFor(MAX_ENTRIES, MAX_DOCUMENT_BYTES);
  let next: Revision | undefined;
  for await (const { text, revision } of replaySteps(api, tenant, orderId, first, req.context.deadline)) {
    if (!fits(Buffer.byteLength(text))) {
      next = revision;
      break;
    }
    page.push(text);
  }
  if (page.length === 0 && first === 0) throw new NotFoundError(`There is no order ${orderId}.`);
  return { body: `{"data":[${page.join()}],"links":${JSON.stringify({ next: nextLink(api, { req, query }, next) })}}` };
}

export const clientReplay: Resource = {
  tag: 'assets',
  pathParameters: { id: RECORD_ID },
  schemas,
  operations: {
    'GET /:table/assets/:id/replay': {
      id: 'replayOrder',
      ...orderReplay,
      allow: AUDIT_SCOPE,
      tables: 'OrderTable',
      handle(api, call) {
        const { assetType, path } = call;
        if (assetType.role !== 'order') throw notFound(`Only orders have a replay; ${assetType.name} has none.`);
        return replayReply(api, call, path.id.toLowerCase());
      },
    },
  },
};
