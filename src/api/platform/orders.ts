/** Validation of orders by users: `/api/v1/platform/orders`. */
import { z } from 'zod';
import { parseBody } from '../../commands/body.js';
import { NotFoundError } from '../../commands/context.js';
import { approveOrder, rejectOrder, saveOrder } from '../../commands/orders/lifecycle.js';
import { loadOrder } from '../../commands/orders/loadOrder.js';
import { exportSnapshot } from '../../commands/orders/orderWriter.js';
import { requireOneOf, tagOf } from '../../commands/preconditions.js';
import { recordId } from '../../commands/tables.js';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { recordOutputSchema } from '../../domain/assetTypes/outputSchema.js';
import { boundedList, withinListBytes } from '../../domain/boundedList.js';
import type { Tenant } from '../../domain/identity/directory.js';
import { MAX_LIST_ENTRIES, MAX_REASON_LENGTH } from '../../domain/limits.js';
import { approverOf, wholeOrder } from '../../domain/order/exportDocument.js';
import type { Order } from '../../domain/order/order.js';
import { problemsOf } from '../../domain/order/problems.js';
import { ACTIONS, actionsOn, SET_BY_SAVING } from '../../domain/order/status.js';
import type { RecordQueries } from '../../queries/records.js';
import { historyList, historyReply } from '../assets/history.js';
import { AT, atPosition, readAt } from '../assets/moments.js';
import { writtenReply } from '../assets/records.js';
import { orderReplay, problemView, replayReply } from '../assets/replay.js';
import { preconditionOf } from '../entityTags.js';
import { exportOfOrder, exportReply } from '../export/orderExport.js';
import { recordInputSchema } from '../openapi/records.js';
import * as json from '../openapi/schema.js';
import { CHANGES, RECORD_ID, type Resource } from '../routes/operation.js';

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

/** An approval without a body overrides nothing. */
const approveBody = z
  .strictObject({ override: z.boolean('must be true or false.').default(false), reason: reasonText.optional() })
  .refine(({ override, reason }) => override === (reason !== undefined), {
    path: ['reason'],
    error: 'is required with "override": true, and allowed only with it.',
  });

const unknownOrder = (id: string): NotFoundError => new NotFoundError(`There is no order ${id}.`);

function saveSchema(orderType: AssetType): json.JsonSchema {
  return json.extended(recordInputSchema(orderType, 'update'), { processing_status: json.oneOf(SET_BY_SAVING) });
}

const warning = json.closedObject({
  code: json.oneOf(['no_webhook', 'webhook_disabled']),
  webhook_id: json.orNull(json.uuid),
  message: json.text,
});

/** Why an order that is approved now would not be sent at once. */
function warningsOf({ webhooks }: Pick<Tenant, 'webhooks'>): readonly object[] {
  const wanting = [...webhooks.values()].filter(({ events }) => events.includes('order.approved'));
  const message = 'No webhook subscribes to order.approved, so the order is sent to nobody.';
  if (wanting.length === 0) return [{ code: 'no_webhook', webhook_id: null, message }];
  return wanting.flatMap(({ id, name, disabled }) => {
    if (disabled === undefined) return [];
    const why = `Webhook ${name} is disabled: ${disabled.reason} The order is sent to it when it is enabled.`;
    return [{ code: 'webhook_disabled', webhook_id: id, message: why }];
  });
}

/**
 * Has the form of the export that an approval would send (spec §2.3), with the order's own status, reasons and
 * approval. The answer's tag is made of its bytes, so it changes with the order's parts and with the records they name.
 */
async function orderAnswer(
  records: Pick<RecordQueries, 'find'>,
  tenant: Tenant,
  orderId: string,
  order: Order,
): Promise<string> {
  const { assetTypes, users } = tenant;
  const snapshot = await exportSnapshot(records, tenant, orderId, order);
  // Undefined if nobody approved it, or the user was removed since.
  const user = users.get(Number(order.fields.approved_by ?? 0));
  const actions = actionsOn(order.status);
  const more = {
    approver: user === undefined ? null : approverOf(user),
    problems: problemsOf(snapshot, assetTypes),
    warnings: actions.length > 0 ? warningsOf(tenant) : [],
    actions,
  };
  return JSON.stringify({ data: { ...wholeOrder(snapshot, assetTypes), ...more } });
}

/** The order's fields, and the record or list of each relationship. */
function orderDocumentResponse(orderType: AssetType): json.ResponseObject {
  const { required, ...record } = recordOutputSchema(orderType);
  const relations = orderType.relationships.map(({ name, kind }): [string, json.JsonSchema] => [
    name,
    kind === 'has_many' ? json.listOf(json.ref('AnyRecord')) : json.orNull(json.ref('AnyRecord')),
  ]);
  const more = {
    ...Object.fromEntries(relations),
    approver: json.orNull(json.ref('Approver')),
    problems: json.listOf(json.ref('OrderProblem')),
    warnings: json.listOf(json.ref('ExportWarning')),
    actions: {
      ...json.listOf(json.oneOf(Object.keys(ACTIONS))),
      description: 'What validators may do with an order in this state.',
    },
  };
  const all = [...(Array.isArray(required) ? required : []), ...Object.keys(more)];
  return json.answer('The order.', json.dataOf({ ...json.extended(record, more), required: all }));
}

const approver = json.closedObject({
  id: json.count,
  first_name: json.text,
  last_name: json.text,
  locale: json.text,
  email: json.text,
});

const orderResponse =
  (kind: 'record' | 'whole') =>
  (orderType: AssetType): json.ResponseObject =>
    json.answer('The order.', json.dataOf(json.tableRef(kind, orderType)));

const approvedResponse = (orderType: AssetType): json.ResponseObject =>
  json.answer('The order.', {
    type: 'object',
    properties: { data: json.tableRef('record', orderType), warnings: json.listOf(json.ref('ExportWarning')) },
    required: ['data', 'warnings'],
  });

export const orders: Resource = {
  tag: 'platform: orders',
  schemas: { OrderProblem: problemView.schema, ExportWarning: warning, Approver: approver },
  pathParameters: { id: { ...RECORD_ID, name: 'order_id' } },
  operations: {
    'GET /orders/:id': {
      work: 'costly',
      id: 'platformGetOrder',
      summary: 'An order with its parts and the records they name',
      allow: 'users',
      query: [AT],
      answer: orderDocumentResponse,
      // Reads the order's stream, not the rows.
      async handle(api, { req, tenant, path, query }) {
        const id = recordId(tenant.orderModel, path.id);
        // As it was, with its parts and the records that they named, as these were.
        const { reads, position } = await readAt(api, req, query);
        const until = { position, cancellation: req.context.deadline };
        const order = await loadOrder(api.commands.eventStore, tenant.name, id, until);
        if (order === undefined) throw unknownOrder(id);
        const headers = position === undefined ? undefined : atPosition(position);
        return { body: await orderAnswer(reads, tenant, id, order.state), headers };
      },
    },
    'PUT /orders/:id': {
      work: 'costly',
      id: 'platformSaveOrder',
      grows: CHANGES,
      summary: 'Save changes; processing_status may be saved or validated',
      description:
        'Fields that the body lacks stay. A list of parts, such as lines, replaces the present ones: a part with a known id is changed by the fields it has, one without an id is added, and missing ones are removed.',
      allow: 'validators',
      body: {
        limit: 'record',
        schema: saveSchema,
        example: { customer_reference: 'PO 4711', processing_status: 'validated' },
      },
      answer: orderResponse('whole'),
      honours: ['if-match'],
      async handle({ commands, queries }, { req, caller, tenant, path, body }) {
        const precondition = preconditionOf(req);
        if (precondition === undefined) return writtenReply(await saveOrder(commands, caller, path.id, body));
        const id = recordId(tenant.orderModel, path.id);
        const tagOfOrder = async (order: Order): Promise<string> =>
          tagOf(await orderAnswer(queries.records, tenant, id, order));
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
      handle(api, call, cancellation) {
        const id = recordId(call.tenant.orderModel, call.path.id);
        return historyReply(api, call, { id, unknown: unknownOrder(id) }, cancellation);
      },
    },
    'GET /orders/:id/replay': {
      id: 'platformReplayOrder',
      ...orderReplay,
      allow: 'adminsAndAuditors',
      async handle(api, call) {
        const id = recordId(call.tenant.orderModel, call.path.id);
        return replayReply(api, call, id, unknownOrder(id));
      },
    },
    'GET /orders/:id/export': {
      id: 'platformExportOrder',
      ...exportOfOrder,
      // It is noted in the log.
      grows: ['logBytes'],
      allow: 'adminsAndAuditors',
      handle: exportReply,
    },
    'POST /orders/:id/approve': {
      work: 'costly',
      id: 'platformApproveOrder',
      grows: CHANGES,
      summary: 'Approve an order that is validated or failed; it is then sent to the webhooks',
      description:
        'One with problems is refused with 422 and their messages. With {"override": true, "reason": "…"} it is sent without the missing objects. `warnings` says that no webhook wants it, or which one is disabled.',
      allow: 'validators',
      body: { ...json.bodyOf(approveBody, { override: true, reason: 'The item follows tomorrow.' }), optional: true },
      answer: approvedResponse,
      async handle({ commands }, { caller, tenant, path, body, person }) {
        const { reason } = parseBody(approveBody, body);
        const { record: data, position } = await approveOrder(commands, caller, path.id, person, reason);
        return { body: JSON.stringify({ data, warnings: warningsOf(tenant) }), written: position };
      },
    },
    'POST /orders/:id/reject': {
      id: 'platformRejectOrder',
      summary: 'Reject an order, which is not exported; its reasons are shown with it',
      allow: 'validators',
      body: { ...json.bodyOf(rejectBody, { reasons: ['Ordered twice.'] }), optional: true },
      answer: orderResponse('record'),
      async handle({ commands }, { caller, path, body }) {
        const { reasons } = parseBody(rejectBody, body);
        return writtenReply(await rejectOrder(commands, caller, path.id, reasons));
      },
    },
  },
};
