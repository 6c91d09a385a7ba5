/** The replay of an order, for clients that audit and for users. */
import { z } from 'zod';
import { tenantOf } from '../../commands/tables.js';
import type { Tenant } from '../../domain/identity/directory.js';
import { AUDIT_SCOPE } from '../../domain/identity/scopes.js';
import { MAX_CHECKED_PARTS, MAX_ENTRIES, MAX_HISTORY_PAGE_BYTES, MAX_STEP_DELIVERIES } from '../../domain/limits.js';
import { orderStream } from '../../domain/streams.js';
import { type ShownActor, shownActor } from '../actors.js';
import { deliveryView, shownDelivery } from '../deliveryView.js';
import type { Api } from '../deps.js';
import { notFound } from '../errors.js';
import * as json from '../openapi/schema.js';
import { problemView } from '../orderSummaries.js';
import { PROBLEMS_BY, type ReplaySource, type ReplayStep, replaySteps } from '../replay/steps.js';
import { type Call, RECORD_ID, type Reply, type Resource } from '../routes/operation.js';
import { parametersIn, parseQuery } from '../routes/query.js';
import { historyEntry } from './history.js';
import { cursorLike } from './listQuery.js';
import { untilShown } from './moments.js';
import { nextLink } from './pages.js';
import { unknownRecord } from './records.js';

/** Without the lists, which may be long. */
const stepView = json.view<ReplayStep>({
  is_continued: {
    ...json.truth,
    description: `Whether the step has further deliveries of the event before it, and nothing else: a step has at most ${MAX_STEP_DELIVERIES}.`,
  },
  is_report: [{ ...json.truth, description: 'An API client reported the status, as an ERP system does.' }, isReport],
  problems_by: {
    ...json.oneOf(PROBLEMS_BY),
    description:
      'approval: found with the records that the order named when it was approved. now: of the order as it was then, but whether the records exist that it names is as of now.',
  },
});

export function isReport({ recorded: { type, metadata } }: ReplayStep): boolean {
  return type === 'OrderStatusChanged' && metadata.actor.kind === 'client';
}

const schemas: json.Schemas = {
  ReplayStep: json.closedObject({
    ...historyEntry.properties,
    ...stepView.properties,
    problems: json.listOf(json.ref('OrderProblem')),
    deliveries: json.listOf(json.ref('ReplayDelivery')),
    changes: json.listOf(json.ref('FieldChange')),
  }),
  ReplayDelivery: json.closedObject({
    webhook_id: json.uuid,
    webhook_name: { ...json.nullableText, description: 'null if the webhook was removed.' },
    ...deliveryView.properties,
  }),
};

/** The step as JSON text. */
export function stepText({ webhooks }: Pick<Tenant, 'webhooks'>, step: ReplayStep, actor: ShownActor): string {
  const { id: eventId, type: eventType, revision, position, metadata } = step.recorded;
  const { occurredAt: at, correlationId, causationId } = metadata;
  const told = { ...step, eventId, eventType, revision, position, at, correlationId, causationId, actor, changes: '' };
  return JSON.stringify({
    ...historyEntry.show(told),
    ...stepView.show(step),
    problems: step.problems.map(problemView.show),
    deliveries: step.deliveries.map((entry) => ({
      webhook_id: entry.webhookId,
      webhook_name: webhooks.get(entry.webhookId)?.name ?? null,
      ...shownDelivery({ webhooks }, entry),
    })),
    changes: step.changes,
  });
}

/** Where the parts of a replay come from. */
export const replaySource = ({ commands, queries }: Api, tenant: string): ReplaySource => ({
  eventStore: commands.eventStore,
  orders: commands.orders,
  find: (table, key, values) => commands.queries.records.find({ tenant, table }, key, values),
  deliveries: (...asked) => queries.deliveries.page(...asked),
});

const replayQuery = z.strictObject({ cursor: cursorLike(/^\d{1,15}(\.\d{1,9})?$/) });

/** Documentation of a replay, for clients and users. */
export const orderReplay = {
  work: 'costly',
  summary: 'All that happened to an order, with the deliveries that it led to',
  description: `Each event, oldest first, with its changes, the problems that the order had then, and its deliveries with all attempts. \`at=\` with the \`position\` of a step shows the whole order as it was. Deliveries that ended longer ago than the delivery log goes back are not shown. A page has at most ${MAX_HISTORY_PAGE_BYTES} bytes, or one step.`,
  query: parametersIn(replayQuery),
  answer: json.linkedPage('ReplayStep', MAX_ENTRIES),
} as const;

/**
 * A page ends at its number of steps, their bytes, or the parts that were checked, and has at least one step if there is any.
 * @param unknown is thrown if the tenant has no such order
 */
export async function replayReply(
  api: Api,
  { req, query }: Pick<Call, 'req' | 'query'>,
  orderId: string,
  unknown: Error,
): Promise<Reply> {
  const { cursor = '0' } = parseQuery(replayQuery, query);
  const tenant = tenantOf(api.commands, req.context.tenant.name);
  await untilShown(api, tenant.name);
  const source = replaySource(api, tenant.name);
  const cancellation = req.context.deadline;
  const page: string[] = [];
  let [bytes, checked] = [0, 0];
  let next: string | undefined;
  const [from = 0, leftOut] = cursor.split('.').map(Number);
  for await (const step of replaySteps(source, { tenant, orderId, from, leftOut, cancellation })) {
    const text = stepText(tenant, step, shownActor(api.commands, tenant, step.recorded.metadata.actor));
    bytes += Buffer.byteLength(text);
    checked += step.checked;
    const isFull = page.length === MAX_ENTRIES || bytes > MAX_HISTORY_PAGE_BYTES || checked > MAX_CHECKED_PARTS;
    if (isFull && page.length > 0) {
      next = step.cursor;
      break;
    }
    page.push(text);
  }
  const stream = orderStream(tenant.name, orderId);
  if (page.length === 0 && (await api.commands.eventStore.lastAppend(stream)) === undefined) throw unknown;
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
        const id = path.id.toLowerCase();
        return replayReply(api, call, id, unknownRecord(assetType, id));
      },
    },
  },
};
