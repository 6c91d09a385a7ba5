/** Problems of an order that would spoil its export: what it lacks, references to missing records, quantities of nothing. Pure. */
import type { AssetType, RecordView, Relationship } from '../assetTypes/assetType.js';
import type { FieldErrors } from '../assetTypes/fieldErrors.js';
import { ownValue } from '../assetTypes/fieldTypes.js';
import { MAX_ERRORS } from '../limits.js';
import { childrenIn, type ExportSnapshot, isUnresolved, nameIn, type SnapshotPart } from './snapshot.js';

export const PROBLEM_CODES = ['missing', 'unknown_reference', 'not_positive'] as const;

export type Problem = {
  /** Path of the field in the order as the API shows it, such as `lines.0.item_id`. */
  readonly field: string;
  readonly code: (typeof PROBLEM_CODES)[number];
  readonly message: string;
};

/** The fields and lists of parts that an export needs ("all required fields filled", spec §3), by table. */
const NEEDED: {
  readonly [table: string]: {
    readonly fields: readonly string[];
    readonly parts?: readonly [list: string, one: string];
  };
} = {
  dyn_stock_order: { fields: ['buyer_customer_party_id', 'delivery_date'], parts: ['lines', 'order line'] },
  dyn_order_line: { fields: ['item_id', 'unit_code_id'] },
  dyn_transport_order: { fields: ['buyer_customer_party_id'], parts: ['consignments', 'consignment'] },
};

/** The first MAX_ERRORS problems of an order and its parts. */
export const problemsOf = (snapshot: ExportSnapshot, assetTypes: ReadonlyMap<string, AssetType>): readonly Problem[] =>
  problemsIn(snapshot, assetTypes, true);

/** The first MAX_ERRORS of them that say what the order lacks: all that an order needs to be `validated` by a person. */
export const missingOf = (snapshot: ExportSnapshot, assetTypes: ReadonlyMap<string, AssetType>): readonly Problem[] =>
  problemsIn(snapshot, assetTypes, false);

function problemsIn(
  snapshot: ExportSnapshot,
  assetTypes: ReadonlyMap<string, AssetType>,
  isComplete: boolean,
): readonly Problem[] {
  const problems: Problem[] = [];
  const children = childrenIn(snapshot.parts);
  const check = ({ table, record }: SnapshotPart, prefix: string): void => {
    if (problems.length >= MAX_ERRORS) return;
    const add = (field: string, code: Problem['code'], message: string) =>
      problems.push({ field: `${prefix}${field}`, code, message });
    const { fields = [], parts: [list, one] = [] } = NEEDED[table] ?? {};
    const relations = assetTypes.get(table)?.relationships ?? [];
    for (const field of fields)
      if (nameIn(record, field) === '') add(field, 'missing', `The ${field} field is needed.`);
    for (const relation of isComplete ? relations : [])
      if (isUnresolved(snapshot, assetTypes, relation, record))
        add(relation.field, 'unknown_reference', unknown(relation, record));
    if (isComplete && Number(ownValue(record, 'quantity') ?? 1) <= 0)
      add('quantity', 'not_positive', 'The quantity must be more than 0.');
    for (const relation of relations) {
      if (relation.kind !== 'has_many') continue;
      const parts = children(relation, record.id);
      if (relation.name === list && parts.length === 0) add(list, 'missing', `The order needs at least one ${one}.`);
      for (const [index, part] of parts.entries()) check(part, `${prefix}${relation.name}.${index}.`);
    }
  };
  check({ table: snapshot.table, record: snapshot.order }, '');
  return problems.slice(0, MAX_ERRORS);
}

const unknown = ({ table, field, key }: Relationship, record: RecordView): string =>
  `There is no record of ${table} with the ${key} ${nameIn(record, field)}.`;

/** The problems as errors by field (spec §7). */
export function errorsOf(problems: readonly Problem[]): FieldErrors {
  const errors = new Map<string, string[]>();
  for (const { field, message } of problems) errors.set(field, [...(errors.get(field) ?? []), message]);
  return Object.fromEntries(errors);
}
