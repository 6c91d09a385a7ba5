/** Customizing Reference Data (spec §1): `/api/v1/platform/asset-types`. */
import { addAssetField, addAssetTable, fieldBody, tableBody } from '../../commands/identity/assetTypes.js';
import { assetTypeOf, tenantOf } from '../../commands/tables.js';
import type { Position } from '../../ports/eventStore.js';
import { describeAsset } from '../assets/info.js';
import type { Api } from '../deps.js';
import * as json from '../openapi/schema.js';
import { dataReply, pathText, type Reply, type Resource } from '../routes/operation.js';

/** The table as it is after a change. */
function changed({ directory }: Api, tenant: string, table: string, written: Position): Reply {
  return dataReply(describeAsset(assetTypeOf(tenantOf({ directory }, tenant), table)), { written });
}

/** The name in a body that the command has accepted. */
const nameIn = (body: unknown): string =>
  typeof body === 'object' && body !== null && 'name' in body ? String(body.name) : '';

export const assetTypes: Resource = {
  tag: 'platform: settings',
  pathParameters: { table: pathText('table') },
  operations: {
    'GET /asset-types': {
      id: 'platform_list_asset_types',
      summary: 'All tables',
      allow: 'users',
      answer: json.all('AssetType'),
      handle: (_api, { tenant }) => dataReply([...tenant.assetTypes.values()].map(describeAsset)),
    },
    'POST /asset-types': {
      id: 'platform_add_table',
      summary: 'Add a reference table',
      allow: 'admins',
      body: {
        schema: json.inputSchema(tableBody),
        example: {
          name: 'dyn_carrier',
          label: 'Carriers',
          unique_field: 'external_id',
          fields: [{ name: 'external_id', type: 'String', required: true, filterable: true, sortable: true }],
        },
      },
      status: 201,
      answer: json.one('AssetType'),
      async handle(api, { caller, body }) {
        const written = await addAssetTable(api.commands, caller, body);
        return changed(api, caller.tenant, nameIn(body), written);
      },
    },
    'POST /asset-types/:table/fields': {
      id: 'platform_add_field',
      summary: 'Add a field to a reference table',
      allow: 'admins',
      body: {
        schema: json.inputSchema(fieldBody),
        example: { name: 'colour', type: 'String', filterable: true, sortable: true, max_length: 32 },
      },
      status: 201,
      answer: json.one('AssetType'),
      async handle(api, { caller, path: { table }, body }) {
        const written = await addAssetField(api.commands, caller, table, body);
        return changed(api, caller.tenant, table, written);
      },
    },
  },
};
