/** Problems of an order that would spoil its export: what it lacks, references to missing records, impossible values. Pure. */
import type { AssetType, RecordView, Relationship } from '../assetTypes/assetType.js';
import type { FieldErrors } from '../assetTypes/fieldErrors.js';
import { type FieldValue, ownValue } from '../assetTypes/fieldTypes.js';
import { MAX_ERRORS } from '../limits.js';
import { childrenIn, type ExportSnapshot, isUnresolved, type SnapshotPart } from './snapshot.js';

export const PROBLEM_CODES = [
  'missing',
  'unknown_reference',
  'not_positive',
  'impossible_time',
  'impossible_date',
] as const;

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

const QUANTITY = 'quantity';
/** May be zero, for unknown. */
const MEASURES = ['gross_weight', 'net_weight', 'length', 'width', 'height', 'volume', 'loading_meters'];
const TIMES = ['issue_time', 'loading_time_from', 'loading_time_until', 'unloading_time_from', 'unloading_time_until'];
const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d)?$/;
/** The second of each pair must not be before the first. Times of a pair belong to the same day. */
const IN_ORDER = [
  ['issue_date', 'delivery_date', 'impossible_date'],
  ['loading_date', 'unloading_date', 'impossible_date'],
  ['loading_time_from', 'loading_time_until', 'impossible_time'],
  ['unloading_time_from', 'unloading_time_until', 'impossible_time'],
] as const;

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
  const look = ({ table, record }: SnapshotPart, prefix: string): void => {
    for (const field of NEEDED[table]?.fields ?? []) {
      if (isEmpty(ownValue(record, field) ?? null))
        problems.push({ field: `${prefix}${field}`, code: 'missing', message: `The ${field} field is needed.` });
    }
    for (const relation of assetTypes.get(table)?.relationships ?? []) {
      if (problems.length >= MAX_ERRORS) return;
      if (isComplete && isUnresolved(snapshot, assetTypes, relation, record)) {
        problems.push({
          field: `${prefix}${relation.field}`,
          code: 'unknown_reference',
          message: unknown(relation, record),
        });
      }
    }
    for (const { field, ...problem } of isComplete ? wrongValues(record) : [])
      problems.push({ field: `${prefix}${field}`, ...problem });
    for (const relation of assetTypes.get(table)?.relationships ?? []) {
      if (relation.kind !== 'has_many') continue;
      const parts = children(relation, record.id);
      const [list, one] = NEEDED[table]?.parts ?? [];
      if (relation.name === list && parts.length === 0)
        problems.push({ field: list, code: 'missing', message: `The order needs at least one ${one}.` });
      for (const [index, part] of parts.entries()) {
        if (problems.length >= MAX_ERRORS) return;
        look(part, `${prefix}${relation.name}.${index}.`);
      }
    }
  };
  look({ table: snapshot.table, record: snapshot.order }, '');
  return problems.slice(0, MAX_ERRORS);
}

const unknown = ({ table, field, key }: Relationship, record: RecordView): string =>
  `There is no record of ${table} with the ${key} ${String(ownValue(record, field))}.`;

function wrongValues(record: RecordView): readonly Problem[] {
  const wrong: Problem[] = [];
  const value = (name: string): FieldValue => ownValue(record, name) ?? null;
  const add = (field: string, code: Problem['code'], message: string) => wrong.push({ field, code, message });
  if (Number(value(QUANTITY) ?? 1) <= 0) add(QUANTITY, 'not_positive', `The ${QUANTITY} must be more than 0.`);
  for (const name of MEASURES)
    if (Number(value(name)) < 0) add(name, 'not_positive', `The ${name} must not be less than 0.`);
  const isTime = (name: string): boolean => TIME.test(String(value(name)));
  for (const name of TIMES) {
    if (!isEmpty(value(name)) && !isTime(name))
      add(name, 'impossible_time', `The ${name} must be a time, HH:MM or HH:MM:SS.`);
  }
  for (const [first, second, code] of IN_ORDER) {
    if (isEmpty(value(first)) || isEmpty(value(second))) continue;
    if (code === 'impossible_time' && !(isTime(first) && isTime(second))) continue;
    if (String(value(second)) < String(value(first)))
      add(second, code, `The ${second} must not be before the ${first}.`);
  }
  return wrong;
}

const isEmpty = (value: FieldValue): boolean => value === null || value === '';

/** The problems as errors by field (spec §7). */
export function errorsOf(problems: readonly Problem[]): FieldErrors {
  const errors = new Map<string, string[]>();
  for (const { field, message } of problems) errors.set(field, [...(errors.get(field) ?? []), message]);
  return Object.fromEntries(errors);
}
