/**
 * The replay of an order, for clients that audit and for users: its states one after the other, each with the event that made
 * it, what that changed, the problems that the order had then, and the deliveries that the event led to. Made from the order's
 * stream and the delivery log.
 */
import { z } from 'zod';
import { loadOrder, orderAfter } from '../../commands/orders/loadOrder.js';
import { keyValue, type SnapshotSource, snapshotOf } from '../../commands/orders/orderWriter.js';
import { streamPages } from '../../commands/streamPages.js';
import { tenantOf } from '../../commands/tables.js';
import type { Tenant } from '../../domain/identity/directory.js';
import { AUDIT_SCOPE } from '../../domain/identity/scopes.js';
import { MAX_CHECKED_PARTS, MAX_ENTRIES, MAX_HISTORY_PAGE_BYTES } from '../../domain/limits.js';
import { changeOfOrder } from '../../domain/order/differences.js';
import type { OrderEvent } from '../../domain/order/events.js';
import { type Problem, problemsOf } from '../../domain/order/problems.js';
import { orderStream } from '../../domain/streams.js';
import type { RecordedEvent, Revision } from '../../ports/eventStore.js';
import type { DeliveryLogEntry } from '../../queries/deliveries.js';
import type { StoredRecord } from '../../queries/storedRecord.js';
import type { Cancellation } from '../../supervision/cancellation.js';
import { shownActor } from '../actors.js';
import { deliveryView, shownDelivery } from '../deliveryView.js';
import type { Api } from '../deps.js';
import { notFound } from '../errors.js';
import * as json from '../openapi/schema.js';
import { problemView } from '../orderSummaries.js';
import { type Call, RECORD_ID, type Reply, type Resource } from '../routes/operation.js';
import { parametersIn, parseQuery } from '../routes/query.js';
import { historyEntry } from './history.js';
import { cursorLike } from './listQuery.js';
import { untilShown } from './moments.js';
import { nextLink } from './pages.js';
import { unknownRecord } from './records.js';

/** Which reference records the problems were found with: those that an approval kept, or those of now. */
const PROBLEMS_BY = ['approval', 'now'] as const;

type ReplayStep = {
  readonly recorded: RecordedEvent;
  readonly problems: readonly Problem[];
  readonly problemsBy: (typeof PROBLEMS_BY)[number];
  /** In the order of their requests. */
  readonly deliveries: readonly DeliveryLogEntry[];
  /** Parts of the order that were checked for problems. */
  readonly checked: number;
  /** As JSON. */
  readonly text: string;
};

type Replayed = {
  readonly tenant: Tenant;
  readonly orderId: string;
  /** Revision of the first event. */
  readonly from: Revision;
  readonly cancellation: Cancellation;
};

const schemas: json.Schemas = {
  ReplayStep: json.closedObject({
    ...historyEntry.properties,
    is_report: { ...json.truth, description: 'An API client reported the status, as an ERP system does.' },
    problems_by: {
      ...json.oneOf(PROBLEMS_BY),
      description:
        'approval: found with the records that the order named when it was approved. now: of the order as it was then, but whether the records exist that it names is as of now.',
    },
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

/** Events whose deliveries are read together. */
const EVENTS_AT_ONCE = 20;

/** None for an unknown order. @throws the cancellation's reason; what the engines throw */
export async function* replaySteps(api: Api, replayed: Replayed): AsyncGenerator<ReplayStep, void, void> {
  const { tenant, orderId, from, cancellation } = replayed;
  const { assetTypes, orderModel } = tenant;
  const { eventStore } = api.commands;
  const find = existing(api, tenant.name, cancellation);
  const before = { revision: from - 1, cancellation };
  let order = from === 0 ? undefined : (await loadOrder(eventStore, tenant.name, orderId, before))?.state;
  let problemsNow: readonly Problem[] | undefined;
  const pages = { from, eventsAPage: EVENTS_AT_ONCE, cancellation };
  for await (const events of streamPages(eventStore, orderStream(tenant.name, orderId), pages)) {
    const deliveries = await deliveriesOf(api, replayed, events);
    for (const recorded of events) {
      const event = { type: recorded.type, data: recorded.data } as OrderEvent;
      order = orderAfter(order, [recorded]);
      if (order === undefined) return;
      const own = deliveries.filter(({ sequence }) => sequence === recorded.revision);
      let found: Pick<ReplayStep, 'problems' | 'problemsBy' | 'checked'>;
      if (event.type === 'OrderApproved') {
        // Exactly what the approver had: the approval keeps the records that the order named.
        const problems = problemsOf(event.data.snapshot, assetTypes);
        found = { problems, problemsBy: 'approval', checked: order.parts.size };
      } else {
        const isKnown = problemsNow !== undefined && !isChange(event);
        if (!isKnown) problemsNow = problemsOf(await snapshotOf({ assetTypes, find }, orderId, order), assetTypes);
        found = { problems: problemsNow ?? [], problemsBy: 'now', checked: isKnown ? 0 : order.parts.size };
      }
      const step = { recorded, deliveries: own, ...found };
      yield { ...step, text: textOf(api, tenant, { ...step, ...changeOfOrder(event, orderModel, orderId) }) };
    }
  }
}

type Told = Omit<ReplayStep, 'text'> & ReturnType<typeof changeOfOrder>;

function textOf({ commands }: Api, tenant: Tenant, step: Told): string {
  const { id: eventId, type: eventType, revision, position, metadata } = step.recorded;
  const { occurredAt: at, correlationId, causationId } = metadata;
  const actor = shownActor(commands, tenant, metadata.actor);
  const told = { ...step, eventId, eventType, revision, position, at, correlationId, causationId, actor, changes: '' };
  return JSON.stringify({
    ...historyEntry.show(told),
    is_report: eventType === 'OrderStatusChanged' && metadata.actor.kind === 'client',
    problems_by: step.problemsBy,
    problems: step.problems.map(problemView.show),
    deliveries: step.deliveries.map((entry) => ({
      webhook_id: entry.webhookId,
      webhook_name: tenant.webhooks.get(entry.webhookId)?.name ?? null,
      ...shownDelivery(tenant, entry),
    })),
    changes: step.changes,
  });
}

const DELIVERIES_AT_ONCE = 50;

/** All deliveries of these events, which follow one another. */
async function deliveriesOf(
  { queries }: Api,
  { tenant, orderId, cancellation }: Replayed,
  events: readonly RecordedEvent[],
): Promise<readonly DeliveryLogEntry[]> {
  const sequence = { gte: events[0]?.revision ?? 0, lte: events.at(-1)?.revision ?? 0 };
  const asked = { orderId, sequence, order: 'oldest', limit: DELIVERIES_AT_ONCE } as const;
  const all: DeliveryLogEntry[] = [];
  for (;;) {
    const after = all.at(-1)?.position;
    const found = await queries.deliveries.page(tenant.name, { ...asked, after }, cancellation);
    all.push(...found);
    if (found.length < DELIVERIES_AT_ONCE) return all;
  }
}

/** So many records of the greatest size fit into one answer of the rows' engine (MAX_DECISION_BYTES). */
const NAMES_AT_ONCE = 30;

/** Looks each reference record up once, and keeps only whether it is there: problems ask for no more. */
function existing({ commands }: Api, tenant: string, cancellation: Cancellation): SnapshotSource['find'] {
  const known = new Map<string, StoredRecord | undefined>();
  return async (table, key, values) => {
    const nameOf = (value: string): string => JSON.stringify([table, key, value]);
    const asked = values.filter((value) => !known.has(nameOf(value)));
    for (let at = 0; at < asked.length; at += NAMES_AT_ONCE) {
      cancellation.throwIfCancelled();
      const some = asked.slice(at, at + NAMES_AT_ONCE);
      for (const value of some) known.set(nameOf(value), undefined);
      for (const record of await commands.queries.records.find({ tenant, table }, key, some)) {
        const id = keyValue(record, key);
        const fields = key === 'id' ? {} : { [key]: id };
        known.set(nameOf(id), { id, createdAt: '', updatedAt: '', batchId: null, fields });
      }
    }
    return values.flatMap((value) => known.get(nameOf(value)) ?? []);
  };
}

/** Whether the event may change fields that problems are found in. */
const isChange = ({ type }: OrderEvent): boolean =>
  type.startsWith('OrderCreated') || type.startsWith('OrderPart') || type === 'OrderChanged';

const replayQuery = z.strictObject({ cursor: cursorLike(/^\d{1,15}$/) });

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
  const from = Number(parseQuery(replayQuery, query).cursor ?? 0);
  const tenant = tenantOf(api.commands, req.context.tenant.name);
  await untilShown(api, tenant.name);
  const cancellation = req.context.deadline;
  const page: string[] = [];
  let [bytes, checked] = [0, 0];
  let next: Revision | undefined;
  for await (const { text, recorded, ...step } of replaySteps(api, { tenant, orderId, from, cancellation })) {
    bytes += Buffer.byteLength(text);
    checked += step.checked;
    const isFull = page.length === MAX_ENTRIES || bytes > MAX_HISTORY_PAGE_BYTES || checked > MAX_CHECKED_PARTS;
    if (isFull && page.length > 0) {
      next = recorded.revision;
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
