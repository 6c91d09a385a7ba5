/** Validation of orders by users: `/api/v1/platform/orders`. */
import { z } from 'zod';
import type { Application } from '../../commands/application.js';
import { parseBody } from '../../commands/body.js';
import { NotFoundError } from '../../commands/context.js';
import { approveOrder, approveOrderOnce, rejectOrder, saveOrder } from '../../commands/orders/lifecycle.js';
import { exportSnapshot } from '../../commands/orders/orderWriter.js';
import { requireOneOf } from '../../commands/preconditions.js';
import { assetTypeOf, recordId } from '../../commands/tables.js';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { recordOutputSchema } from '../../domain/assetTypes/outputSchema.js';
import { boundedList, withinListBytes } from '../../domain/boundedList.js';
import type { Tenant } from '../../domain/identity/directory.js';
import { MAX_LIST_ENTRIES, MAX_REASON_LENGTH } from '../../domain/limits.js';
import { approverOf, shownOrderText } from '../../domain/order/exportDocument.js';
import type { Order } from '../../domain/order/order.js';
import { PROBLEM_CODES, type Problem, problemsOf } from '../../domain/order/problems.js';
import { ARCHIVED, type OrderStatus, SET_BY_SAVING, TO_VALIDATE } from '../../domain/order/status.js';
import { ORDERS } from '../../reading/pendingWrites.js';
import type { Cancellation } from '../../supervision/cancellation.js';
import { encodeWithPauses } from '../../supervision/waiting.js';
import { historyList, historyPage } from '../assets/history.js';
import { LIST_ANSWERS, LIST_PARAMETERS, narrowing, parseListQuery } from '../assets/listQuery.js';
import { collectionEnvelope } from '../assets/pages.js';
import { ONE_ORDER, recordResponse, writtenReply } from '../assets/records.js';
import { idempotencyKeyOf } from '../changeOptions.js';
import { preconditionOf, tagOfText } from '../entityTags.js';
import { badRequest } from '../errors.js';
import { type JsonText, joined } from '../jsonAnswer.js';
import { recordInputSchema } from '../openapi/records.js';
import * as json from '../openapi/schema.js';
import { orderWarnings, warnings, warningsOf, withWarnings } from '../orderWarnings.js';
import type { QueryParameter, Resource } from '../routes/operation.js';
import { CHANGES, RECORD_ID } from '../routes/operation.js';
import { requestUrl } from '../tenantHost.js';

const reasonText = z
  .string('must be a string.')
  .min(1, 'must not be empty.')
  .max(MAX_REASON_LENGTH, `must be at most ${MAX_REASON_LENGTH} characters.`);

const rejectBody = z.strictObject({
  reasons: boundedList({
    element: reasonText,
    max: MAX_LIST_ENTRIES,
    type: 'must be an array of strings.',
  })
    .refine(...withinListBytes)
    .default([]),
});

/** The first problems for which an approval is refused. */
const problemView = json.view<Problem>({
  field: [{ type: 'string', description: 'Its path in the order, such as lines.0.item_id.' }, ({ field }) => field],
  code: [json.oneOf(PROBLEM_CODES), ({ code }) => code],
  message: [json.text, ({ message }) => message],
});

/** An approval without a body overrides nothing. */
const approveBody = z
  .strictObject({ override: z.boolean('must be true or false.').default(false), reason: reasonText.optional() })
  .refine(({ override, reason }) => override === (reason !== undefined), {
    path: ['reason'],
    error: 'is required with "override": true, and allowed only with it.',
  });

const QUEUES: ReadonlyMap<string, readonly OrderStatus[]> = new Map([
  ['to_validate', TO_VALIDATE],
  ['archive', ARCHIVED],
]);

const QUEUE: QueryParameter = {
  name: 'queue',
  description: 'Orders to validate, or the archive.',
  schema: { type: 'string', enum: [...QUEUES.keys()], default: 'to_validate' },
};

function queueIn(query: URLSearchParams): { readonly name: string; readonly statuses: readonly OrderStatus[] } {
  const name = query.get('queue') ?? 'to_validate';
  const statuses = QUEUES.get(name);
  if (statuses === undefined) throw badRequest(`queue must be ${[...QUEUES.keys()].join(' or ')}.`);
  return { name, statuses };
}

const unknownOrder = (id: string): NotFoundError => new NotFoundError(`There is no order ${id}.`);

function saveSchema(orderType: AssetType): json.JsonSchema {
  const { properties, ...schema } = recordInputSchema(orderType, 'update');
  const status = { processing_status: json.oneOf(SET_BY_SAVING) };
  return { ...schema, properties: { ...(json.isObject(properties) ? properties : {}), ...status } };
}

/**
 * Has the form of the export that an approval would send (spec §2.3), with the order's own status, reasons and
 * approval. The answer's tag is made of its bytes, so it changes with the order's parts and with the records they name.
 */
async function orderAnswer(
  commands: Application,
  tenant: Tenant,
  orderId: string,
  order: Order,
  cancellation: Cancellation,
): Promise<JsonText> {
  const snapshot = await exportSnapshot(commands, tenant.name, orderId, order);
  // Undefined if nobody approved it, or the user was removed since.
  const user = tenant.users.get(Number(order.fields.approved_by ?? 0));
  const approver = user === undefined ? null : approverOf(user);
  const problems = problemsOf(snapshot, tenant.assetTypes);
  const said = await orderWarnings(commands.eventStore, tenant, order);
  const text = shownOrderText(snapshot, tenant.assetTypes, { approver, problems, warnings: said });
  return joined(['{"data":', ...(await encodeWithPauses(text, cancellation)), '}']);
}

/** The order's fields, and the record or list of each relationship. */
function orderDocumentResponse(orderType: AssetType): json.ResponseObject {
  const { properties, ...record } = recordOutputSchema(orderType);
  const relations = orderType.relationships.map(({ name, kind }): [string, json.JsonSchema] => [
    name,
    kind === 'has_many' ? json.listOf(json.ref('AnyRecord')) : json.orNull(json.ref('AnyRecord')),
  ]);
  const more = {
    ...Object.fromEntries(relations),
    approver: { ...json.orNull(json.ref('Approver')), description: 'The user who approved.' },
    problems: json.listOf(json.ref('OrderProblem')),
    warnings,
  };
  const required: readonly unknown[] = Array.isArray(record.required) ? record.required : [];
  const schema = {
    ...record,
    properties: { ...(json.isObject(properties) ? properties : {}), ...more },
    required: [...required, ...Object.keys(more)],
  };
  return json.answer('The order.', json.dataOf(schema));
}

/** A page of orders; `warnings` is absent if there are none. */
function orderPageResponse(orderType: AssetType): json.ResponseObject {
  const { properties, ...record } = recordOutputSchema(orderType);
  const more = { ...(json.isObject(properties) ? properties : {}), warnings };
  return json.answer('A page of orders.', json.pageOf({ ...record, properties: more }));
}

const approver = json.closedObject({
  id: json.count,
  first_name: json.text,
  last_name: json.text,
  locale: json.text,
  email: json.text,
});

const approvedResponse = (orderType: AssetType): json.ResponseObject =>
  json.answer('The order.', {
    type: 'object',
    properties: { data: json.tableRef('record', orderType), warnings },
    required: ['data'],
  });

export const orders: Resource = {
  tag: 'platform: orders',
  schemas: { OrderProblem: problemView.schema, Approver: approver },
  pathParameters: { id: { ...RECORD_ID, component: 'OrderId', name: 'order_id' } },
  operations: {
    'GET /orders': {
      id: 'platformListOrders',
      summary: 'Orders to validate, or the archive',
      allow: 'users',
      query: [QUEUE, ...LIST_PARAMETERS],
      answer: orderPageResponse,
      answers: LIST_ANSWERS,
      async handle({ readModels, config, lists, pendingWrites }, { req, tenant, query: parameters }) {
        const queue = queueIn(parameters);
        const { query, kept, ...paging } = parseListQuery(assetTypeOf(tenant, tenant.orderModel), parameters);
        const inQueue = { kind: 'equals', field: 'processing_status', anyOf: queue.statuses } as const;
        const table = { tenant: tenant.name, table: tenant.orderModel };
        const fullQuery = { ...query, filters: [inQueue, ...query.filters] };
        const { records, total } = await lists.run({
          tenant: tenant.name,
          until: pendingWrites?.untilShown(tenant.name, ORDERS),
          context: req.context,
          advice: () => narrowing(query),
          find: (cancellation) => readModels.list(table, fullQuery, cancellation),
        });
        const list = { ...paging, url: requestUrl(req, config), total };
        const page = await withWarnings(readModels, tenant, records);
        return { body: collectionEnvelope(page, { ...list, kept: [['queue', queue.name], ...kept] }) };
      },
    },
    'GET /orders/:id': {
      work: 'document',
      id: 'platformGetOrder',
      summary: 'An order with its parts and the records they name',
      allow: 'users',
      answer: orderDocumentResponse,
      // Reads the order's stream, not the read model.
      async handle({ commands }, { req, tenant, path }) {
        const id = recordId(tenant.orderModel, path.id);
        const order = await commands.orders.load(tenant.name, id, req.context.deadline);
        if (order === undefined) throw unknownOrder(id);
        return { body: await orderAnswer(commands, tenant, id, order.state, req.context.deadline) };
      },
    },
    'PUT /orders/:id': {
      work: 'document',
      id: 'platformSaveOrder',
      grows: CHANGES,
      summary: 'Save changes; processing_status may be saved or validated',
      allow: 'validators',
      body: {
        limit: 'record',
        schema: saveSchema,
        example: { customer_reference: 'PO 4711', processing_status: 'validated' },
      },
      answer: recordResponse('The order.'),
      honours: ['if-match'],
      errors: [409, 412],
      async handle({ commands }, { req, caller, tenant, path, body }) {
        const precondition = preconditionOf(req);
        if (precondition === undefined) return writtenReply(await saveOrder(commands, caller, path.id, body));
        const id = recordId(tenant.orderModel, path.id);
        const tagOfOrder = async (order: Order): Promise<string> =>
          tagOfText(await orderAnswer(commands, tenant, id, order, req.context.deadline));
        const saved = await saveOrder(commands, caller, id, body, async (order) =>
          requireOneOf(precondition, await tagOfOrder(order)),
        );
        return { ...writtenReply(saved), tag: await tagOfOrder(saved.order) };
      },
    },
    'GET /orders/:id/history': {
      id: 'platformListOrderHistory',
      ...historyList,
      allow: 'users',
      async handle(api, { req, tenant, path, query }) {
        const order = { tenant: tenant.name, id: recordId(tenant.orderModel, path.id) };
        const body = await historyPage(api, req, order, query);
        if (body === undefined) throw unknownOrder(order.id);
        return { body };
      },
    },
    'POST /orders/:id/approve': {
      work: 'document',
      id: 'platformApproveOrder',
      grows: CHANGES,
      summary: 'Approve an order that is validated or failed; it is then sent to the webhooks',
      description:
        'One with problems is refused with 422 and their messages. With {"override": true, "reason": "…"} it is sent without the missing objects. `warnings` has each webhook that may have an earlier export of the order or is disabled, and an order that no webhook wants.',
      allow: 'validators',
      body: { ...json.bodyOf(approveBody, { override: true, reason: 'The item follows tomorrow.' }), optional: true },
      answer: approvedResponse,
      honours: ['idempotency-key'],
      errors: [409],
      async handle({ commands }, { req, caller, path, user, body }) {
        const { reason } = parseBody(approveBody, body);
        const key = idempotencyKeyOf(req);
        const { record, position, isReplayed, ...warned } =
          key === undefined
            ? await approveOrder(commands, caller, path.id, user, reason)
            : await approveOrderOnce(commands, caller, path.id, user, reason, { key, body });
        const approved = JSON.stringify({ data: record, ...warningsOf(warned) });
        return { body: approved, written: position, changed: ONE_ORDER, isReplayed };
      },
    },
    'POST /orders/:id/reject': {
      id: 'platformRejectOrder',
      summary: 'Reject an order, which is not exported; its reasons are shown with it',
      allow: 'validators',
      body: { ...json.bodyOf(rejectBody, { reasons: ['Ordered twice.'] }), optional: true },
      answer: recordResponse('The order.'),
      errors: [409],
      async handle({ commands }, { caller, path, body }) {
        const { reasons } = parseBody(rejectBody, body);
        return writtenReply(await rejectOrder(commands, caller, path.id, reasons));
      },
    },
  },
};
