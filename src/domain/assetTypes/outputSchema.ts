/** JSON Schema (2020-12) of records in bodies and answers. */
import { MAX_LIST_ENTRIES, MAX_STRING_LENGTH } from '../limits.js';
import { FAILED } from '../order/events.js';
import type { AssetField, AssetType } from './assetType.js';
import { fieldRules, type JsonSchema } from './fieldTypes.js';
import type { BodyKind } from './recordSchema.js';
import { stockModel, transportModel } from './standardTables.js';

export type { JsonSchema };

type Properties = { readonly [name: string]: JsonSchema };

/** An object with all properties required. */
export const closedObject = (properties: Properties): JsonSchema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
});

const orNull = (schema: JsonSchema): JsonSchema =>
  Array.isArray(schema.type) ? { ...schema, type: [...schema.type, 'null'] } : { anyOf: [schema, { type: 'null' }] };

const TIMESTAMP: JsonSchema = { type: 'string', format: 'date-time', description: 'UTC, with microseconds.' };

/** Parts are Master Data: the same for all tenants. */
const PARTS = [...stockModel, ...transportModel].filter(({ role }) => role === 'part');

/** The lists of parts in an order, or in a part. */
const partLists = ({ relationships }: AssetType, schemaOf: (part: AssetType) => JsonSchema): Properties =>
  Object.fromEntries(
    PARTS.flatMap((part) =>
      relationships
        .filter(({ kind, table }) => kind === 'has_many' && table === part.name)
        .map(({ name }) => [name, { type: 'array', items: schemaOf(part) }]),
    ),
  );

/** A record in an answer: has every field, and may get further ones later. An order may be shown with its parts. */
export function recordOutputSchema(assetType: AssetType): JsonSchema {
  const own = {
    id: { type: 'string', format: 'uuid' },
    created_at: TIMESTAMP,
    updated_at: TIMESTAMP,
    ...Object.fromEntries(assetType.fields.map((field) => [field.name, outputField(assetType, field)])),
  };
  const properties = { ...own, ...partLists(assetType, recordOutputSchema) };
  return { ...closedObject(own), description: assetType.description, properties };
}

/** Without one that only repeats the name: those would be a fifth of a document. */
const labelOf = ({ name, label }: AssetField): JsonSchema =>
  label.toLowerCase() === name.replaceAll('_', ' ') ? {} : { description: label };

function outputField(assetType: AssetType, field: AssetField): JsonSchema {
  const annotations: JsonSchema = { ...labelOf(field), ...(field.readOnly === true ? { readOnly: true } : {}) };
  const value = schemaOf(field, false);
  // Records older than the field have null in it, even if it is required now.
  const isAlwaysSet = field.required && (field.custom !== true || field.name === assetType.uniqueField);
  return isAlwaysSet ? { ...annotations, ...value } : { ...annotations, ...orNull(value) };
}

/** A value that is not null: of an answer, or of a body. */
function schemaOf({ name, type, format, oneOf, list, maxLength }: AssetField, isInput: boolean): JsonSchema {
  if (format === 'uuid') return { type: 'string', format };
  // `failed` is shown but never accepted: only the service sets it (spec §3).
  if (oneOf !== undefined)
    return { type: 'string', enum: isInput || name !== 'processing_status' ? oneOf : [...oneOf, FAILED] };
  const { input, output, maxLength: most } = fieldRules(type);
  const limited = most === undefined ? {} : { maxLength: maxLength ?? most };
  const value = isInput ? { ...(input ?? output), ...limited } : output;
  return list === true ? { type: 'array', items: value, ...(isInput && { maxItems: MAX_LIST_ENTRIES }) } : value;
}

const IGNORED: JsonSchema = { description: 'Set by the service; accepted and ignored.' };

/**
 * Body of a create or update, or one item of a batch: what `checkRecord` takes, and the parts of an order.
 * @param parent the field of a part that need not name the record within which it stands
 */
export function recordInputSchema(assetType: AssetType, kind: BodyKind, parent?: string): JsonSchema {
  const { fields } = assetType;
  return {
    type: 'object',
    properties: {
      ...Object.fromEntries(fields.map((field) => [field.name, { ...labelOf(field), ...inputField(field) }])),
      id: orNull({ type: 'string', format: 'uuid' }),
      created_at: IGNORED,
      updated_at: IGNORED,
      ...(kind === 'batchItem' && {
        _batch_id: orNull({ type: 'string', minLength: 1, maxLength: MAX_STRING_LENGTH }),
      }),
      // A part by itself is sent without its own.
      ...((assetType.role === 'order' || parent !== undefined) &&
        partLists(assetType, (part) => recordInputSchema(part, kind, part.parent?.field))),
    },
    required: fields
      .filter(({ name, required }) => required && kind !== 'update' && name !== parent)
      .map(({ name }) => name),
    additionalProperties: false,
  };
}

function inputField(field: AssetField): JsonSchema {
  if (field.readOnly === true) return IGNORED;
  const value = schemaOf(field, true);
  // An order always has a status.
  if (!field.required) return field.oneOf === undefined ? orNull(value) : value;
  return field.type === 'String' && field.format === undefined ? { ...value, minLength: 1 } : value;
}
