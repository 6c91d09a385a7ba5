/** Problems of an order that would spoil its export: what it lacks, references to missing records, quantities of nothing. Pure. */
import type { FieldErrors } from '../assetTypes/fieldErrors.js';
import { ownValue } from '../assetTypes/fieldTypes.js';
import { MAX_ERRORS } from '../limits.js';
import {
  type AssetTypes,
  childrenIn,
  type ExportSnapshot,
  isReference,
  nameIn,
  relatedRecord,
  type SnapshotPart,
} from './snapshot.js';

export const PROBLEM_CODES = ['missing', 'unknown_reference', 'not_positive'] as const;

export type Problem = {
  /** Path of the field in the order as the API shows it, such as `lines.0.item_id`. */
  readonly field: string;
  readonly code: (typeof PROBLEM_CODES)[number];
  readonly message: string;
};

/** The fields and the list of parts that an export needs ("all required fields filled", spec §3), by table. */
const NEEDED: { readonly [table: string]: { readonly fields: readonly string[]; readonly list?: string } } = {
  dyn_stock_order: { fields: ['buyer_customer_party_id', 'delivery_date'], list: 'lines' },
  dyn_order_line: { fields: ['item_id', 'unit_code_id'] },
  dyn_transport_order: { fields: ['buyer_customer_party_id'], list: 'consignments' },
};

/** The first MAX_ERRORS problems of an order and its parts. @param only those of this kind */
export function problemsOf(
  snapshot: ExportSnapshot,
  assetTypes: AssetTypes,
  only?: Problem['code'],
): readonly Problem[] {
  const problems: Problem[] = [];
  const children = childrenIn(snapshot.parts);
  const check = ({ table, record }: SnapshotPart, prefix: string): void => {
    if (problems.length >= MAX_ERRORS) return;
    const add = (field: string, code: Problem['code'], message: string): void => {
      if (only === undefined || code === only) problems.push({ field: `${prefix}${field}`, code, message });
    };
    const { fields = [], list } = NEEDED[table] ?? {};
    for (const field of fields)
      if (nameIn(record, field) === '') add(field, 'missing', `The ${field} field is needed.`);
    for (const relation of assetTypes.get(table)?.relationships ?? []) {
      const { name, field, key, kind } = relation;
      const value = nameIn(record, field);
      if (isReference(assetTypes, relation) && value !== '' && relatedRecord(snapshot, relation, record) === undefined)
        add(field, 'unknown_reference', `There is no record of ${relation.table} with the ${key} ${value}.`);
      if (kind !== 'has_many') continue;
      const parts = children(relation, record.id);
      if (name === list && parts.length === 0) add(name, 'missing', `The order needs at least one of its ${name}.`);
      for (const [index, part] of parts.entries()) check(part, `${prefix}${name}.${index}.`);
    }
    if (Number(ownValue(record, 'quantity') ?? 1) <= 0)
      add('quantity', 'not_positive', 'The quantity must be more than 0.');
  };
  check({ table: snapshot.table, record: snapshot.order }, '');
  return problems.slice(0, MAX_ERRORS);
}

/** The problems as errors by field (spec §7). */
export function errorsOf(problems: readonly Problem[]): FieldErrors {
  const errors = new Map<string, string[]>();
  for (const { field, message } of problems) errors.set(field, [...(errors.get(field) ?? []), message]);
  return Object.fromEntries(errors);
}
