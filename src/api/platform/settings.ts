/**
 * Settings of the organisation: `/api/v1/platform/tenant`; customization of Reference Data (spec §1):
 * `/api/v1/platform/asset-types`.
 */
import { z } from 'zod';
import { parseBody } from '../../commands/body.js';
import { addAssetField, addAssetTable, fieldBody, tableBody } from '../../commands/identity/assetTypes.js';
import { changeCleanUpGuard, changeRateLimit, removeRateLimit } from '../../commands/identity/tenants.js';
import { assetTypeOf, tenantOf } from '../../commands/tables.js';
import type { Tenant } from '../../domain/identity/directory.js';
import { ORDER_MODELS } from '../../domain/identity/events.js';
import { GUARD_MIN_RECORDS, GUARD_PERCENT } from '../../domain/limits.js';
import type { Position } from '../../ports/eventStore.js';
import { describeAsset } from '../assets/info.js';
import type { Api } from '../deps.js';
import * as json from '../openapi/schema.js';
import {
  dataReply,
  listReply,
  noContent,
  pathText,
  type Reply,
  type Resource,
  type UserCall,
} from '../routes/operation.js';

const rate = z
  .number('must be a number.')
  .int('must be an integer.')
  .min(1, 'must be at least 1.')
  .max(1_000_000, 'must be at most 1000000.');

/** Requests of each API client and each user: a second, and at once after a pause. */
const rateLimitBody = z.strictObject({ per_second: rate, burst: rate });

const percent = z
  .number('must be a number.')
  .int('must be an integer.')
  .min(0, 'must be at least 0.')
  .max(100, 'must be at most 100.');

const cleanUpGuardBody = z.strictObject({
  max_percent: percent.nullable(),
  /** Clean-ups of up to this many records need no confirmation. */
  min_records: z.int('must be an integer.').min(0, 'must be at least 0.').default(0),
});

const tenantView = json.view<Tenant>({
  name: [json.text, ({ name }) => name],
  display_name: [json.text, ({ displayName }) => displayName],
  order_model: [json.oneOf(ORDER_MODELS), ({ orderModel }) => orderModel],
  rate_limit: [
    json.orNull(json.ref('RateLimit')),
    ({ rateLimit }) => (rateLimit === undefined ? null : { per_second: rateLimit.perSecond, burst: rateLimit.burst }),
  ],
  clean_up_guard: [
    json.orNull(json.ref('CleanUpGuard')),
    ({ cleanUpGuard: guard }) =>
      guard === undefined ? null : { max_percent: guard.maxPercent, min_records: guard.minRecords ?? 0 },
  ],
});

/** The table after a change. */
function changed({ commands }: Api, tenant: string, table: string, written: Position): Reply {
  return dataReply(describeAsset(assetTypeOf(tenantOf(commands, tenant), table)), { written });
}

export const settings: Resource = {
  tag: 'platform: settings',
  pathParameters: { table: pathText('table') },
  schemas: {
    Tenant: tenantView.schema,
    RateLimit: json.closedObject({ per_second: json.count, burst: json.count }),
    CleanUpGuard: json.closedObject({ max_percent: json.count, min_records: json.count }),
  },
  operations: {
    'GET /asset-types': {
      id: 'platformListAssetTypes',
      summary: 'All tables',
      allow: 'users',
      answer: json.all('AssetType'),
      handle: (_api, { tenant }) => listReply(tenant.assetTypes.values(), describeAsset),
    },
    'POST /asset-types': {
      id: 'platformAddTable',
      summary: 'Add a reference table',
      allow: 'admins',
      body: json.bodyOf(tableBody, {
        name: 'dyn_carrier',
        label: 'Carriers',
        unique_field: 'external_id',
        fields: [{ name: 'external_id', type: 'String', required: true, filterable: true, sortable: true }],
      }),
      status: 201,
      answer: json.one('AssetType'),
      async handle(api, { caller, body }) {
        const written = await addAssetTable(api.commands, caller, body);
        return changed(api, caller.tenant, parseBody(tableBody, body).name, written);
      },
    },
    'POST /asset-types/:table/fields': {
      id: 'platformAddField',
      summary: 'Add a field to a reference table',
      allow: 'admins',
      body: json.bodyOf(fieldBody, {
        name: 'colour',
        type: 'String',
        filterable: true,
        sortable: true,
        max_length: 32,
      }),
      status: 201,
      answer: json.one('AssetType'),
      async handle(api, { caller, path: { table }, body }) {
        const written = await addAssetField(api.commands, caller, table, body);
        return changed(api, caller.tenant, table, written);
      },
    },
    'GET /tenant': {
      id: 'platformGetTenant',
      summary: 'The organisation',
      allow: 'users',
      answer: json.one('Tenant'),
      handle: (_api, { tenant }) => dataReply(tenantView.show(tenant)),
    },
    'DELETE /tenant/rate-limit': {
      id: 'platformRemoveRateLimit',
      summary: "The operator's limit counts again",
      allow: 'admins',
      ...noContent(({ commands }, { caller }: UserCall) => removeRateLimit(commands, caller)),
    },
    'PUT /tenant/rate-limit': {
      id: 'platformChangeRateLimit',
      summary: 'Requests a second of each API client and each user, and at once',
      description: "The operator's limit counts if this one is higher.",
      allow: 'admins',
      body: json.bodyOf(rateLimitBody, { per_second: 50, burst: 100 }),
      answer: json.one('Tenant'),
      async handle({ commands }, { caller, body }) {
        const { per_second: perSecond, burst } = parseBody(rateLimitBody, body);
        await changeRateLimit(commands, caller, { perSecond, burst });
        return dataReply(tenantView.show(tenantOf(commands, caller.tenant)));
      },
    },
    'PUT /tenant/clean-up-guard': {
      id: 'platformChangeCleanUpGuard',
      summary: 'Clean-ups that must be confirmed',
      description: `Clean-ups with a batch_id that no record has, and those that would delete more than this share of the table, are refused unless their \`confirm\` names the number of records; those of \`min_records\` or fewer never are. \`max_percent\` null: none are. A new tenant has ${GUARD_PERCENT} percent and ${GUARD_MIN_RECORDS} records.`,
      allow: 'admins',
      body: json.bodyOf(cleanUpGuardBody, { max_percent: 20, min_records: 10 }),
      answer: json.one('Tenant'),
      async handle({ commands }, { caller, body }) {
        const { max_percent: maxPercent, min_records: minRecords } = parseBody(cleanUpGuardBody, body);
        await changeCleanUpGuard(commands, caller, maxPercent === null ? undefined : { maxPercent, minRecords });
        return dataReply(tenantView.show(tenantOf(commands, caller.tenant)));
      },
    },
  },
};
