/** The validators' operations on orders, in the words of the tenant's order model. */
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { SET_BY_SAVING } from '../../domain/order/status.js';
import { QUEUES } from '../platform/orderReads.js';
import { rejectBody } from '../platform/orders.js';
import { listParameters } from './assetPaths.js';
import { EXAMPLE_ID, recordExample } from './examples.js';
import { inputSchema } from './inputSchema.js';
import { parameterRef } from './parameters.js';
import { PLATFORM, platformOperation } from './platformOperation.js';
import { dataOf, type JsonSchema, jsonResponse, type Parameter, type Paths, pageOf, schemaRef } from './types.js';

const QUEUE: Parameter = {
  name: 'queue',
  in: 'query',
  description: 'Orders that a validator has to look at, or those that have left.',
  schema: { type: 'string', enum: [...QUEUES.keys()], default: 'to_validate' },
};

/** @param orderType the asset type of the tenant's order model */
export function orderPaths(orderType: AssetType): Paths {
  const order = jsonResponse('The order.', dataOf(schemaRef(orderType.name)), { data: recordExample(orderType) });
  const id = parameterRef('OrderId');
  const operation = (given: Omit<Parameters<typeof platformOperation>[0], 'tag'>) =>
    platformOperation({ ...given, tag: 'orders' });
  return {
    [`${PLATFORM}/orders`]: {
      get: operation({
        id: 'list_orders',
        summary: 'Orders to validate, or the archive',
        parameters: [QUEUE, ...listParameters(orderType)],
        answer: jsonResponse('A page of orders.', pageOf(schemaRef(orderType.name))),
        errors: [400],
      }),
    },
    [`${PLATFORM}/orders/{order_id}`]: {
      parameters: [id],
      get: operation({
        id: 'get_order',
        summary: 'An order with its parts and the records they name',
        answer: jsonResponse('The order.', dataOf(expandedOrder(orderType))),
      }),
      put: operation({
        id: 'save_order',
        summary: 'Save changes; processing_status may be saved or validated',
        body: {
          schema: {
            allOf: [
              schemaRef(`${orderType.name}.update`),
              { properties: { processing_status: { enum: SET_BY_SAVING } } },
            ],
          },
          example: { customer_reference: 'PO 4711', processing_status: 'validated' },
        },
        answer: order,
        errors: [409],
      }),
    },
    [`${PLATFORM}/orders/{order_id}/history`]: {
      parameters: [id],
      get: operation({
        id: 'order_history',
        summary: 'What happened to an order',
        parameters: [parameterRef('Page'), parameterRef('PerPage')],
        answer: jsonResponse('A page of events, oldest first.', pageOf(schemaRef('HistoryEntry'))),
        errors: [400],
      }),
    },
    [`${PLATFORM}/orders/{order_id}/approve`]: {
      parameters: [id],
      post: operation({
        id: 'approve_order',
        summary: 'Approve an order that is validated or failed; it is then sent to the webhooks',
        answer: order,
        errors: [409],
      }),
    },
    [`${PLATFORM}/orders/{order_id}/reject`]: {
      parameters: [id],
      post: operation({
        id: 'reject_order',
        summary: 'Reject an order: it need not be exported',
        body: { schema: inputSchema(rejectBody), example: { reasons: ['Ordered twice.'] }, optional: true },
        answer: order,
        errors: [409],
      }),
    },
  };
}

/** The order's record, and an object or a list for each of its relationships. */
function expandedOrder(orderType: AssetType): JsonSchema {
  const relations = orderType.relationships.map(({ name, kind }): [string, JsonSchema] => [
    name,
    kind === 'has_many' ? { type: 'array', items: { type: 'object' } } : { type: ['object', 'null'] },
  ]);
  const approver: JsonSchema = { description: 'The user who approved.', type: ['object', 'null'] };
  return {
    type: 'object',
    properties: {
      id: { type: 'string', format: 'uuid', examples: [EXAMPLE_ID] },
      ...Object.fromEntries(relations),
      approver,
    },
    required: ['id', ...relations.map(([name]) => name), 'approver'],
    description: `The fields of ${orderType.name}, and what belongs to it.`,
  };
}
