/**
 * Settings of the organisation: `/api/v1/platform/tenant`; customization of Reference Data (spec §1):
 * `/api/v1/platform/asset-types`.
 */
import { z } from 'zod';
import { parseBody } from '../../commands/body.js';
import { addAssetField, addAssetTable, fieldBody, tableBody } from '../../commands/identity/assetTypes.js';
import type { DirectoryChange } from '../../commands/identity/directoryWriter.js';
import { changeTenant } from '../../commands/identity/tenants.js';
import type { Tenant } from '../../domain/identity/directory.js';
import { ORDER_MODELS } from '../../domain/identity/events.js';
import { QUOTA_NAMES, QUOTAS, type Quota } from '../../domain/quotas.js';
import { RECOMMENDED_GUARD } from '../../domain/referenceTable/cleanUp.js';
import { describeAsset } from '../assets/info.js';
import type { Api } from '../deps.js';
import { known } from '../errors.js';
import * as json from '../openapi/schema.js';
import {
  type Call,
  dataReply,
  listReply,
  noContent,
  pathText,
  type Reply,
  type Resource,
} from '../routes/operation.js';

const integer = (least: number, most: number) =>
  z
    .number('must be a number.')
    .int('must be an integer.')
    .min(least, `must be at least ${least}.`)
    .max(most, `must be at most ${most}.`);
const rate = integer(1, 1_000_000);

/** Requests of each API client and each user: a second, and at once after a pause. */
const rateLimitBody = z.strictObject({ per_second: rate, burst: rate });

const cleanUpGuardBody = z.strictObject({
  max_percent: integer(0, 100).nullable(),
  /** Clean-ups of up to this many records need no confirmation. */
  min_records: z.int('must be an integer.').min(0, 'must be at least 0.').default(0),
});

type ShownQuota = { readonly limit: number | null; readonly used: number | null };
type ShownTenant = Tenant & { readonly shownQuotas: { readonly [name: string]: ShownQuota } };

const tenantView = json.view<ShownTenant>({
  name: json.text,
  display_name: json.text,
  order_model: json.oneOf(ORDER_MODELS),
  rate_limit: [
    json.orNull(json.ref('RateLimit')),
    ({ rateLimit }) => (rateLimit === undefined ? null : { per_second: rateLimit.perSecond, burst: rateLimit.burst }),
  ],
  clean_up_guard: [
    json.orNull(json.ref('CleanUpGuard')),
    ({ cleanUpGuard: guard }) =>
      guard === undefined ? null : { max_percent: guard.maxPercent, min_records: guard.minRecords ?? 0 },
  ],
  quotas: [json.ref('Quotas'), ({ shownQuotas }) => shownQuotas],
});

/** With what is used of the quotas: null while it is not known. */
async function tenantReply({ usage }: Api, tenant: Tenant): Promise<Reply> {
  const shown = async (quota: Quota) => {
    const limit = usage.limit(tenant, quota);
    const used = (await usage.now(tenant, quota)) ?? null;
    return [QUOTAS[quota].name, { limit: limit === 0 ? null : limit, used }] as const;
  };
  const shownQuotas = Object.fromEntries(await Promise.all(QUOTA_NAMES.map(shown)));
  return dataReply(tenantView.show({ ...tenant, shownQuotas }));
}

/** The table after a change. */
const changed = ({ tenant, position }: DirectoryChange, table: string): Reply =>
  dataReply(describeAsset(known(tenant?.assetTypes, table, 'table')), { written: position });

export const settings: Resource = {
  tag: 'platform: settings',
  pathParameters: { table: pathText('table') },
  schemas: {
    Tenant: tenantView.schema,
    QuotaUse: json.closedObject({
      limit: json.orNull(json.count),
      used: json.orNull(json.count),
    }),
    Quotas: json.closedObject(
      Object.fromEntries(QUOTA_NAMES.map((quota) => [QUOTAS[quota].name, json.ref('QuotaUse')])),
    ),
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
        return changed(await addAssetTable(api.commands, caller, body), parseBody(tableBody, body).name);
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
        return changed(await addAssetField(api.commands, caller, table, body), table);
      },
    },
    'GET /tenant': {
      id: 'platformGetTenant',
      summary: 'The organisation',
      allow: 'users',
      answer: json.one('Tenant'),
      handle: (api, { tenant }) => tenantReply(api, tenant),
    },
    'DELETE /tenant/rate-limit': {
      id: 'platformRemoveRateLimit',
      summary: "The operator's limit counts again",
      allow: 'admins',
      ...noContent(({ commands }, { caller }: Call) =>
        changeTenant(commands, caller, { type: 'RateLimitRemoved', data: {} }),
      ),
    },
    'PUT /tenant/rate-limit': {
      id: 'platformChangeRateLimit',
      summary: 'Requests a second of each API client and each user, and at once',
      description: "The operator's limit counts if this one is higher.",
      allow: 'admins',
      body: json.bodyOf(rateLimitBody, { per_second: 50, burst: 100 }),
      answer: json.one('Tenant'),
      async handle(api, { caller, tenant: before, body }) {
        const { per_second: perSecond, burst } = parseBody(rateLimitBody, body);
        const data = { perSecond, burst };
        const { tenant } = await changeTenant(api.commands, caller, { type: 'RateLimitChanged', data });
        return tenantReply(api, tenant ?? before);
      },
    },
    'PUT /tenant/clean-up-guard': {
      id: 'platformChangeCleanUpGuard',
      summary: 'Clean-ups that must be confirmed',
      description: `Clean-ups with a batch_id that no record has, and those that would delete more than this share of the table, are refused unless their \`confirm\` names the number of records; those of \`min_records\` or fewer never are. \`max_percent\` null, as in a new tenant: none are. Recommended: ${RECOMMENDED_GUARD.maxPercent} percent and ${RECOMMENDED_GUARD.minRecords} records.`,
      allow: 'admins',
      body: json.bodyOf(cleanUpGuardBody, { max_percent: 20, min_records: 10 }),
      answer: json.one('Tenant'),
      async handle(api, { caller, tenant: before, body }) {
        const { max_percent: maxPercent, min_records: minRecords } = parseBody(cleanUpGuardBody, body);
        const data = maxPercent === null ? { maxPercent } : { maxPercent, minRecords };
        const { tenant } = await changeTenant(api.commands, caller, { type: 'CleanUpGuardChanged', data });
        return tenantReply(api, tenant ?? before);
      },
    },
  },
};
