/** The `validated_order` document of an export (spec §2.3), made from the approved snapshot. */
import type { RecordView, Relationship } from '../assetTypes/assetType.js';
import type { Fields } from '../assetTypes/fieldTypes.js';
import { charactersOf } from '../jsonSize.js';
import { MAX_ORDER_DOCUMENT } from '../limits.js';
import {
  type AssetTypes,
  childrenIn,
  type ExportSnapshot,
  isReference,
  nameIn,
  relatedRecord,
  type SnapshotPart,
} from './snapshot.js';

/** Who approved an order. */
export type Approver = {
  readonly id: number;
  readonly first_name: string;
  readonly last_name: string;
  readonly locale: string;
  readonly email: string;
};

type Person = Pick<Approver, 'id' | 'locale' | 'email'> & { readonly firstName: string; readonly lastName: string };
export const approverOf = ({ id, firstName, lastName, locale, email }: Person): Approver => ({
  id,
  first_name: firstName,
  last_name: lastName,
  locale,
  email,
});

/** A record that many lines refer to is in the document many times. */
export class OrderDocumentTooLargeError extends Error {
  override readonly name = 'OrderDocumentTooLargeError';
  constructor() {
    super(
      `The order with the records that it names has more than ${MAX_ORDER_DOCUMENT} characters. Make them smaller.`,
    );
  }
}

export type Approval = { readonly approvedAt: string; readonly approver: Approver };

/** The order as its approval sends it. @throws OrderDocumentTooLargeError */
export const exportDocument = (snapshot: ExportSnapshot, approval: Approval, assetTypes: AssetTypes): object =>
  orderDocument(snapshot, approval, assetTypes, { processing_status: 'submitted', error_reason: null });

/**
 * The order as webhooks send it. `left_out` says which of the records that it names, or that an export promises, do not exist.
 * @param approval the latest; undefined before the first
 * @param values of the order, in place of its own
 * @throws OrderDocumentTooLargeError
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
  const document = wholeOrder({ ...snapshot, order }, assetTypes, leftOut);
  return { ...document, ...(leftOut.length > 0 && { left_out: leftOut }), approver: approval?.approver ?? null };
}

type LeftOut = { readonly field: string; readonly reason: string };

/** Records that every export has as objects (spec §2.3), even if the order names none; others may be null. */
const PROMISED = ['buyer_customer_party', 'accounting_customer_party', 'item', 'unit_code'];

/**
 * The order with its parts and the records that they name.
 * @param leftOut collects those that do not exist; without it they are null
 * @throws OrderDocumentTooLargeError
 */
export function wholeOrder(snapshot: ExportSnapshot, assetTypes: AssetTypes, leftOut?: LeftOut[]): object {
  const children = childrenIn(snapshot.parts);
  const references = new Map<RecordView, object>();
  let characters = 0;
  const counted = <Value>(value: Value): Value => {
    characters += charactersOf(value);
    if (characters > MAX_ORDER_DOCUMENT) throw new OrderDocumentTooLargeError();
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

  const whyMissing = ({ name, table, field, key }: Relationship, record: RecordView): string | undefined => {
    const value = nameIn(record, field);
    if (value !== '') return `There was no record of ${table} with the ${key} ${value}.`;
    return PROMISED.includes(name) ? `The ${field} field is not set.` : undefined;
  };

  function whole({ table, record }: SnapshotPart, path: string): object {
    counted(record);
    const related = relationsOf(table).flatMap((relation): [name: string, value: unknown][] => {
      const { name, kind } = relation;
      if (kind === 'has_many') {
        const parts = children(relation, record.id);
        return [[name, parts.map((part, index) => whole(part, `${path}${name}.${index}.`))]];
      }
      if (!isReference(assetTypes, relation)) return [];
      const found = counted(named(relation, record));
      const reason = found === null ? whyMissing(relation, record) : undefined;
      if (reason === undefined || leftOut === undefined) return [[name, found]];
      leftOut.push({ field: `${path}${name}`, reason });
      return [];
    });
    return { ...record, ...Object.fromEntries(related) };
  }

  return whole({ table: snapshot.table, record: snapshot.order }, '');
}

/** An item's category (spec §2.3), made of two of its fields. */
const categoryOf = ({ category_id: id = null, category_name: name = null }: RecordView): object | null =>
  id === null ? null : { id, name };
