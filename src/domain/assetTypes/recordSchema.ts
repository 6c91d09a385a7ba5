/**
 * The zod schemas of an asset type's request bodies: one source for validation (spec §4.5 to §4.7) and for the JSON Schema
 * that info and OpenAPI show.
 */
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { boundedList, withinListBytes } from '../boundedList.js';
import {
  COMPILED_SCHEMAS_BYTES,
  MAX_LIST_ENTRIES,
  MAX_LONG_TEXT_LENGTH,
  MAX_SHORT_TEXT,
  MAX_STRING_LENGTH,
} from '../limits.js';
import { shownName } from '../shownName.js';
import { type AssetField, type AssetType, SYSTEM_FIELDS } from './assetType.js';
import { FieldErrorList, type FieldErrors } from './fieldErrors.js';
import { type Fields, type FieldValue, isInheritedName, isStorableText, ownValue } from './fieldTypes.js';
import { text, valueSchema } from './valueSchemas.js';

/** Kinds of bodies, each with rules of its own. */
export type BodyKind = 'create' | 'update' | 'batchItem';

export type RecordInput = {
  /** Only the fields that the body named, checked and normalized; read-only fields are left out. */
  readonly fields: Fields;
  /** `id` of the body, if it had one. */
  readonly id?: string;
  /** `_batch_id` of a batch item; undefined when it was not named. */
  readonly batchId?: string | null;
  /** Set for a batch item that keeps a record as it is: its errors if there is no such record. */
  readonly missing?: FieldErrors;
};

export type Checked =
  | { readonly ok: true; readonly input: RecordInput }
  /** `unnamed`: how many more errors there are. */
  | { readonly ok: false; readonly errors: FieldErrors; readonly unnamed: number };

function fieldSchema(field: AssetField): z.ZodType {
  let schema: z.ZodType = valueSchema(field.type, field.maxLength);
  if (field.format === 'uuid') schema = z.guid('must be a UUID.').transform((id) => id.toLowerCase());
  if (field.oneOf !== undefined) {
    schema = z.enum([...field.oneOf], `must be one of ${field.oneOf.join(', ')}.`);
  }
  if (field.list === true) {
    schema = boundedList({ element: schema, max: MAX_LIST_ENTRIES, type: 'must be an array of strings.' }).refine(
      ...withinListBytes,
    );
  }
  if (field.required && field.type === 'String') {
    schema = schema.refine((value) => value !== '', 'must not be empty.');
  }
  return field.required ? schema : schema.nullable();
}

/** A field's schema in a body that creates a record, and in one that need not name it. */
type FieldSchemas = { readonly created: z.ZodType; readonly optional: z.ZodType };

const IGNORED = z.unknown().optional();
// null counts as left out: many clients send every member of a record.
const ID = z.guid('must be a UUID.').nullish();
const BATCH_ID = text(MAX_SHORT_TEXT).min(1, 'must not be empty.').nullish();

/** By the name of the field. Fields with equal rules share theirs. */
function fieldSchemas(fields: readonly AssetField[]): ReadonlyMap<string, FieldSchemas> {
  const byRules = new Map<string, FieldSchemas>();
  const byName = new Map<string, FieldSchemas>();
  for (const field of fields) {
    const { name, type, required, maxLength, format, readOnly, list, oneOf } = field;
    const rules = JSON.stringify([type, required, maxLength, format, readOnly, list, oneOf]);
    const schemas = byRules.get(rules) ?? schemasOf(field);
    byRules.set(rules, schemas);
    byName.set(name, schemas);
  }
  return byName;
}

function schemasOf(field: AssetField): FieldSchemas {
  if (field.readOnly === true) return { created: IGNORED, optional: IGNORED };
  const schema = fieldSchema(field);
  const optional = schema.optional();
  return { created: field.required ? schema : optional, optional };
}

/** Body schema of one asset type; unknown keys are errors. */
function recordSchema(fields: ReadonlyMap<string, FieldSchemas>, kind: BodyKind): z.ZodObject {
  const shape: Record<string, z.ZodType> = {};
  for (const [name, { created, optional }] of fields) shape[name] = kind === 'update' ? optional : created;
  shape.id = ID;
  shape.created_at = IGNORED;
  shape.updated_at = IGNORED;
  if (kind === 'batchItem') shape._batch_id = BATCH_ID;
  return z.strictObject(shape);
}

type Compiled = { readonly [kind in BodyKind]: z.ZodObject } & {
  /** A field has a name that every object inherits (earlier releases allowed it): zod would take that property for a value. */
  readonly asksInherited: boolean;
  /** Names of all fields that a body may have. */
  readonly names: ReadonlySet<string>;
  readonly plainFields: ReturnType<typeof plainFieldsOf>;
};

/** What the schemas of a field with rules of its own take, and of one that shares them; measured. */
const RULES_BYTES = 7_000;
const FIELD_BYTES = 700;
const compiled = new LRUCache<AssetType, Compiled>({ maxSize: COMPILED_SCHEMAS_BYTES });

/** The schemas of an asset type, kept while there is room. */
export function recordSchemas(assetType: AssetType): Compiled {
  const kept = compiled.get(assetType);
  if (kept !== undefined) return kept;
  const { fields } = assetType;
  const schemas = fieldSchemas(fields);
  const made: Compiled = {
    create: recordSchema(schemas, 'create'),
    update: recordSchema(schemas, 'update'),
    batchItem: recordSchema(schemas, 'batchItem'),
    asksInherited: fields.some(({ name }) => isInheritedName(name)),
    names: new Set([...fields.map(({ name }) => name), ...SYSTEM_FIELDS]),
    plainFields: plainFieldsOf(fields),
  };
  compiled.set(assetType, made, {
    size: RULES_BYTES * new Set(schemas.values()).size + FIELD_BYTES * (fields.length + 1),
  });
  return made;
}

/** Checks a body against its asset type, and reports all errors at once. */
export function checkRecord(assetType: AssetType, kind: BodyKind, body: unknown): Checked {
  const plain = kind === 'batchItem' ? plainItem(assetType, body) : undefined;
  return plain === undefined ? checkBySchema(assetType, kind, body) : { ok: true, input: plain };
}

const isPlainBatchId = (value: Fields[string]): value is string =>
  typeof value === 'string' && value !== '' && value.length <= MAX_SHORT_TEXT && isStorableText(value);

/** The fast path for a batch item; undefined when the schema has to check it. */
function plainItem(assetType: AssetType, body: unknown): RecordInput | undefined {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return undefined;
  const item = body as Fields;
  const batchId = ownValue(item, '_batch_id');
  if (batchId !== undefined && batchId !== null && !isPlainBatchId(batchId)) return undefined;
  const fields = recordSchemas(assetType).plainFields(item, batchId === undefined ? 0 : 1);
  if (fields === undefined) return undefined;
  return batchId === undefined ? { fields } : { fields, batchId };
}

export function checkBySchema(assetType: AssetType, kind: BodyKind, body: unknown): Checked {
  const schemas = recordSchemas(assetType);
  if (fieldCount(body) > schemas.names.size) return refused(unknownFields(Object.keys(Object(body)), assetType));
  const result = schemas[kind].safeParse(schemas.asksInherited ? withoutPrototype(body) : body);
  if (result.success) return { ok: true, input: toInput(assetType, result.data) };
  return refused(fieldErrors(result.error, body, assetType));
}

const refused = (errors: FieldErrorList): Checked => ({
  ok: false,
  errors: errors.toErrors(),
  unnamed: errors.unnamed,
});

const fieldCount = (body: unknown): number =>
  typeof body === 'object' && body !== null && !Array.isArray(body) ? Object.keys(body).length : 0;

/** The errors of a body with more fields than the asset type has, without checking the values. */
function unknownFields(given: readonly string[], assetType: AssetType): FieldErrorList {
  const { names } = recordSchemas(assetType);
  const errors = new FieldErrorList();
  for (const name of given) if (!names.has(name)) addUnknown(errors, name, assetType);
  return errors;
}

const withoutPrototype = (body: unknown): unknown =>
  typeof body === 'object' && body !== null && !Array.isArray(body) ? Object.assign(Object.create(null), body) : body;

function toInput(assetType: AssetType, parsed: { readonly [key: string]: unknown }): RecordInput {
  const fields: Record<string, Fields[string]> = {};
  for (const field of assetType.fields) {
    const value = ownValue(parsed as Fields, field.name);
    if (value !== undefined && field.readOnly !== true) fields[field.name] = value;
  }
  return {
    fields,
    ...(typeof parsed.id === 'string' ? { id: parsed.id.toLowerCase() } : {}),
    ...(typeof parsed._batch_id === 'string' || parsed._batch_id === null ? { batchId: parsed._batch_id } : {}),
  };
}

function addUnknown(errors: FieldErrorList, name: string, assetType: AssetType): void {
  const shown = shownName(name);
  errors.add(shown, `${shown} is not a field of ${assetType.name}.`);
}

function fieldErrors(error: z.ZodError, body: unknown, assetType: AssetType): FieldErrorList {
  const errors = new FieldErrorList();
  for (const issue of error.issues) {
    const field = issue.path.join('.');
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) addUnknown(errors, key, assetType);
    } else if (field === '') {
      errors.add('body', 'The body must be a JSON object.');
    } else if (issue.path.length === 1 && isAbsent(body, field)) {
      errors.add(field, `The ${field} field is required.`);
    } else {
      errors.add(field, `The ${field} field ${issue.message}`);
    }
  }
  return errors;
}

const isAbsent = (body: unknown, field: string): boolean =>
  typeof body === 'object' && body !== null && (!Object.hasOwn(body, field) || (body as Fields)[field] === null);

/**
 * The fast path recognises values that the schema of a field would pass unchanged, for a tenth of the schema's cost. Most
 * values are of this kind; all others are left to the schema.
 */
type IsPlain = (value: FieldValue) => boolean;

const never: IsPlain = () => false;

/** Up to 7 digits after the point are recognised, and up to 15 in all, which a double keeps. */
const SHIFT = 1e7;
const MOST = 1e15;

/** Division is exact to the last bit, so a quotient of whole numbers is the double of a decimal with those digits. */
function isShortDecimal(value: number): boolean {
  if (value === 0) return !Object.is(value, -0);
  const shifted = Math.round(value * SHIFT);
  return Math.abs(shifted) < MOST && shifted / SHIFT === value;
}

const isPlainText =
  (maxLength: number, isEmptyAllowed: boolean): IsPlain =>
  (value) =>
    typeof value === 'string' && value.length <= maxLength && (isEmptyAllowed || value !== '') && isStorableText(value);

function isPlainOf(field: AssetField): IsPlain {
  const { type, maxLength, oneOf, required } = field;
  if (field.list === true || field.format !== undefined || oneOf !== undefined) return never;
  switch (type) {
    case 'String':
      return isPlainText(maxLength ?? MAX_STRING_LENGTH, !required);
    case 'LongText':
      return isPlainText(maxLength ?? MAX_LONG_TEXT_LENGTH, true);
    case 'Integer':
      return (value) => Number.isSafeInteger(value) && !Object.is(value, -0);
    case 'Decimal':
      return (value) => typeof value === 'number' && isShortDecimal(value);
    case 'Boolean':
      return (value) => typeof value === 'boolean';
    case 'Date':
    case 'DateTime':
      return never;
  }
}

/** @returns an object's values of these fields, in their order; undefined when the schema has to check it */
function plainFieldsOf(fields: readonly AssetField[]): (body: Fields, without: number) => Fields | undefined {
  const known = fields
    .filter(({ readOnly }) => readOnly !== true)
    .map((field) => ({ name: field.name, required: field.required, isPlain: isPlainOf(field) }));
  return (body, without) => {
    const plain: Record<string, FieldValue> = {};
    let count = without;
    for (const { name, required, isPlain } of known) {
      const value = ownValue(body, name);
      if (value === undefined) {
        if (required) return undefined;
        continue;
      }
      if (value === null ? required : !isPlain(value)) return undefined;
      plain[name] = value;
      count += 1;
    }
    // Any further member is an error, or a field that the schema handles.
    return Object.keys(body).length === count ? plain : undefined;
  };
}
