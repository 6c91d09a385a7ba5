/** Approves many orders in one request: `/api/v1/platform/orders/approve`. */
import { z } from 'zod';
import { parseBody } from '../../commands/body.js';
import { approveOrder } from '../../commands/orders/lifecycle.js';
import { boundedList } from '../../domain/boundedList.js';
import { MAX_ENTRIES } from '../../domain/limits.js';
import { idempotencyKeyOf } from '../changeOptions.js';
import { answerTo } from '../errors.js';
import { EXAMPLE_ID } from '../openapi/records.js';
import * as json from '../openapi/schema.js';
import { warnings, warningsOf } from '../orderWarnings.js';
import { CHANGES, dataReply, type Resource } from '../routes/operation.js';

/** Each approval reads the records that its order names; one deadline covers them all. */
const AT_ONCE = 8;

const approveBody = z.strictObject({
  ids: boundedList({
    element: z.guid('must be a UUID.'),
    max: MAX_ENTRIES,
    type: 'must be an array of ids.',
    entries: 'orders',
    min: [1, 'must have at least 1 order.'],
  }),
});

/** Each order has a key of its own. One that was sent has no space. */
const keyOfOrder = (key: string, id: string): string => `${key} ${id.toLowerCase()}`;

const outcome: json.JsonSchema = {
  type: 'object',
  properties: {
    id: json.uuid,
    status: { type: 'integer' },
    message: json.text,
    error: json.text,
    errors: { type: 'object', additionalProperties: json.listOf(json.text) },
    warnings,
  },
  required: ['id', 'status'],
};

export const approvals: Resource = {
  tag: 'platform: orders',
  schemas: { OrderApproval: outcome },
  operations: {
    'POST /orders/approve': {
      id: 'platformApproveOrders',
      grows: CHANGES,
      work: 'costly',
      summary: `Approve up to ${MAX_ENTRIES} orders, each answered by itself`,
      description:
        'Orders with problems, or in another state, are reported with their reasons; the others are approved. With an Idempotency-Key, orders that the same request approved before are answered as before.',
      allow: 'validators',
      body: json.bodyOf(approveBody, { ids: [EXAMPLE_ID] }),
      answer: json.answer(
        'The outcome for each order, in the order of the ids.',
        json.dataOf(json.listOf(json.ref('OrderApproval'))),
      ),
      honours: ['idempotency-key'],
      async handle({ commands, log }, { req, caller, body, person: user }) {
        const { ids } = parseBody(approveBody, body);
        const key = idempotencyKeyOf(req);
        let [written, replayed, approvedNow] = [0, 0, 0];
        const approve = async (id: string): Promise<object> => {
          try {
            const keyed = { key: key && keyOfOrder(key, id), body };
            const { position, isReplayed, ...warned } = await approveOrder(
              commands,
              caller,
              id,
              user,
              undefined,
              keyed,
            );
            written = Math.max(written, position);
            if (isReplayed === true) replayed += 1;
            else approvedNow += 1;
            return { id, status: 200, ...warningsOf(warned) };
          } catch (error) {
            const known = answerTo(error);
            if (known !== undefined) return { id, status: known.status, ...known.body };
            const { ids: requestIds } = req.context;
            log.error({ err: error, ...requestIds, order: id }, 'an order could not be approved');
            return { id, status: 500, message: 'Server error', error: requestIds.requestId };
          }
        };
        const outcomes: object[] = [];
        for (let from = 0; from < ids.length; from += AT_ONCE) {
          outcomes.push(...(await Promise.all(ids.slice(from, from + AT_ONCE).map(approve))));
        }
        return dataReply(outcomes, { written, isReplayed: replayed > 0 && approvedNow === 0 });
      },
    },
  },
};
