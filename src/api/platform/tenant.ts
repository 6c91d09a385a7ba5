/** The organisation itself: `/api/v1/platform/tenant`. */
import { z } from 'zod';
import { parseBody } from '../../commands/body.js';
import { changeRateLimit } from '../../commands/identity/tenants.js';
import { tenantOf } from '../../commands/tables.js';
import type { Tenant } from '../../domain/identity/directory.js';
import { ORDER_MODELS } from '../../domain/identity/events.js';
import * as json from '../openapi/schema.js';
import { dataReply, type Resource } from '../routes/operation.js';

const rate = z
  .number('must be a number.')
  .int('must be an integer.')
  .min(1, 'must be at least 1.')
  .max(1_000_000, 'must be at most 1000000.');

/** Requests that each API client may make: each second without end, and at once after a pause. */
const rateLimitBody = z.strictObject({ per_second: rate, burst: rate });

const tenantView = json.view<Tenant>({
  name: [json.text, (tenant) => tenant.name],
  display_name: [json.text, (tenant) => tenant.displayName],
  order_model: [json.oneOf(ORDER_MODELS), (tenant) => tenant.orderModel],
  rate_limit: [
    json.orNull(json.closedObject({ per_second: json.count, burst: json.count })),
    ({ rateLimit }) => (rateLimit === undefined ? null : { per_second: rateLimit.perSecond, burst: rateLimit.burst }),
  ],
});

export const organisation: Resource = {
  tag: 'platform: settings',
  schemas: { Tenant: tenantView.schema },
  operations: {
    'GET /tenant': {
      id: 'platform_tenant',
      summary: 'The organisation',
      allow: 'users',
      answer: json.one('Tenant'),
      handle: (_api, { tenant }) => dataReply(tenantView.show(tenant)),
    },
    'PUT /tenant/rate-limit': {
      id: 'platform_change_rate_limit',
      summary: 'Requests that each API client may make a second, and at once',
      allow: 'admins',
      body: { schema: json.inputSchema(rateLimitBody), example: { per_second: 50, burst: 100 } },
      answer: json.one('Tenant'),
      async handle({ commands, directory }, { caller, body }) {
        const { per_second: perSecond, burst } = parseBody(rateLimitBody, body);
        await changeRateLimit(commands, caller, { perSecond, burst });
        return dataReply(tenantView.show(tenantOf({ directory }, caller.tenant)));
      },
    },
  },
};
