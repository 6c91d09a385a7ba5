/**
 * The zod schemas of an asset type's request bodies: one source for validation (spec §4.5 to §4.7) and for the JSON Schema
 * that info and OpenAPI show.
 */
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { boundedList, withinListBytes } from '../boundedList.js';
import { MAX_LIST_ENTRIES, MAX_STRING_LENGTH } from '../limits.js';
import type { AssetField, AssetType } from './assetType.js';
import { FieldErrorList, type FieldErrors } from './fieldErrors.js';
import { type Fields, type FieldValue, fieldRules, isStorableText, ownValue } from './fieldTypes.js';
import { text, valueSchema } from './valueSchemas.js';

/** Tables whose compiled schemas are kept, of all tenants; those of a large table take 300 KB. */
const COMPILED_SCHEMAS = 200;

/** Kinds of bodies, each with rules of its own. */
export type BodyKind = 'create' | 'update' | 'batchItem';

export type RecordInput = {
  /** Only the fields that the body named, checked and normalized; read-only fields are left out. */
  readonly fields: Fields;
  /** `id` of the body, if it had one. */
  readonly id?: string;
  /** `_batch_id` of a batch item; undefined when it was not named. */
  readonly batchId?: string | null;
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

const IGNORED = z.unknown().optional();
// null counts as left out: many clients send every member of a record.
const ID = z.guid('must be a UUID.').nullish();
const BATCH_ID = text(MAX_STRING_LENGTH).min(1, 'must not be empty.').nullish();

type Compiled = { readonly [kind in BodyKind]: z.ZodObject } & { readonly plainFields: PlainFields };

const compiled = new LRUCache<AssetType, Compiled>({ max: COMPILED_SCHEMAS });

/** The schemas of an asset type's bodies; unknown keys are errors. */
export function recordSchemas(assetType: AssetType): Compiled {
  const kept = compiled.get(assetType);
  if (kept !== undefined) return kept;
  // Fields with equal rules share a schema, which takes some 7 KB.
  const byRules = new Map<string, z.ZodType>();
  const schemas = assetType.fields.map((field): [name: string, created: z.ZodType, updated: z.ZodType] => {
    const { name, label: _, ...rules } = field;
    const key = JSON.stringify(rules);
    const schema = field.readOnly === true ? IGNORED : (byRules.get(key) ?? fieldSchema(field));
    byRules.set(key, schema);
    return [name, field.required ? schema : schema.optional(), schema.optional()];
  });
  const system = { id: ID, created_at: IGNORED, updated_at: IGNORED };
  const created = { ...Object.fromEntries(schemas.map(([name, schema]) => [name, schema])), ...system };
  const updated = { ...Object.fromEntries(schemas.map(([name, , schema]) => [name, schema])), ...system };
  const made: Compiled = {
    create: z.strictObject(created),
    update: z.strictObject(updated),
    batchItem: z.strictObject({ ...created, _batch_id: BATCH_ID }),
    plainFields: plainFieldsOf(assetType.fields),
  };
  compiled.set(assetType, made);
  return made;
}

/** Checks a body against its asset type, and reports all errors at once. */
export function checkRecord(assetType: AssetType, kind: BodyKind, body: unknown): Checked {
  const plain = kind === 'batchItem' ? plainItem(assetType, body) : undefined;
  return plain === undefined ? checkBySchema(assetType, kind, body) : { ok: true, input: plain };
}

const isObject = (body: unknown): body is Fields => typeof body === 'object' && body !== null && !Array.isArray(body);

export function checkBySchema(assetType: AssetType, kind: BodyKind, body: unknown): Checked {
  // Without a prototype: a field may have a name that every object inherits, which zod would take for a value.
  const own: unknown = isObject(body) ? Object.assign(Object.create(null), body) : body;
  const result = recordSchemas(assetType)[kind].safeParse(own);
  if (result.success) return { ok: true, input: toInput(assetType, result.data) };
  const errors = new FieldErrorList();
  errors.addIssues(
    result.error.issues,
    ({ path: [field, ...inner] }) =>
      inner.length === 0 && isObject(body) && (ownValue(body, String(field)) ?? null) === null,
    (name) => `${name} is not a field of ${assetType.name}.`,
  );
  return { ok: false, errors: errors.toErrors(), unnamed: errors.unnamed };
}

function toInput(assetType: AssetType, parsed: { readonly [key: string]: unknown }): RecordInput {
  const fields: Record<string, FieldValue> = {};
  for (const { name, readOnly } of assetType.fields) {
    const value = ownValue(parsed as Fields, name);
    if (value !== undefined && readOnly !== true) fields[name] = value;
  }
  return {
    fields,
    ...(typeof parsed.id === 'string' ? { id: parsed.id.toLowerCase() } : {}),
    ...(typeof parsed._batch_id === 'string' || parsed._batch_id === null ? { batchId: parsed._batch_id } : {}),
  };
}

const isPlainBatchId = (value: FieldValue): boolean =>
  typeof value === 'string' && value !== '' && value.length <= MAX_STRING_LENGTH && isStorableText(value);

/** The fast path for a batch item; undefined when the schema has to check it. */
function plainItem(assetType: AssetType, body: unknown): RecordInput | undefined {
  if (!isObject(body)) return undefined;
  const batchId = ownValue(body, '_batch_id');
  if (batchId !== undefined && batchId !== null && !isPlainBatchId(batchId)) return undefined;
  const fields = recordSchemas(assetType).plainFields(body, batchId === undefined ? 0 : 1);
  if (fields === undefined) return undefined;
  return batchId === undefined ? { fields } : { fields, batchId: batchId === null ? null : String(batchId) };
}

/** @returns an object's values of the fields, in their order; undefined when the schema has to check it */
type PlainFields = (body: Fields, without: number) => Fields | undefined;

/** Most values need no schema: a batch of 1,000 items takes 3 ms in place of 7. */
function plainFieldsOf(fields: readonly AssetField[]): PlainFields {
  const known = fields
    .filter(({ readOnly }) => readOnly !== true)
    .map(({ name, required, type, list, format, oneOf, maxLength = fieldRules(type).maxLength ?? 0 }) => {
      const { isPlain } = fieldRules(type);
      const isSpecial = list === true || format !== undefined || oneOf !== undefined;
      return { name, required, isPlain: (value: FieldValue) => !isSpecial && isPlain(value, maxLength) };
    });
  return (body, without) => {
    const plain: Record<string, FieldValue> = {};
    let count = without;
    for (const { name, required, isPlain } of known) {
      const value = ownValue(body, name);
      if (value === undefined) {
        if (required) return undefined;
        continue;
      }
      if (required ? value === '' || !isPlain(value) : value !== null && !isPlain(value)) return undefined;
      plain[name] = value;
      count += 1;
    }
    // Any further member is an error, or a field that the schema handles.
    return Object.keys(body).length === count ? plain : undefined;
  };
}
