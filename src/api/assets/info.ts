/** What there is to know of assets: the list of them (spec §4.1) and the schema of each (spec §4.2). */
import type { Request, RequestHandler } from 'express';
import { ALWAYS_SORTABLE, type AssetField, type AssetType } from '../../domain/assetTypes/assetType.js';
import { LONG_TEXT_MAX_LENGTH, STRING_MAX_LENGTH } from '../../domain/assetTypes/fieldTypes.js';
import { scopeFor } from '../../domain/identity/scopes.js';
import type { ApiDeps } from '../deps.js';
import { recordInputSchema } from '../openapi/recordJsonSchema.js';
import { sendJson } from '../sendJson.js';
import { requestOrigin } from '../tenantHost.js';
import { allowedAsset } from './access.js';

const kindOf = (assetType: AssetType): 'reference' | 'master' => (assetType.supportingData ? 'reference' : 'master');

const linksOf = (base: string, assetType: AssetType) => ({
  info: `${base}/${assetType.name}/info`,
  assets: `${base}/${assetType.name}/assets`,
});

const heading = (assetType: AssetType) => ({
  name: assetType.name,
  label: assetType.label,
  description: assetType.description,
  kind: kindOf(assetType),
  supporting_data: assetType.supportingData,
});

const baseUrl = (req: Request, config: ApiDeps['config']): string => `${requestOrigin(req, config)}${req.baseUrl}`;

/** The assets that the token may read. */
export function listAssets({ config }: Pick<ApiDeps, 'config'>): RequestHandler {
  return (req, res) => {
    const { tenant, scopes } = req.context;
    const base = baseUrl(req, config);
    const data = [...tenant.assetTypes.values()]
      .filter((assetType) => scopes.has(scopeFor('read', assetType.supportingData)))
      .map((assetType) => ({ ...heading(assetType), links: linksOf(base, assetType) }));
    sendJson(res, 200, JSON.stringify({ data }));
  };
}

export function assetInfo({ config }: Pick<ApiDeps, 'config'>): RequestHandler {
  return (req, res) => {
    const assetType = allowedAsset(req, 'read');
    const data = { ...describeAsset(assetType), links: linksOf(baseUrl(req, config), assetType) };
    sendJson(res, 200, JSON.stringify({ data }));
  };
}

/** The schema of an asset, for info and for the console. */
export const describeAsset = (assetType: AssetType) => ({
  ...heading(assetType),
  unique_field: assetType.uniqueField ?? null,
  fields: [...systemFields, ...assetType.fields.map((field) => describeField(assetType, field))],
  relationships: assetType.relationships,
  json_schema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: assetType.label,
    description: assetType.description,
    ...recordInputSchema(assetType, 'create'),
  },
});

const describeField = (assetType: AssetType, field: AssetField) => ({
  name: field.name,
  label: field.label,
  type: field.type,
  required: field.required,
  nullable: !field.required,
  unique: field.name === assetType.uniqueField,
  filterable: field.filterable,
  sortable: field.sortable,
  read_only: field.readOnly === true,
  max_length: maxLengthOf(field),
  format: field.format ?? null,
  list: field.list === true,
  one_of: field.oneOf ?? null,
  custom: field.custom === true,
});

function maxLengthOf(field: AssetField): number | null {
  if (field.maxLength !== undefined) return field.maxLength;
  if (field.type === 'String') return STRING_MAX_LENGTH;
  return field.type === 'LongText' ? LONG_TEXT_MAX_LENGTH : null;
}

const systemFields = (
  [
    ['id', 'Id', 'String', 'uuid'],
    ['created_at', 'Created at', 'DateTime', null],
    ['updated_at', 'Updated at', 'DateTime', null],
  ] as const
).map(([name, label, type, format]) => ({
  name,
  label,
  type,
  required: false,
  nullable: false,
  unique: name === 'id',
  filterable: false,
  sortable: ALWAYS_SORTABLE.some((sortable) => sortable === name),
  read_only: true,
  max_length: format === 'uuid' ? 36 : null,
  format,
  list: false,
  one_of: null,
  custom: false,
}));
