/** Customizing Reference Data (spec §1): a tenant adds fields and tables; Master Data stays as it is. */
import { z } from 'zod';
import { type AssetField, type AssetType, labelOf, SYSTEM_FIELDS } from '../../domain/assetTypes/assetType.js';
import { FIELD_TYPES, fieldRules } from '../../domain/assetTypes/fieldTypes.js';
import { boundedList } from '../../domain/boundedList.js';
import type { Tables } from '../../domain/identity/tenantTables.js';
import { MAX_FIELDS, MAX_LONG_TEXT_LENGTH, MAX_STRING_LENGTH, MAX_TABLES } from '../../domain/limits.js';
import { shownName } from '../../domain/shownName.js';
import { tenantStream } from '../../domain/streams.js';
import { choiceOf, parseBody, shortText, truth } from '../body.js';
import { NotFoundError, ValidationError } from '../context.js';
import { assetTypeOf } from '../tables.js';
import { type DirectoryWrite, writeDirectory } from './directoryWriter.js';

const fieldName = z
  .string('must be a string.')
  .regex(
    /^[a-z][a-z0-9_]{0,62}$/,
    'must be lower-case letters, digits and underscores, beginning with a letter, at most 63.',
  )
  .refine((name) => !['constructor', 'prototype'].includes(name), 'must not be a name that every object has.');

export const fieldBody = z
  .strictObject({
    name: fieldName,
    label: shortText.optional(),
    type: choiceOf(FIELD_TYPES),
    required: truth.default(false),
    filterable: truth.default(false),
    sortable: truth.default(false),
    max_length: z.int('must be an integer.').min(1, 'must be at least 1.').optional(),
    refers_to: shortText.optional(),
  })
  .refine(({ type, max_length: max = 0 }) => max <= (fieldRules(type).maxLength ?? MAX_STRING_LENGTH), {
    path: ['max_length'],
    message: `must be at most ${MAX_STRING_LENGTH} for String and ${MAX_LONG_TEXT_LENGTH} for LongText.`,
  })
  .refine(({ type, sortable }) => type !== 'LongText' || !sortable, {
    path: ['sortable'],
    message: 'must be false for LongText.',
  });

export const tableBody = z.strictObject({
  name: z
    .string('must be a string.')
    .regex(/^dyn_[a-z][a-z0-9_]{0,58}$/, 'must begin with dyn_, then lower-case letters, digits and underscores.'),
  label: shortText.optional(),
  description: z.string('must be a string.').max(1000, 'must be at most 1000 characters.').default(''),
  unique_field: fieldName.default('external_id'),
  fields: boundedList(fieldBody, MAX_FIELDS, 'fields'),
});

type NewField = z.output<typeof fieldBody>;
type NewTable = z.output<typeof tableBody>;

const labels = z.strictObject({ en: shortText, nl: shortText }).partial();

export const labelsBody = z.strictObject({
  table: labels.default({}),
  fields: z.record(z.string(), labels).default({}),
});

export const retiredBody = z.strictObject({ retired: truth });

const refuseIf = (isWrong: boolean, field: string, message: string): void => {
  if (isWrong) throw new ValidationError({ [field]: [message] });
};

/** @throws ValidationError (also for a name in use, or Master Data); NotFoundError */
export const addAssetField: DirectoryWrite<[table: string, body: unknown]> = async (commands, caller, table, body) => {
  const input = parseBody(fieldBody, body);
  return writeDirectory(commands, caller, tenantStream(caller.tenant), (tenant) => {
    const field = toField(input, tenant.assetTypes);
    const { supportingData, fields, retired = [] } = assetTypeOf(tenant, table);
    const all = [...fields, ...retired];
    const names = [...SYSTEM_FIELDS, ...all.map(({ name }) => name)];
    refuseIf(!supportingData, 'table', `${table} is Master Data and cannot be customized.`);
    refuseIf(names.includes(field.name), 'name', `${table} has a field ${field.name} already, maybe a retired one.`);
    refuseIf(all.length >= MAX_FIELDS, 'name', `${table} has ${MAX_FIELDS} fields; no more fit.`);
    return [{ type: 'AssetFieldAdded', data: { table, field } }];
  });
};

/** @throws ValidationError (also for a name in use, or a unique field that is not among the fields) */
export const addAssetTable: DirectoryWrite<[body: unknown]> = async (commands, caller, body) => {
  const input = parseBody(tableBody, body);
  return writeDirectory(commands, caller, tenantStream(caller.tenant), ({ assetTypes }) => {
    const assetType = toAssetType(input, assetTypes);
    refuseIf(assetTypes.has(assetType.name), 'name', `There is an asset ${assetType.name} already.`);
    refuseIf(assetTypes.size >= MAX_TABLES, 'name', `There are ${MAX_TABLES} assets; no more fit.`);
    return [{ type: 'AssetTableAdded', data: { assetType } }];
  });
};

/**
 * Retires a field of the tenant's own, or takes it back. Its values stay, and only the past shows them.
 * @param body `{ retired }`
 * @throws ValidationError for any other field; NotFoundError
 */
export const retireAssetField: DirectoryWrite<[table: string, body: unknown, name: string]> = async (
  commands,
  caller,
  table,
  body,
  name,
) => {
  const { retired: isRetired } = parseBody(retiredBody, body);
  return writeDirectory(commands, caller, tenantStream(caller.tenant), (tenant) => {
    const { fields, retired = [], uniqueField } = assetTypeOf(tenant, table);
    const [from, others] = isRetired ? [fields, retired] : [retired, fields];
    const field = from.find((each) => each.name === name);
    if (field === undefined) {
      if (others.some((each) => each.name === name)) return [];
      throw new NotFoundError(`${table} has no field ${shownName(name)}.`);
    }
    const isOwn = field.custom === true && name !== uniqueField;
    refuseIf(!isOwn, 'retired', `Only fields that were added can be retired, and not the unique one.`);
    if (isRetired) return [{ type: 'AssetFieldRetired', data: { table, field: name } }];
    return [{ type: 'AssetFieldAdded', data: { table, field } }];
  });
};

/** @throws ValidationError (also for a field that is not there); NotFoundError */
export const labelAssetType: DirectoryWrite<[table: string, body: unknown]> = async (commands, caller, table, body) => {
  const labels = parseBody(labelsBody, body);
  return writeDirectory(commands, caller, tenantStream(caller.tenant), (tenant) => {
    const { fields, retired = [] } = assetTypeOf(tenant, table);
    const names = [...fields, ...retired].map(({ name }) => name);
    const unknown = shownName(Object.keys(labels.fields).find((name) => !names.includes(name)) ?? '');
    refuseIf(unknown !== '', `fields.${unknown}`, `${table} has no field ${unknown}.`);
    return [{ type: 'AssetLabelsChanged', data: { table, labels } }];
  });
};

/** A reference is by the other table's unique field, as programs and files have it. */
function toField(
  { max_length: maxLength, label, refers_to: table = '', ...input }: NewField,
  tables: Tables,
): AssetField {
  const key = input.type === 'String' && tables.get(table)?.uniqueField;
  refuseIf(table !== '' && !key, 'refers_to', 'A String can refer to a reference table.');
  const more = { ...(maxLength && { maxLength }), ...(key && { refersTo: { table, key } }) };
  return { ...input, label: label ?? labelOf(input.name), ...more, custom: true };
}

function toAssetType({ name, label, description, unique_field: uniqueField, fields }: NewTable, tables: Tables) {
  const names = [...SYSTEM_FIELDS, ...fields.map((field) => field.name)];
  const twice = names.find((each, index) => names.indexOf(each) !== index);
  refuseIf(twice !== undefined, 'fields', `The field ${twice} is given twice, or is a system field.`);
  const isUnique = fields.some((each) => each.name === uniqueField && each.type === 'String' && each.required);
  refuseIf(!isUnique, 'unique_field', 'The unique_field must name a required field of type String.');
  return {
    name,
    label: label ?? labelOf(name.slice('dyn_'.length)),
    description,
    supportingData: true,
    role: 'reference',
    uniqueField,
    fields: fields.map((field) => toField(field, tables)),
    relationships: [],
    custom: true,
  } as const satisfies AssetType;
}
