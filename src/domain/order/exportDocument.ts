/** The `validated_order` document of an export (spec §2.3), made from the approved snapshot. */
import type { AssetType, RecordView, Relationship } from '../assetTypes/assetType.js';
import type { Fields } from '../assetTypes/fieldTypes.js';
import { charactersOf } from '../jsonSize.js';
import { MAX_ORDER_DOCUMENT } from '../limits.js';
import { childrenIn, type ExportSnapshot, nameIn, relatedRecord, type SnapshotPart } from './snapshot.js';

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
type AssetTypes = ReadonlyMap<string, AssetType>;

/** The order as its approval sent it, of any length: the approval has looked at it, by the limit of its release. */
export function exportDocument(snapshot: ExportSnapshot, approval: Approval, assetTypes: AssetTypes): object {
  const values = { processing_status: 'submitted', error_reason: null };
  return orderDocument(snapshot, approval, assetTypes, values, Number.POSITIVE_INFINITY);
}

/**
 * The order with its parts and the records that they name, as webhooks send it, with the status that it has in the snapshot.
 * `left_out` says which related records do not exist.
 * @param approval the latest; undefined before the first
 * @param values of the order, in place of its own
 * @param most characters
 * @throws OrderDocumentTooLargeError
 */
export function orderDocument(
  snapshot: ExportSnapshot,
  approval: Approval | undefined,
  assetTypes: AssetTypes,
  values: Fields = {},
  most = MAX_ORDER_DOCUMENT,
): object {
  const leftOut: LeftOut[] = [];
  // The form of approved_at (spec §2.3): YYYY-MM-DD HH:MM:SS.
  const approvedAt = approval?.approvedAt.slice(0, 19).replace('T', ' ') ?? null;
  const approved = { approved_at: approvedAt, approved_by: approval?.approver.id ?? null };
  const order = withRelations(snapshot, assetTypes, { ...approved, ...values }, most, leftOut);
  return { ...order, ...(leftOut.length > 0 && { left_out: leftOut }), approver: approval?.approver ?? null };
}

/** The same as the API shows it: with the order's own values, and null for related records that do not exist. */
export const shownOrder = (snapshot: ExportSnapshot, assetTypes: AssetTypes): object =>
  withRelations(snapshot, assetTypes, {}, MAX_ORDER_DOCUMENT);

type LeftOut = { readonly field: string; readonly reason: string };

/** @param leftOut collects related records that do not exist; undefined: they are null */
function withRelations(
  snapshot: ExportSnapshot,
  assetTypes: AssetTypes,
  values: Fields,
  most: number,
  leftOut?: LeftOut[],
): object {
  const children = childrenIn(snapshot.parts);
  const references = new Map<RecordView, object>();
  let characters = 0;
  const count = (added: number): void => {
    characters += added;
    if (characters > most) throw new OrderDocumentTooLargeError();
  };
  const relationsOf = (table: string): readonly Relationship[] => assetTypes.get(table)?.relationships ?? [];
  const isReference = ({ kind, table }: Relationship): boolean =>
    kind === 'belongs_to' && assetTypes.get(table)?.role === 'reference';

  /** With the reference records that it refers to in turn. Each is made once: thousands of lines may refer to it. */
  function reference(table: string, record: RecordView): object {
    const known = references.get(record);
    if (known !== undefined) return known;
    const relations = relationsOf(table);
    const isItem = table === 'dyn_item';
    const related = relations.filter(isReference).map((relation) => {
      const found = relatedRecord(snapshot, relation, record);
      return [relation.name, found === undefined ? null : reference(relation.table, found)] as const;
    });
    const made = {
      ...withoutNames(record, isItem ? [...relations, CATEGORY] : relations),
      ...Object.fromEntries(related),
      ...(isItem && { [CATEGORY.name]: categoryOf(record) }),
    };
    references.set(record, made);
    return made;
  }

  function whole({ table, record }: SnapshotPart, path: string): object {
    count(charactersOf(record));
    const relations = relationsOf(table);
    const related: [name: string, value: unknown][] = [];
    for (const relation of relations) {
      const { name, field } = relation;
      if (relation.kind === 'has_many') {
        const parts = children(relation, record.id);
        related.push([name, parts.map((part, index) => whole(part, `${path}${name}.${index}.`))]);
      } else if (isReference(relation)) {
        const found = relatedRecord(snapshot, relation, record);
        const reason = found === undefined ? whyMissing(table, relation, nameIn(record, field)) : undefined;
        const shown = found === undefined ? null : reference(relation.table, found);
        if (reason !== undefined && leftOut !== undefined) leftOut.push({ field: `${path}${name}`, reason });
        else related.push([name, shown]);
        count(charactersOf(shown));
      }
    }
    return { ...withoutNames(record, relations), ...Object.fromEntries(related) };
  }

  return whole({ table: snapshot.table, record: { ...snapshot.order, ...values } }, '');
}

/** The record's own fields. Those with the name of a relation are left out. */
function withoutNames(record: RecordView, relations: readonly { readonly name: string }[]): object {
  if (!relations.some(({ name }) => Object.hasOwn(record, name))) return record;
  const isRelation = (name: string): boolean => relations.some((relation) => relation.name === name);
  return Object.fromEntries(Object.entries(record).filter(([name]) => !isRelation(name)));
}

/** An item's category, made of two of its fields. */
const CATEGORY = { name: 'category' };

const categoryOf = ({ category_id: id = null, category_name: name = null }: RecordView): object | null =>
  id === null ? null : { id, name };

/** Related records that every export of an order has (spec §2.3), even if the order refers to none; others may be null. */
const PROMISED: { readonly [table: string]: readonly string[] } = {
  dyn_stock_order: ['buyer_customer_party', 'accounting_customer_party'],
  dyn_transport_order: ['buyer_customer_party', 'accounting_customer_party'],
  dyn_order_line: ['item', 'unit_code'],
};

const isPromised = (table: string, relation: string): boolean => PROMISED[table]?.includes(relation) === true;

/** Undefined when the record is neither promised nor referred to. */
function whyMissing(table: string, relation: Relationship, named: string): string | undefined {
  if (named !== '') return `There was no record of ${relation.table} with the ${relation.key} ${named}.`;
  return isPromised(table, relation.name) ? `The ${relation.field} field is not set.` : undefined;
}
