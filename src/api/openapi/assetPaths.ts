/** The operations of one asset type (spec §4.2 to §4.9), with the scopes and fields it has. */
import { cleanUpBody } from '../../commands/referenceTables/cleanUp.js';
import { MAX_BATCH_ITEMS } from '../../commands/referenceTables/upsertBatch.js';
import { ALWAYS_SORTABLE, type AssetType } from '../../domain/assetTypes/assetType.js';
import { recordOutputSchema } from '../../domain/assetTypes/outputSchema.js';
import { scopeFor } from '../../domain/identity/scopes.js';
import { BODY_ERRORS, errorsOf } from './errorResponses.js';
import { createExample, EXAMPLE_BATCH_ID, recordExample, updateExample } from './examples.js';
import { inputSchema } from './inputSchema.js';
import { parameterRef } from './parameters.js';
import { recordInputSchema } from './recordJsonSchema.js';
import {
  closedObject,
  dataOf,
  jsonContent,
  jsonResponse,
  type Operation,
  type Parameter,
  type Paths,
  pageOf,
  type Ref,
  type Schemas,
  schemaRef,
} from './types.js';

export type AssetTypeParts = { readonly paths: Paths; readonly schemas: Schemas };

const parts = new WeakMap<AssetType, AssetTypeParts>();

/** Made once for each asset type: a tenant that adds a field makes only that table's part anew. */
export function assetTypeParts(assetType: AssetType): AssetTypeParts {
  let known = parts.get(assetType);
  if (known === undefined) {
    known = { paths: pathsOf(assetType), schemas: schemasOf(assetType) };
    parts.set(assetType, known);
  }
  return known;
}

/** Table names have no dots, so names with one cannot meet another table's. */
function schemasOf(assetType: AssetType): Schemas {
  const { name } = assetType;
  return {
    [name]: { ...recordOutputSchema(assetType), examples: [recordExample(assetType)] },
    [`${name}.create`]: recordInputSchema(assetType, 'create'),
    [`${name}.update`]: recordInputSchema(assetType, 'update'),
    ...(assetType.supportingData ? { [`${name}.batch_item`]: recordInputSchema(assetType, 'batchItem') } : {}),
  };
}

function pathsOf(assetType: AssetType): Paths {
  const { name } = assetType;
  const base = `/api/v1/dynamic-assets/dyn/${name}`;
  const id = parameterRef('AssetId');
  return {
    [`${base}/info`]: { get: infoOperation(assetType) },
    [`${base}/assets`]: { get: listOperation(assetType), post: createOperation(assetType) },
    [`${base}/assets/{asset_id}`]: { parameters: [id], get: getOperation(assetType), put: updateOperation(assetType) },
    ...(assetType.role === 'order'
      ? { [`${base}/assets/{asset_id}/history`]: { parameters: [id], get: historyOperation(assetType) } }
      : {}),
    ...(assetType.supportingData
      ? {
          [`${base}/assets/batch`]: { post: batchOperation(assetType) },
          [`${base}/assets/clean-up`]: { post: cleanUpOperation(assetType) },
        }
      : {}),
  };
}

/** What all operations of the asset type share. */
const operation = (assetType: AssetType, access: 'read' | 'write', verb: string, summary: string) => ({
  operationId: `${verb}_${assetType.name}`,
  summary: `${summary}: ${assetType.label}`,
  tags: [assetType.name],
  security: [{ oauth2: [scopeFor(access, assetType.supportingData)] }],
});

const infoOperation = (assetType: AssetType): Operation => ({
  ...operation(assetType, 'read', 'info', 'Fields and relationships'),
  responses: {
    200: jsonResponse('The schema of the asset.', dataOf(schemaRef('AssetType'))),
    ...errorsOf(401, 403, 404),
  },
});

const getOperation = (assetType: AssetType): Operation => ({
  ...operation(assetType, 'read', 'get', 'One record'),
  responses: {
    200: jsonResponse('The record.', dataOf(schemaRef(assetType.name)), { data: recordExample(assetType) }),
    ...errorsOf(401, 403, 404),
  },
});

const historyOperation = (assetType: AssetType): Operation => ({
  ...operation(assetType, 'read', 'history', 'What happened to an order'),
  parameters: [parameterRef('Page'), parameterRef('PerPage')],
  responses: {
    200: jsonResponse('A page of events, oldest first.', pageOf(schemaRef('HistoryEntry'))),
    ...errorsOf(400, 401, 403, 404),
  },
});

const listOperation = (assetType: AssetType): Operation => ({
  ...operation(assetType, 'read', 'list', 'Records, page by page'),
  parameters: listParameters(assetType),
  responses: {
    200: jsonResponse('A page of records.', pageOf(schemaRef(assetType.name))),
    ...errorsOf(400, 401, 403, 404),
  },
});

/** Paging, sort, and one parameter for each field that can be filtered by (spec §4.3). */
export function listParameters(assetType: AssetType): readonly (Parameter | Ref)[] {
  const sortable = [...ALWAYS_SORTABLE, ...assetType.fields.filter((field) => field.sortable).map(({ name }) => name)];
  const sort: Parameter = {
    name: 'sort',
    in: 'query',
    description: `Fields in order of weight, separated by commas; - before one for descending. Sortable: ${sortable.join(', ')}.`,
    schema: { type: 'string', pattern: `^-?(${sortable.join('|')})(,-?(${sortable.join('|')}))*$` },
    example: '-updated_at',
  };
  const filters = assetType.fields
    .filter((field) => field.filterable)
    .map(
      ({ name, label }): Parameter => ({
        name: `filter[${name}]`,
        in: 'query',
        description: `${label} contains this, without regard to case. Several values, of which one must match, are separated by commas.`,
        schema: { type: 'string', minLength: 1 },
      }),
    );
  return [parameterRef('Page'), parameterRef('PerPage'), sort, ...filters];
}

const createOperation = (assetType: AssetType): Operation => ({
  ...operation(assetType, 'write', 'create', 'Create a record'),
  requestBody: {
    required: true,
    content: jsonContent(schemaRef(`${assetType.name}.create`), createExample(assetType)),
  },
  responses: {
    201: jsonResponse('The record as created.', dataOf(schemaRef(assetType.name)), { data: recordExample(assetType) }),
    ...errorsOf(401, 403, 404, ...BODY_ERRORS),
  },
});

const updateOperation = (assetType: AssetType): Operation => ({
  ...operation(assetType, 'write', 'update', assetType.role === 'order' ? 'Update, or report a status' : 'Update'),
  description: 'Fields that the body does not name stay as they are; null clears one.',
  requestBody: {
    required: true,
    content: jsonContent(schemaRef(`${assetType.name}.update`), updateExample(assetType)),
  },
  responses: {
    200: jsonResponse('The record as updated.', dataOf(schemaRef(assetType.name)), { data: recordExample(assetType) }),
    ...errorsOf(401, 403, 404, 409, ...BODY_ERRORS),
  },
});

const batchOperation = (assetType: AssetType): Operation => ({
  ...operation(assetType, 'write', 'batch', 'Create and update many'),
  description: `All items or none; matched on ${assetType.uniqueField ?? 'the unique field'}.`,
  parameters: [parameterRef('DryRun')],
  requestBody: {
    required: true,
    content: jsonContent(
      {
        ...closedObject({
          items: {
            type: 'array',
            items: schemaRef(`${assetType.name}.batch_item`),
            minItems: 1,
            maxItems: MAX_BATCH_ITEMS,
          },
        }),
        additionalProperties: false,
      },
      { items: [{ ...createExample(assetType), _batch_id: EXAMPLE_BATCH_ID }] },
    ),
  },
  responses: {
    200: jsonResponse('Everything was written.', dataOf(schemaRef('BatchResult'))),
    ...errorsOf(401, 403, 404, ...BODY_ERRORS),
  },
});

const cleanUpOperation = (assetType: AssetType): Operation => ({
  ...operation(assetType, 'write', 'clean_up', 'Delete what the last synchronisation did not carry'),
  parameters: [parameterRef('DryRun')],
  requestBody: {
    required: true,
    content: jsonContent(inputSchema(cleanUpBody), { batch_id: EXAMPLE_BATCH_ID }),
  },
  responses: {
    200: jsonResponse('The records were deleted.', dataOf(schemaRef('CleanUpResult'))),
    ...errorsOf(401, 403, 404, ...BODY_ERRORS),
  },
});
