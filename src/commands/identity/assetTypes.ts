/** Customizing Reference Data (spec §1): a tenant adds fields and tables; Master Data stays as it is. */
import { z } from 'zod';
import {
  type AssetField,
  type AssetType,
  findField,
  labelOf,
  SYSTEM_FIELDS,
} from '../../domain/assetTypes/assetType.js';
import { FIELD_TYPES, fieldRules } from '../../domain/assetTypes/fieldTypes.js';
import { boundedList } from '../../domain/boundedList.js';
import { MAX_FIELDS, MAX_LONG_TEXT_LENGTH, MAX_STRING_LENGTH, MAX_TABLES } from '../../domain/limits.js';
import { tenantStream } from '../../domain/streams.js';
import { parseBody, shortText } from '../body.js';
import { ValidationError } from '../context.js';
import { assetTypeOf } from '../tables.js';
import { type DirectoryWrite, writeDirectory } from './directoryWriter.js';

const fieldName = z
  .string('must be a string.')
  .regex(
    /^[a-z][a-z0-9_]{0,62}$/,
    'must be lower-case letters, digits and underscores, beginning with a letter, at most 63.',
  )
  .refine((name) => !['constructor', 'prototype'].includes(name), 'must not be a name that every object has.');

const truth = z.boolean('must be true or false.').default(false);
const TOO_LONG = `must be at most ${MAX_STRING_LENGTH} for String and ${MAX_LONG_TEXT_LENGTH} for LongText.`;

export const fieldBody = z
  .strictObject({
    name: fieldName,
    label: shortText.optional(),
    type: z.enum(FIELD_TYPES, `must be one of ${FIELD_TYPES.join(', ')}.`),
    required: truth,
    filterable: truth,
    sortable: truth,
    max_length: z
      .int('must be an integer.')
      .min(1, 'must be at least 1.')
      .max(MAX_LONG_TEXT_LENGTH, TOO_LONG)
      .optional(),
  })
  .refine(({ type, max_length: max = 0 }) => max <= (fieldRules(type).maxLength ?? MAX_STRING_LENGTH), {
    path: ['max_length'],
    message: TOO_LONG,
  })
  .refine(({ type, sortable }) => !(type === 'LongText' && sortable), {
    path: ['sortable'],
    message: 'must be false for LongText: nobody sorts by a text of this length.',
  });

export const tableBody = z.strictObject({
  name: z
    .string('must be a string.')
    .regex(/^dyn_[a-z][a-z0-9_]{0,58}$/, 'must begin with dyn_, then lower-case letters, digits and underscores.'),
  label: shortText.optional(),
  description: z.string('must be a string.').max(1000, 'must be at most 1000 characters.').default(''),
  unique_field: fieldName.default('external_id'),
  fields: boundedList({
    element: fieldBody,
    max: MAX_FIELDS,
    type: 'must be an array of fields.',
    entries: 'fields',
    min: [1, 'must have at least 1 field.'],
  }),
});

/** @throws ValidationError (also for a name in use, or Master Data); NotFoundError */
export const addAssetField: DirectoryWrite<[table: string, body: unknown]> = async (commands, caller, table, body) => {
  const field = toField(parseBody(fieldBody, body));
  return writeDirectory(commands, caller, tenantStream(caller.tenant), (tenant) => {
    const assetType = assetTypeOf(tenant, table);
    if (!assetType.supportingData)
      throw new ValidationError({ table: [`${table} is Master Data and cannot be customized.`] });
    if (findField(assetType, field.name) !== undefined || isSystemField(field.name)) {
      throw new ValidationError({ name: [`${table} has a field ${field.name} already.`] });
    }
    if (assetType.fields.length >= MAX_FIELDS)
      throw new ValidationError({ name: [`${table} has ${MAX_FIELDS} fields; no more fit.`] });
    return [{ type: 'AssetFieldAdded', data: { table, field } }];
  });
};

/** @throws ValidationError (also for a name in use, or a unique field that is not among the fields) */
export const addAssetTable: DirectoryWrite<[body: unknown]> = async (commands, caller, body) => {
  const assetType = toAssetType(parseBody(tableBody, body));
  return writeDirectory(commands, caller, tenantStream(caller.tenant), (tenant) => {
    if (tenant.assetTypes.has(assetType.name))
      throw new ValidationError({ name: [`There is an asset ${assetType.name} already.`] });
    if (tenant.assetTypes.size >= MAX_TABLES)
      throw new ValidationError({ name: [`There are ${MAX_TABLES} assets; no more fit.`] });
    return [{ type: 'AssetTableAdded', data: { assetType } }];
  });
};

const isSystemField = (name: string): boolean => (SYSTEM_FIELDS as readonly string[]).includes(name);

const toField = ({ max_length: maxLength, label, ...input }: z.output<typeof fieldBody>): AssetField => ({
  ...input,
  label: label ?? labelOf(input.name),
  ...(maxLength === undefined ? {} : { maxLength }),
  custom: true,
});

function toAssetType(input: z.output<typeof tableBody>): AssetType {
  const names = input.fields.map((field) => field.name);
  const twice = names.find((name, index) => names.indexOf(name) !== index || isSystemField(name));
  if (twice !== undefined)
    throw new ValidationError({ fields: [`The field ${twice} is given twice, or is a system field.`] });
  const unique = input.fields.find((field) => field.name === input.unique_field);
  if (unique === undefined || unique.type !== 'String' || !unique.required) {
    throw new ValidationError({ unique_field: ['The unique_field must name a required field of type String.'] });
  }
  return {
    name: input.name,
    label: input.label ?? labelOf(input.name.slice('dyn_'.length)),
    description: input.description,
    supportingData: true,
    role: 'reference',
    uniqueField: input.unique_field,
    fields: input.fields.map(toField),
    relationships: [],
    custom: true,
  };
}
