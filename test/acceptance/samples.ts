/** Records that fit a table's schema, made from what its info endpoint says (spec §4.2). */
import { z } from 'zod';
import type { Fields, TenantClient } from './tenant.js';

const infoField = z.strictObject({
  name: z.string(),
  label: z.string(),
  type: z.enum(['String', 'LongText', 'Integer', 'Decimal', 'Date', 'DateTime', 'Boolean']),
  required: z.boolean(),
  nullable: z.boolean(),
  unique: z.boolean(),
  filterable: z.boolean(),
  sortable: z.boolean(),
  read_only: z.boolean(),
  max_length: z.int().nullable(),
  format: z.literal('uuid').nullable(),
  list: z.boolean(),
  one_of: z.array(z.string()).nullable(),
  custom: z.boolean(),
});

const info = z.looseObject({
  name: z.string(),
  label: z.string(),
  supporting_data: z.boolean(),
  unique_field: z.string().nullable(),
  fields: z.array(infoField),
  relationships: z.array(
    z.strictObject({
      name: z.string(),
      kind: z.enum(['belongs_to', 'has_many']),
      table: z.string(),
      field: z.string(),
      key: z.string(),
    }),
  ),
  json_schema: z.looseObject({ type: z.literal('object'), required: z.array(z.string()).optional() }),
});

type InfoField = z.output<typeof infoField>;
type Info = z.output<typeof info>;

export async function infoOf(tenant: TenantClient, table: string): Promise<Info> {
  const answer = await tenant.info(table);
  expect(answer.status).toBe(200);
  return z.strictObject({ data: info }).parse(answer.body).data;
}

/** Fields of a table that a body may set, its system fields left out. */
const writableFields = ({ fields }: Info): readonly InfoField[] => fields.filter((field) => !field.read_only);

/** The same n gives the same value, another n another one (where the type has more than two). */
function sampleValue(field: InfoField, n: number): unknown {
  if (field.list) return [`Reason ${n}`];
  if (field.one_of !== null) return field.one_of[n % field.one_of.length];
  if (field.format === 'uuid') return `01a1feb1-0000-7000-8000-${String(n).padStart(12, '0')}`;
  switch (field.type) {
    case 'String':
      return `${field.name}-${n}`.slice(-(field.max_length ?? 255));
    case 'LongText':
      return `Text ${n} of ${field.name}, with ünïcode: 漢字 🚚`;
    case 'Integer':
      return n;
    case 'Decimal':
      return n + 0.25;
    case 'Date':
      return `2026-01-${String((n % 28) + 1).padStart(2, '0')}`;
    case 'DateTime':
      return `2026-01-${String((n % 28) + 1).padStart(2, '0')}T08:30:00.000000Z`;
    case 'Boolean':
      return n % 2 === 0;
  }
}

const sample = (fields: readonly InfoField[], n: number): Fields =>
  Object.fromEntries(fields.map((field) => [field.name, sampleValue(field, n)]));

/** Only what is required. */
export const smallestRecord = (table: Info, n: number): Fields =>
  sample(
    writableFields(table).filter((field) => field.required),
    n,
  );

/** Every field a body may set. */
export const fullestRecord = (table: Info, n: number): Fields => sample(writableFields(table), n);

/** A party, with all that spec §2.3 shows of one. */
export const party = (externalId: string, more: Fields = {}): Fields => ({
  external_id: externalId,
  account_id: `ACC-${externalId}`,
  name: `Party ${externalId}`,
  street_name: 'Kade',
  additional_street_name: 'Building B',
  address_number: '12',
  city_name: 'Utrecht',
  postal_zone: '3511 AB',
  country: 'NL',
  ...more,
});
