/** The organisation itself: `/api/v1/platform/tenant`. */
import { z } from 'zod';
import { parseBody } from '../../commands/body.js';
import { changeRateLimit } from '../../commands/identity/tenants.js';
import { tenantOf } from '../../commands/tables.js';
import type { Tenant } from '../../domain/identity/directory.js';
import { ORDER_MODELS } from '../../domain/identity/events.js';
import { closedObject, count, inputSchema, oneOf, oneResponse, orNull, type Schemas, text } from '../openapi/schema.js';
import { dataReply, type Resource } from '../routes/operation.js';

const rate = z
  .number('must be a number.')
  .int('must be an integer.')
  .min(1, 'must be at least 1.')
  .max(1_000_000, 'must be at most 1000000.');

/** Requests a second that each API client may make for ever, and at once after a pause. */
const rateLimitBody = z.strictObject({ per_second: rate, burst: rate });

const tenantView = ({ name, displayName, orderModel, rateLimit }: Tenant) => ({
  name,
  display_name: displayName,
  order_model: orderModel,
  rate_limit: rateLimit === undefined ? null : { per_second: rateLimit.perSecond, burst: rateLimit.burst },
});

const schemas: Schemas = {
  Tenant: closedObject({
    name: text,
    display_name: text,
    order_model: oneOf(ORDER_MODELS),
    rate_limit: orNull(closedObject({ per_second: count, burst: count })),
  }),
};

export const organisation: Resource = {
  tag: 'platform: settings',
  schemas,
  operations: [
    {
      method: 'get',
      path: '/tenant',
      id: 'platform_tenant',
      summary: 'The organisation',
      allow: 'users',
      answer: oneResponse('Tenant'),
      handle: (_api, { tenant }) => dataReply(tenantView(tenant)),
    },
    {
      method: 'put',
      path: '/tenant/rate-limit',
      id: 'platform_change_rate_limit',
      summary: 'Requests that each API client may make a second, and at once',
      allow: 'admins',
      body: { schema: inputSchema(rateLimitBody), example: { per_second: 50, burst: 100 } },
      answer: oneResponse('Tenant'),
      async handle({ commands, directory }, { caller, body }) {
        const { per_second: perSecond, burst } = parseBody(rateLimitBody, body);
        await changeRateLimit(commands, caller, { perSecond, burst });
        return dataReply(tenantView(tenantOf({ directory }, caller.tenant)));
      },
    },
  ],
};
