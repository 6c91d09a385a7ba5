/**
 * Settings of the organisation: `/api/v1/platform/tenant`; customization of Reference Data (spec §1):
 * `/api/v1/platform/asset-types`.
 */
import { z } from 'zod';
import { parseBody } from '../../commands/body.js';
import {
  addAssetField,
  addAssetTable,
  fieldBody,
  labelAssetType,
  labelsBody,
  retireAssetField,
  retiredBody,
  tableBody,
} from '../../commands/identity/assetTypes.js';
import type { DirectoryChange, DirectoryWrite } from '../../commands/identity/directoryWriter.js';
import { changeTenant, type SettingEvent } from '../../commands/identity/tenants.js';
import { known } from '../../commands/tables.js';
import type { Tenant } from '../../domain/identity/directory.js';
import { ORDER_MODELS } from '../../domain/identity/events.js';
import { RECOMMENDED_GUARD } from '../../domain/referenceTable/cleanUp.js';
import { describeAsset } from '../assets/info.js';
import type { Api } from '../deps.js';
import * as json from '../openapi/schema.js';
import { type QuotaUses, quotaSchemas, quotaUses } from '../quotas.js';
import { dataReply, type Handler, listReply, pathText, type Reply, type Resource } from '../routes/operation.js';

const integer = (least: number, most: number) =>
  z.int('must be an integer.').min(least, `must be at least ${least}.`).max(most, `must be at most ${most}.`);
const rate = integer(1, 1_000_000);

const settingsBody = z
  .strictObject({
    rate_limit: z.strictObject({ per_second: rate, burst: rate }).nullable(),
    clean_up_guard: z
      .strictObject({ max_percent: integer(0, 100), min_records: integer(0, Number.MAX_SAFE_INTEGER).default(0) })
      .nullable(),
  })
  .partial();

/** null ends a setting. */
function settingEvents({ rate_limit: limit, clean_up_guard: guard }: z.output<typeof settingsBody>): SettingEvent[] {
  const events: SettingEvent[] = [];
  if (limit === null) events.push({ type: 'RateLimitRemoved', data: {} });
  else if (limit) events.push({ type: 'RateLimitChanged', data: { perSecond: limit.per_second, burst: limit.burst } });
  if (guard === null) events.push({ type: 'CleanUpGuardChanged', data: { maxPercent: null } });
  else if (guard)
    events.push({
      type: 'CleanUpGuardChanged',
      data: { maxPercent: guard.max_percent, minRecords: guard.min_records },
    });
  return events;
}

type ShownTenant = Tenant & { readonly quotaUses: QuotaUses };

const tenantView = json.view<ShownTenant>({
  name: json.text,
  display_name: json.text,
  order_model: json.oneOf(ORDER_MODELS),
  rate_limit: [
    json.orNull(json.ref('RateLimit')),
    ({ rateLimit }) => (rateLimit ? { per_second: rateLimit.perSecond, burst: rateLimit.burst } : null),
  ],
  clean_up_guard: [
    json.orNull(json.ref('CleanUpGuard')),
    ({ cleanUpGuard: guard }) => (guard ? { max_percent: guard.maxPercent, min_records: guard.minRecords ?? 0 } : null),
  ],
  quotas: [json.ref('Quotas'), ({ quotaUses }) => quotaUses],
});

const tenantReply = async ({ usage }: Api, tenant: Tenant): Promise<Reply> =>
  dataReply(tenantView.show({ ...tenant, quotaUses: await quotaUses(usage, tenant) }));

/** The table after a change. */
const changed = ({ tenant, position }: DirectoryChange, table: string): Reply =>
  dataReply(describeAsset(known(tenant?.assetTypes, table, 'table')), { written: position });

const changing =
  (change: DirectoryWrite<[table: string, body: unknown, field: string]>): Handler =>
  async ({ commands }, { caller, path: { table, id }, body }) =>
    changed(await change(commands, caller, table, body, id), table);

export const settings: Resource = {
  tag: 'settings',
  pathParameters: { table: pathText('table'), id: pathText('field') },
  schemas: {
    Tenant: tenantView.schema,
    ...quotaSchemas,
    RateLimit: json.closedObject({ per_second: json.count, burst: json.count }),
    CleanUpGuard: json.closedObject({ max_percent: json.count, min_records: json.count }),
  },
  operations: {
    'GET /asset-types': {
      id: 'listAssetTypes',
      summary: 'All tables',
      allow: 'users',
      answer: json.all('AssetType'),
      handle: (_api, { tenant }) => listReply(tenant.assetTypes.values(), describeAsset),
    },
    'POST /asset-types': {
      id: 'addTable',
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
      id: 'addField',
      summary: 'Add a field to a reference table',
      allow: 'admins',
      body: json.bodyOf(fieldBody, {
        name: 'carrier_id',
        type: 'String',
        filterable: true,
        sortable: true,
        refers_to: 'dyn_party',
      }),
      status: 201,
      answer: json.one('AssetType'),
      handle: changing(addAssetField),
    },
    'PUT /asset-types/:table/fields/:id': {
      id: 'retireField',
      summary: 'Retire a field that was added, or take it back',
      description:
        'Bodies that name it are refused; history, `at=` and `compare` go on showing its values. Taken back, it has them again.',
      allow: 'admins',
      body: json.bodyOf(retiredBody, { retired: true }),
      answer: json.one('AssetType'),
      handle: changing(retireAssetField),
    },
    'PUT /asset-types/:table/labels': {
      id: 'setLabels',
      summary: 'Set the labels that people read in their language, of the table and its fields',
      description: 'All of them: what the body lacks has its own label again. The API goes on using names.',
      allow: 'admins',
      body: json.bodyOf(labelsBody, { table: { nl: 'Artikelen' }, fields: { name: { nl: 'Naam' } } }),
      answer: json.one('AssetType'),
      handle: changing(labelAssetType),
    },
    'GET /tenant': {
      id: 'getTenant',
      summary: 'The organisation',
      allow: 'users',
      answer: json.one('Tenant'),
      handle: (api, { tenant }) => tenantReply(api, tenant),
    },
    'PUT /tenant': {
      id: 'changeTenant',
      summary: 'Change the settings that the body has; null ends one',
      description: `\`rate_limit\`: requests a second of each API client and each user, and at once; the operator's counts if it is lower. \`clean_up_guard\`: clean-ups with a batch_id that no record has, and those that would delete more than \`max_percent\` of the table, are refused unless their \`confirm\` names the number of records; those of \`min_records\` or fewer never are. Recommended: ${RECOMMENDED_GUARD.maxPercent} percent and ${RECOMMENDED_GUARD.minRecords} records.`,
      allow: 'admins',
      body: json.bodyOf(settingsBody, {
        rate_limit: { per_second: 50, burst: 100 },
        clean_up_guard: { max_percent: 20, min_records: 10 },
      }),
      answer: json.one('Tenant'),
      async handle(api, { caller, tenant: before, body }) {
        const events = settingEvents(parseBody(settingsBody, body));
        const { tenant } = await changeTenant(api.commands, caller, events);
        return tenantReply(api, tenant ?? before);
      },
    },
  },
};
