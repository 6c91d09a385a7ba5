/** The document of an order (spec §2.3), made of a snapshot of what it names, and the problems that would spoil it. Pure. */
import type { AssetType, RecordView, Relationship } from '../assetTypes/assetType.js';
import { type Fields, ownValue } from '../assetTypes/fieldTypes.js';
import type { FieldErrors } from '../assetTypes/recordSchema.js';
import { AnswerTooLargeError, charactersOf } from '../jsonSize.js';
import { MAX_DOCUMENT_BYTES, MAX_ENTRIES } from '../limits.js';
import type { Approval, ExportSnapshot, Problem, SnapshotPart } from './events.js';

export type AssetTypes = ReadonlyMap<string, AssetType>;

/** Finds the parts that refer to a record, by an index: there may be a thousand of both. */
export function childrenIn(parts: readonly SnapshotPart[], assetTypes: AssetTypes) {
  const index = new Map<string, SnapshotPart[]>();
  for (const part of parts) {
    const key = `${part.table} ${parentOf(assetTypes, part.table, part.record)}`;
    const siblings = index.get(key);
    if (siblings === undefined) index.set(key, [part]);
    else siblings.push(part);
  }
  return ({ table }: Relationship, id: string): readonly SnapshotPart[] => index.get(`${table} ${id}`) ?? [];
}

/** Whether it leads to a record of Reference Data, which may not exist. */
export const isReference = (assetTypes: AssetTypes, { kind, table }: Relationship): boolean =>
  kind === 'belongs_to' && assetTypes.get(table)?.role === 'reference';

/** The reference in a field; '' when there is none. */
export const nameIn = (record: Fields, field: string): string => String(ownValue(record, field) ?? '');

/** The id of the record that a part belongs to; '' if there is none. */
export const parentOf = (assetTypes: AssetTypes, table: string, fields: Fields): string =>
  nameIn(fields, assetTypes.get(table)?.parent?.field ?? '');

/** The reference record that a relation leads to. Keys come from the integrator, so only own properties count. */
function relatedRecord(
  { related }: ExportSnapshot,
  { table, field }: Relationship,
  record: RecordView,
): RecordView | undefined {
  const key = nameIn(record, field);
  const records = related[table];
  return records !== undefined && Object.hasOwn(records, key) ? records[key] : undefined;
}

/**
 * The order as webhooks send it. `left_out` says which of the records that it names, or that an export promises, do not exist.
 * @param approval the latest; undefined before the first
 * @param values of the order, in place of its own
 * @throws AnswerTooLargeError
 */
export function orderDocument(
  snapshot: ExportSnapshot,
  approval: Approval | undefined,
  assetTypes: AssetTypes,
  values: Fields = {},
): object {
  // The form of approved_at (spec §2.3): YYYY-MM-DD HH:MM:SS.
  const approvedAt = approval?.approvedAt.slice(0, 19).replace('T', ' ') ?? null;
  const approved = { approved_at: approvedAt, approved_by: approval?.approver.id ?? null };
  const order = { ...snapshot.order, ...approved, ...values };
  const leftOut: LeftOut[] = [];
  const { document } = wholeOrder({ ...snapshot, order }, assetTypes, leftOut);
  return { ...document, ...(leftOut.length > 0 && { left_out: leftOut }), approver: approval?.approver ?? null };
}

type LeftOut = { readonly field: string; readonly reason: string };

/** Records that every export has as objects (spec §2.3), even if the order names none; others may be null. */
const PROMISED = ['buyer_customer_party', 'accounting_customer_party', 'item', 'unit_code'];

/** The fields and the list of parts that an export needs ("all required fields filled", spec §3), by table. */
const NEEDED: { readonly [table: string]: { readonly fields: readonly string[]; readonly list?: string } } = {
  dyn_stock_order: { fields: ['buyer_customer_party_id', 'delivery_date'], list: 'lines' },
  dyn_order_line: { fields: ['item_id', 'unit_code_id'] },
  dyn_transport_order: { fields: ['buyer_customer_party_id'], list: 'consignments' },
};

/**
 * The order with its parts and the records that they name, and what would spoil its export.
 * @param leftOut collects records that do not exist; without it they are null
 * @throws AnswerTooLargeError
 */
export function wholeOrder(
  snapshot: ExportSnapshot,
  assetTypes: AssetTypes,
  leftOut?: LeftOut[],
): { readonly document: object; readonly problems: readonly Problem[] } {
  const children = childrenIn(snapshot.parts, assetTypes);
  const references = new Map<RecordView, object>();
  const problems: Problem[] = [];
  let characters = 0;
  const counted = <Value>(value: Value): Value => {
    characters += charactersOf(value);
    // A record that many lines refer to is in the document many times.
    if (characters > MAX_DOCUMENT_BYTES)
      throw new AnswerTooLargeError(
        `The order with the records that it names has more than ${MAX_DOCUMENT_BYTES} characters. Make them smaller.`,
      );
    return value;
  };
  const relationsOf = (table: string): readonly Relationship[] => assetTypes.get(table)?.relationships ?? [];
  const named = (relation: Relationship, record: RecordView): object | null => {
    const found = relatedRecord(snapshot, relation, record);
    return found === undefined ? null : reference(relation.table, found);
  };

  /** With the reference records that it refers to in turn. Each is made once: thousands of lines may refer to it. */
  function reference(table: string, record: RecordView): object {
    const known = references.get(record);
    if (known !== undefined) return known;
    const related = relationsOf(table).filter((relation) => isReference(assetTypes, relation));
    const made = {
      ...record,
      ...Object.fromEntries(related.map((relation) => [relation.name, named(relation, record)])),
      ...(table === 'dyn_item' && { category: categoryOf(record) }),
    };
    references.set(record, made);
    return made;
  }

  function whole({ table, record }: SnapshotPart, path: string): object {
    const shown: { [name: string]: unknown } = { ...counted(record) };
    const add = (field: string, code: Problem['code'], message: string): void => {
      problems.push({ field: `${path}${field}`, code, message });
    };
    const { fields = [], list } = NEEDED[table] ?? {};
    for (const field of fields)
      if (nameIn(record, field) === '') add(field, 'missing', `The ${field} field is needed.`);
    for (const relation of relationsOf(table)) {
      const { name, field, key, kind, table: other } = relation;
      if (kind === 'has_many') {
        const parts = children(relation, record.id);
        if (name === list && parts.length === 0) add(name, 'missing', `The order needs at least one of its ${name}.`);
        shown[name] = parts.map((part, index) => whole(part, `${path}${name}.${index}.`));
      }
      if (!isReference(assetTypes, relation)) continue;
      shown[name] = counted(named(relation, record));
      const value = nameIn(record, field);
      if (shown[name] !== null || (value === '' && !PROMISED.includes(name))) continue;
      const which = `record of ${other} with the ${key} ${value}.`;
      if (value !== '') add(field, 'unknown_reference', `There is no ${which}`);
      if (leftOut === undefined) continue;
      delete shown[name];
      const reason = value === '' ? `The ${field} field is not set.` : `There was no ${which}`;
      leftOut.push({ field: `${path}${name}`, reason });
    }
    if (Number(ownValue(record, 'quantity') ?? 1) <= 0)
      add('quantity', 'not_positive', 'The quantity must be more than 0.');
    return shown;
  }

  return { document: whole({ table: snapshot.table, record: snapshot.order }, ''), problems };
}

/** An item's category (spec §2.3), made of two of its fields. */
const categoryOf = ({ category_id: id = null, category_name: name = null }: RecordView): object | null =>
  id === null ? null : { id, name };

/** The first MAX_ENTRIES problems as errors by field (spec §7). */
export function errorsOf(problems: readonly Problem[]): FieldErrors {
  const errors = new Map<string, string[]>();
  for (const { field, message } of problems.slice(0, MAX_ENTRIES))
    errors.set(field, [...(errors.get(field) ?? []), message]);
  return Object.fromEntries(errors);
}
