/** Validation of orders by users: `/api/v1/platform/orders`. */
import { z } from 'zod';
import { parseBody, textUpTo, truth } from '../../commands/body.js';
import { NotFoundError } from '../../commands/context.js';
import { loadOrder } from '../../commands/orders/orderStream.js';
import { approveOrder, rejectOrder, saveOrder } from '../../commands/orders/orders.js';
import { exportSnapshot } from '../../commands/orders/snapshots.js';
import { requireTag, tagOf } from '../../commands/preconditions.js';
import { recordId } from '../../commands/tables.js';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { recordInputSchema, recordOutputSchema } from '../../domain/assetTypes/outputSchema.js';
import { boundedList } from '../../domain/boundedList.js';
import type { Tenant } from '../../domain/identity/directory.js';
import {
  MAX_COUNTED_ORDERS,
  MAX_ENTRIES,
  MAX_LIST_ENTRIES,
  MAX_REASON_LENGTH,
  MAX_VALUE_BYTES,
} from '../../domain/limits.js';
import { ACTIONS, actionsOn, SET_BY_SAVING } from '../../domain/order/decide.js';
import { wholeOrder } from '../../domain/order/document.js';
import { FAILED, ORDER_STATUSES, PROBLEM_CODES } from '../../domain/order/events.js';
import type { Order } from '../../domain/order/order.js';
import type { RecordQueries } from '../../queries/records.js';
import { historyList, historyReply } from '../assets/history.js';
import { LIST_PARAMETERS, SEARCH } from '../assets/listQuery.js';
import { AT, atPosition, readAt } from '../assets/moments.js';
import { collectionEnvelope } from '../assets/pages.js';
import { writtenReply } from '../assets/records.js';
import { orderReplay, replayReply } from '../assets/replay.js';
import { preconditionOf } from '../entityTags.js';
import * as json from '../openapi/schema.js';
import { CHANGES, dataReply, RECORD_ID, type Resource } from '../routes/operation.js';
import { parametersIn } from '../routes/query.js';
import { listOrders, problemsQuery } from './orderList.js';

const reasonText = textUpTo(MAX_REASON_LENGTH);

const rejectBody = z.strictObject({
  reasons: boundedList(reasonText, MAX_LIST_ENTRIES, 'texts')
    .refine(
      (reasons) => Buffer.byteLength(JSON.stringify(reasons)) <= MAX_VALUE_BYTES,
      `must be at most ${MAX_VALUE_BYTES} bytes of JSON.`,
    )
    .default([]),
});

/** An approval without a body overrides nothing. */
const approveBody = z
  .strictObject({ override: truth.default(false), reason: reasonText.optional() })
  .refine(({ override, reason }) => override === (reason !== undefined), {
    path: ['reason'],
    error: 'is required with "override": true, and allowed only with it.',
  });

const unknownOrder = (id: string): NotFoundError => new NotFoundError(`There is no order ${id}.`);

const saveSchema = (orderType: AssetType): json.JsonSchema =>
  json.extended(recordInputSchema(orderType, 'update'), { processing_status: json.oneOf(SET_BY_SAVING) });

/**
 * Has the form of the export that an approval would send (spec §2.3), with the order's own status, reasons and
 * approval. The answer's tag is made of its bytes, so it changes with the order's parts and with the records they name.
 */
async function orderAnswer(records: RecordQueries, tenant: Tenant, orderId: string, order: Order): Promise<string> {
  const snapshot = await exportSnapshot(records, tenant, orderId, order);
  const { document, problems } = wholeOrder(snapshot, tenant.assetTypes);
  const more = {
    approver: order.lastApproval?.approver ?? null,
    problems: problems.slice(0, MAX_ENTRIES),
    actions: actionsOn(order.status),
  };
  return JSON.stringify({ data: { ...document, ...more } });
}

/** The order's fields, and the record or list of each relationship. */
function orderDocumentResponse(orderType: AssetType): json.ResponseObject {
  const relations = orderType.relationships.map(({ name, kind }): [string, json.JsonSchema] => [
    name,
    kind === 'has_many' ? json.listOf(json.ref('AnyRecord')) : json.orNull(json.ref('AnyRecord')),
  ]);
  const document = json.closedObject({
    ...Object(recordOutputSchema(orderType).properties),
    ...Object.fromEntries(relations),
    approver: json.orNull(json.ref('Approver')),
    problems: json.listOf(json.ref('OrderProblem')),
    actions: json.listOf(json.oneOf(ACTIONS)),
  });
  return json.answer('The order.', json.dataOf(document));
}

const orderResponse = (orderType: AssetType): json.ResponseObject =>
  json.answer('The order.', json.dataOf(json.tableRef('record', orderType)));

const countSchema = (description: string): json.JsonSchema => ({ ...json.orNull(json.count), description });

const openBody = z.strictObject({ order_id: z.uuid('must be an order id.').optional() });

const STATUSES = [...ORDER_STATUSES, FAILED];

export const orders: Resource = {
  tag: 'orders',
  schemas: {
    OrderCounts: json.closedObject(Object.fromEntries(STATUSES.map((status) => [status, json.count]))),
    OrderProblem: json.closedObject({
      field: { type: 'string', description: 'Its path in the order, such as lines.0.item_id.' },
      code: json.oneOf(PROBLEM_CODES),
      message: json.text,
    }),
    OpenOrder: json.closedObject({ order_id: json.text, name: json.text }),
    Approver: json.closedObject({
      id: json.count,
      first_name: json.text,
      last_name: json.text,
      locale: json.text,
      email: json.text,
    }),
  },
  pathParameters: { id: { ...RECORD_ID, name: 'order_id' } },
  operations: {
    'GET /orders': {
      id: 'listOrders',
      work: 'list',
      summary: 'Orders, each with the name of its customer and how many lines and problems it has',
      description: `Up to ${MAX_COUNTED_ORDERS} can also be sorted by customer, error_reason, lines or problems.`,
      allow: 'users',
      query: [SEARCH, ...LIST_PARAMETERS, ...parametersIn(problemsQuery)],
      answer: (orderType) =>
        json.answer(
          'A page of orders.',
          json.pageOf(
            json.extended(recordOutputSchema(orderType), {
              customer: json.nullableText,
              lines: countSchema('null: too many to count.'),
              problems: countSchema('null: too many to count, or nobody works on the order.'),
            }),
          ),
        ),
      async handle(api, call, cancellation) {
        const { orders: shown, ...page } = await listOrders(api.queries.records, call.tenant, call.query, cancellation);
        const text = JSON.stringify(shown).slice(1, -1);
        return { body: collectionEnvelope(api, call, text, page) };
      },
    },
    'GET /orders/counts': {
      id: 'countOrders',
      summary: 'How many orders are in each state',
      allow: 'users',
      work: 'list',
      answer: json.one('OrderCounts'),
      async handle({ queries }, { tenant }, cancellation) {
        const table = { tenant: tenant.name, table: tenant.orderModel };
        const counted = STATUSES.map(async (status) => {
          const filters = [{ kind: 'equals', field: 'processing_status', anyOf: [status] }] as const;
          const asked = { filters, sort: [], offset: 0, limit: 0 };
          return [status, (await queries.records.list(table, asked, cancellation)).total];
        });
        return dataReply(Object.fromEntries(await Promise.all(counted)));
      },
    },
    'PUT /orders/open': {
      id: 'openOrders',
      summary: 'Say which order you have open, for 45 seconds, and get those of others',
      allow: 'validators',
      body: json.bodyOf(openBody, {}),
      answer: json.all('OpenOrder'),
      handle({ openOrders: open }, { tenant, person, body }) {
        const { order_id } = parseBody(openBody, body);
        const own = `${tenant.name} ${person.id}`;
        open.delete(own);
        const others = [...open.entries()]
          .filter(([key]) => key.startsWith(`${tenant.name} `))
          .map(([, order]) => order);
        if (order_id) open.set(own, { order_id, name: `${person.firstName} ${person.lastName}` });
        return dataReply(others);
      },
    },
    'GET /orders/:id': {
      work: 'costly',
      id: 'getOrder',
      summary: 'An order with its parts and the records they name',
      allow: 'users',
      query: [AT],
      answer: orderDocumentResponse,
      // Reads the order's stream, not the rows.
      async handle(api, { req, tenant, path, query }) {
        const id = recordId(tenant.orderModel, path.id);
        // As it was, with its parts and the records that they named, as these were.
        const { tenant: then, reads, position } = await readAt(api, req, query);
        const until = { position, cancellation: req.context.deadline };
        const order = await loadOrder(api.commands.eventStore, tenant.name, id, until);
        if (order === undefined) throw unknownOrder(id);
        const shown = { ...tenant, assetTypes: then.assetTypes };
        return { body: await orderAnswer(reads, shown, id, order.state), headers: atPosition(position) };
      },
    },
    'PUT /orders/:id': {
      work: 'costly',
      id: 'saveOrder',
      grows: CHANGES,
      summary: 'Save changes; processing_status may be saved or validated',
      description:
        'Fields that the body lacks stay. A list of parts replaces the present ones: a part with an id is changed, one without is added, missing ones are removed.',
      allow: 'validators',
      body: {
        limit: 'record',
        schema: saveSchema,
        example: { customer_reference: 'PO 4711', processing_status: 'validated' },
      },
      answer: orderResponse,
      headers: ['if-match'],
      async handle({ commands, queries }, { req, caller, tenant, path, body }) {
        const precondition = preconditionOf(req);
        if (precondition === undefined) return writtenReply(await saveOrder(commands, caller, path.id, body));
        const id = recordId(tenant.orderModel, path.id);
        const answer = (order: Order) => orderAnswer(queries.records, tenant, id, order);
        const before = async (order: Order) => requireTag(precondition, await answer(order));
        const saved = await saveOrder(commands, caller, id, body, before);
        return { ...writtenReply(saved), tag: tagOf(await answer(saved.order)) };
      },
    },
    'GET /orders/:id/history': {
      id: 'listOrderHistory',
      ...historyList,
      allow: 'users',
      handle(api, call, cancellation) {
        const id = recordId(call.tenant.orderModel, call.path.id);
        return historyReply(api, call, { id, unknown: unknownOrder(id) }, cancellation);
      },
    },
    'GET /orders/:id/replay': {
      id: 'replayOrder',
      ...orderReplay,
      allow: 'adminsAndAuditors',
      async handle(api, call) {
        const id = recordId(call.tenant.orderModel, call.path.id);
        return replayReply(api, call, id);
      },
    },
    'POST /orders/:id/approve': {
      work: 'costly',
      id: 'approveOrder',
      grows: CHANGES,
      summary: 'Approve a validated or failed order; it is then sent to the webhooks',
      description:
        'One with problems is refused with 422. With {"override": true, "reason": "…"} it is sent without the missing objects.',
      allow: 'validators',
      body: { ...json.bodyOf(approveBody, { override: true, reason: 'The item follows tomorrow.' }), optional: true },
      answer: orderResponse,
      async handle({ commands }, { caller, path, body, person }) {
        const { reason } = parseBody(approveBody, body);
        return writtenReply(await approveOrder(commands, caller, path.id, person, reason));
      },
    },
    'POST /orders/:id/reject': {
      id: 'rejectOrder',
      summary: 'Reject an order; its reasons are shown with it',
      allow: 'validators',
      body: { ...json.bodyOf(rejectBody, { reasons: ['Ordered twice.'] }), optional: true },
      answer: orderResponse,
      async handle({ commands }, { caller, path, body }) {
        const { reasons } = parseBody(rejectBody, body);
        return writtenReply(await rejectOrder(commands, caller, path.id, reasons));
      },
    },
  },
};
