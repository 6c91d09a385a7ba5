/** What there is to know of assets: the list of them (spec §4.1) and the schema of each (spec §4.2). */
import type { Request } from 'express';
import { ALWAYS_SORTABLE, type AssetField, type AssetType } from '../../domain/assetTypes/assetType.js';
import { FIELD_TYPES, LONG_TEXT_MAX_LENGTH, STRING_MAX_LENGTH } from '../../domain/assetTypes/fieldTypes.js';
import { scopeFor } from '../../domain/identity/scopes.js';
import type { ApiConfig } from '../deps.js';
import { recordInputSchema } from '../openapi/recordJsonSchema.js';
import {
  allResponse,
  closedObject,
  dataOf,
  jsonResponse,
  link,
  listOf,
  nullableText,
  oneOf,
  orNull,
  type Schemas,
  schemaRef,
  text,
  truth,
} from '../openapi/schema.js';
import { dataReply, type Resource } from '../routes/operation.js';
import { requestOrigin } from '../tenantHost.js';
import { ASSETS_PATH } from './table.js';

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

const baseUrl = (req: Request, config: ApiConfig): string => `${requestOrigin(req, config)}${ASSETS_PATH}`;

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

const headingSchema = {
  name: text,
  label: text,
  description: text,
  kind: oneOf(['reference', 'master']),
  supporting_data: truth,
};

const schemas: Schemas = {
  Asset: closedObject({ ...headingSchema, links: closedObject({ info: link, assets: link }) }),
  AssetType: closedObject({
    ...headingSchema,
    unique_field: nullableText,
    fields: listOf(schemaRef('AssetField')),
    relationships: listOf(
      closedObject({ name: text, kind: oneOf(['belongs_to', 'has_many']), table: text, field: text, key: text }),
    ),
    json_schema: { type: 'object', description: 'Body of a create, as JSON Schema 2020-12.' },
  }),
  AssetField: closedObject({
    name: text,
    label: text,
    type: oneOf(FIELD_TYPES),
    required: truth,
    nullable: truth,
    unique: truth,
    filterable: truth,
    sortable: truth,
    read_only: truth,
    max_length: { type: ['integer', 'null'], description: 'In characters.' },
    format: nullableText,
    list: truth,
    one_of: orNull(listOf(text)),
    custom: { type: 'boolean', description: 'Added by the organisation.' },
  }),
};

export const assetInfo: Resource = {
  tag: 'assets',
  schemas,
  operations: [
    {
      method: 'get',
      path: '/',
      id: 'list_assets',
      summary: 'The assets that the token may read',
      allow: 'clients',
      answer: allResponse('Asset'),
      handle({ config }, { req, tenant, scopes }) {
        const base = baseUrl(req, config);
        const isReadable = ({ supportingData }: AssetType) => scopes.has(scopeFor('read', supportingData));
        const readable = [...tenant.assetTypes.values()].filter(isReadable);
        return dataReply(readable.map((assetType) => ({ ...heading(assetType), links: linksOf(base, assetType) })));
      },
    },
    {
      method: 'get',
      path: '/:table/info',
      id: 'info',
      summary: 'Fields and relationships',
      allow: 'read',
      answer: jsonResponse('The schema of the asset.', dataOf(schemaRef('AssetType'))),
      handle: ({ config }, { req, assetType }) =>
        dataReply({ ...describeAsset(assetType), links: linksOf(baseUrl(req, config), assetType) }),
    },
  ],
};
