/** The list of assets (spec §4.1) and the schema of each (spec §4.2). */
import type { Request } from 'express';
import { assetTypeOf } from '../../commands/tables.js';
import type { Config } from '../../config.js';
import { type AssetField, type AssetType, LANGUAGES } from '../../domain/assetTypes/assetType.js';
import { FIELD_TYPES, fieldRules } from '../../domain/assetTypes/fieldTypes.js';
import { recordInputSchema } from '../../domain/assetTypes/outputSchema.js';
import { scopeFor } from '../../domain/identity/scopes.js';
import * as json from '../openapi/schema.js';
import { dataReply, READ, type Resource } from '../routes/operation.js';
import { requestOrigin } from '../tenantHost.js';
import { AT, readAt } from './moments.js';

export const ASSETS_PATH = '/api/v1/dynamic-assets/dyn';

const headingView = json.view<AssetType>({
  name: json.text,
  label: json.text,
  description: json.text,
  kind: [json.oneOf(['reference', 'master']), ({ supportingData }) => (supportingData ? 'reference' : 'master')],
  supporting_data: json.truth,
});

type DescribedField = AssetField & { readonly nullable: boolean; readonly unique: boolean };

const fieldView = json.view<DescribedField>({
  name: json.text,
  label: json.text,
  type: json.oneOf(FIELD_TYPES),
  required: json.truth,
  nullable: json.truth,
  unique: json.truth,
  filterable: json.truth,
  sortable: json.truth,
  read_only: [json.truth, ({ readOnly }) => readOnly === true],
  max_length: [
    { type: ['integer', 'null'], description: 'In characters.' },
    ({ type, maxLength = fieldRules(type).maxLength }) => maxLength ?? null,
  ],
  format: json.nullableText,
  list: [json.truth, ({ list }) => list === true],
  one_of: json.orNull(json.listOf(json.text)),
  custom: [{ type: 'boolean', description: 'Added by the organisation.' }, ({ custom }) => custom === true],
});

const systemField = { required: false, nullable: false, filterable: false, sortable: false, readOnly: true } as const;
const timeField = { ...systemField, type: 'DateTime', unique: false, sortable: true } as const;

/** Fields of every record (spec §2.1). */
const SYSTEM_FIELDS: readonly DescribedField[] = [
  { ...systemField, name: 'id', label: 'Id', type: 'String', unique: true, format: 'uuid', maxLength: 36 },
  { ...timeField, name: 'created_at', label: 'Created at' },
  { ...timeField, name: 'updated_at', label: 'Updated at' },
];

const referenceOf = ({ name, refersTo }: AssetField) =>
  refersTo === undefined ? [] : [{ name, kind: 'belongs_to', ...refersTo, field: name }];

const shownField = (field: AssetField) => fieldView.show({ ...field, nullable: !field.required, unique: false });

/** In each language; a language without one has the label of its own. */
const LABELS: json.JsonSchema = {
  type: 'object',
  properties: Object.fromEntries(LANGUAGES.map((language) => [language, json.text])),
};

const assetTypeView = json.view<AssetType>({
  unique_field: json.nullableText,
  fields: [
    json.listOf(json.ref('AssetField')),
    ({ fields, uniqueField }) => [
      ...SYSTEM_FIELDS.map(fieldView.show),
      ...fields.map((field) => ({ ...shownField(field), unique: field.name === uniqueField })),
    ],
  ],
  relationships: [
    json.listOf(json.ref('AssetRelationship')),
    ({ relationships, fields }) => [...relationships, ...fields.flatMap(referenceOf)],
  ],
  labels: [json.ref('AssetLabels'), ({ labels = { table: {}, fields: {} } }) => labels],
  retired: [
    { ...json.listOf(json.ref('AssetField')), description: 'Fields of which only the past has values.' },
    ({ retired = [] }) => retired.map(shownField),
  ],
  json_schema: [
    { type: 'object', description: 'Body of a create, as JSON Schema 2020-12.' },
    (assetType) => ({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      title: assetType.label,
      description: assetType.description,
      ...recordInputSchema(assetType, 'create'),
    }),
  ],
});

const DESCRIBED = { ...headingView.properties, ...assetTypeView.properties };

/** The schema of an asset, for info and the console. */
export const describeAsset = (assetType: AssetType): object => ({
  ...headingView.show(assetType),
  ...assetTypeView.show(assetType),
});

const linksOf = (req: Request, config: Config, { name }: AssetType) => {
  const asset = `${requestOrigin(req, config)}${ASSETS_PATH}/${name}`;
  return { info: `${asset}/info`, assets: `${asset}/assets` };
};

export const assetInfo: Resource = {
  tag: 'assets',
  schemas: {
    Asset: json.closedObject({
      ...headingView.properties,
      links: json.ref('AssetLinks'),
    }),
    AssetLinks: json.closedObject({ info: json.link, assets: json.link }),
    AssetType: json.closedObject(DESCRIBED),
    AssetInfo: json.closedObject({ ...DESCRIBED, links: json.ref('AssetLinks') }),
    AssetField: fieldView.schema,
    AssetLabels: json.closedObject({ table: LABELS, fields: { type: 'object', additionalProperties: LABELS } }),
    AssetRelationship: json.closedObject({
      name: json.text,
      kind: json.oneOf(['belongs_to', 'has_many']),
      table: json.text,
      field: json.text,
      key: json.text,
    }),
  },
  operations: {
    'GET /': {
      id: 'listAssets',
      summary: 'The assets that the token may read',
      allow: 'clients',
      answer: json.all('Asset'),
      handle({ config }, { req, tenant, permissions }) {
        const isReadable = ({ supportingData }: AssetType) => permissions.has(scopeFor('read', supportingData));
        const readable = [...tenant.assetTypes.values()].filter(isReadable);
        return dataReply(
          readable.map((assetType) => ({ ...headingView.show(assetType), links: linksOf(req, config, assetType) })),
        );
      },
    },
    'GET /:table/info': {
      id: 'getInfo',
      summary: 'Fields and relationships',
      allow: READ,
      tables: 'Table',
      query: [AT],
      answer: json.one('AssetInfo', 'The schema of the asset.'),
      async handle(api, { req, path, query }) {
        const { tenant } = await readAt(api, req, query);
        const assetType = assetTypeOf(tenant, path.table);
        return dataReply({ ...describeAsset(assetType), links: linksOf(req, api.config, assetType) });
      },
    },
  },
};
