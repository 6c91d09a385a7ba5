/** The `validated_order` document of an export (spec §2.3), made from the approved snapshot. */
import type { AssetType, RecordView, Relationship } from '../assetTypes/assetType.js';
import type { Fields, FieldValue } from '../assetTypes/fieldTypes.js';
import type { User } from '../identity/events.js';
import { MAX_ORDER_DOCUMENT } from '../limits.js';
import {
  type ChildrenOf,
  childrenIn,
  type ExportSnapshot,
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

export const approverOf = ({ id, firstName, lastName, locale, email }: User): Approver => ({
  id,
  first_name: firstName,
  last_name: lastName,
  locale,
  email,
});

/** A record that thousands of lines refer to is in the document thousands of times. */
export class OrderDocumentTooLargeError extends Error {
  override readonly name = 'OrderDocumentTooLargeError';
  constructor() {
    super(
      `The order with the records that it names has more than ${MAX_ORDER_DOCUMENT} characters. Make them smaller.`,
    );
  }
}

/** Turns `2026-11-21T03:11:47.123456Z` into `2026-11-21 03:11:47`, the form of approved_at (spec §2.3). */
const toSpacedDateTime = (timestamp: string): string => timestamp.slice(0, 19).replace('T', ' ');

export type Approval = { readonly approvedAt: string; readonly approver: Approver };

/** The order as its approval sent it: JSON text in pieces, see `orderText`. */
export function exportText(
  snapshot: ExportSnapshot,
  approval: Approval,
  assetTypes: ReadonlyMap<string, AssetType>,
): Iterable<string> {
  const values = { processing_status: 'submitted', error_reason: null };
  // Its approval has looked at its length, by the limit of its release.
  return orderText(snapshot, approval, assetTypes, values, Number.POSITIVE_INFINITY);
}

/**
 * The order with its parts and the records that they name, as webhooks send it, with the status that it has in the snapshot:
 * JSON text in pieces of about one record. `left_out` says which related records do not exist.
 * @param approval the latest; undefined before the first
 * @param values of the order, in place of its own
 * @param most characters
 * @throws OrderDocumentTooLargeError
 */
export function orderText(
  snapshot: ExportSnapshot,
  approval: Approval | undefined,
  assetTypes: ReadonlyMap<string, AssetType>,
  values: Fields = {},
  most = MAX_ORDER_DOCUMENT,
): Iterable<string> {
  const leftOut: { field: string; reason: string }[] = [];
  const approved = {
    approved_at: approval === undefined ? null : toSpacedDateTime(approval.approvedAt),
    approved_by: approval?.approver.id ?? null,
  };
  return documentText(snapshot, assetTypes, {
    values: { ...approved, ...values },
    most,
    leaveOut: (field, reason) => leftOut.push({ field, reason }),
    more: () => ({ ...(leftOut.length === 0 ? {} : { left_out: leftOut }), approver: approval?.approver ?? null }),
  });
}

/**
 * The same as the API shows it: with the order's own values, and null for related records that do not exist.
 * @param more members at its end
 * @throws OrderDocumentTooLargeError
 */
export const shownOrderText = (
  snapshot: ExportSnapshot,
  assetTypes: ReadonlyMap<string, AssetType>,
  more: object,
): Iterable<string> =>
  documentText(snapshot, assetTypes, { values: {}, most: MAX_ORDER_DOCUMENT, leaveOut: undefined, more: () => more });

type DocumentOptions = Pick<Source, 'leaveOut'> & {
  readonly values: Fields;
  readonly most: number;
  /** Called when the rest of the document is made. */
  readonly more: () => object;
};

function* documentText(
  snapshot: ExportSnapshot,
  assetTypes: ReadonlyMap<string, AssetType>,
  { values, most, leaveOut, more }: DocumentOptions,
): Generator<string> {
  let length = 0;
  const source: Source = {
    snapshot,
    assetTypes,
    leaveOut,
    children: childrenIn(snapshot.parts),
    references: new Map(),
    count: (added) => {
      length += added;
      if (length > most) throw new OrderDocumentTooLargeError();
    },
  };
  yield* recordText({ table: snapshot.table, record: { ...snapshot.order, ...values } }, source, '');
  yield `${membersAfterOthers(more())}}`;
}

type Source = {
  readonly snapshot: ExportSnapshot;
  readonly assetTypes: ReadonlyMap<string, AssetType>;
  readonly children: ChildrenOf;
  /** Texts of reference records, which a document may repeat thousands of times. */
  readonly references: Map<RecordView, ReferenceText>;
  /** Adds to the document's length. */
  readonly count: (length: number) => void;
  /** Reports what is left out; undefined: it is null instead. */
  readonly leaveOut: ((field: string, reason: string) => void) | undefined;
};

/** `length`: roughly, with the records that it refers to in turn. */
type ReferenceText = { readonly text: string; readonly length: number };

/** Roughly the length of its JSON. */
const lengthOf = (record: RecordView): number =>
  Object.entries(record).reduce(
    (length, [name, value]) => length + name.length + (typeof value === 'string' ? value.length : lengthOfOther(value)),
    0,
  );

const lengthOfOther = (value: unknown): number => (Array.isArray(value) ? JSON.stringify(value).length : 8);

/** Related records that every export of an order has (spec §2.3), even if the order refers to none; others may be null. */
const PROMISED: { readonly [table: string]: readonly string[] } = {
  dyn_stock_order: ['buyer_customer_party', 'accounting_customer_party'],
  dyn_transport_order: ['buyer_customer_party', 'accounting_customer_party'],
  dyn_order_line: ['item', 'unit_code'],
};

export const isPromised = (table: string, relation: string): boolean => PROMISED[table]?.includes(relation) === true;

/** JSON text of an order's own record or a part, with its relations, without the closing brace. */
function* recordText({ table, record }: SnapshotPart, source: Source, path: string): Generator<string> {
  const { snapshot, assetTypes, children, count, leaveOut } = source;
  count(lengthOf(record));
  const relations = assetTypes.get(table)?.relationships ?? [];
  yield ownMembers(record, relations);
  for (const relation of relations) {
    const { name, field } = relation;
    if (relation.kind === 'has_many') {
      yield `,${JSON.stringify(name)}:[`;
      for (const [index, part] of children(relation, record.id).entries()) {
        if (index > 0) yield ',';
        yield* recordText(part, source, `${path}${name}.${index}.`);
        yield '}';
      }
      yield ']';
    } else if (assetTypes.get(relation.table)?.role === 'reference') {
      const related = relatedRecord(snapshot, relation, record);
      const reason = related === undefined ? whyMissing(table, relation, nameIn(record, field)) : undefined;
      if (reason === undefined || leaveOut === undefined)
        yield `,${JSON.stringify(name)}:${countedReference(relation.table, related, source)}`;
      else leaveOut(`${path}${name}`, reason);
    }
  }
}

function countedReference(table: string, record: RecordView | undefined, source: Source): string {
  if (record === undefined) return 'null';
  const { text, length } = referenceText(table, record, source);
  source.count(length);
  return text;
}

/** An item's category, made of two of its fields. */
const CATEGORY = { name: 'category' };

/** JSON text of a reference record with those that it refers to in turn; null if one does not exist. */
function referenceText(table: string, record: RecordView, source: Source): ReferenceText {
  const { snapshot, assetTypes, references } = source;
  const known = references.get(record);
  if (known !== undefined) return known;
  const relations = assetTypes.get(table)?.relationships ?? [];
  let length = lengthOf(record);
  let text = ownMembers(record, table === 'dyn_item' ? [...relations, CATEGORY] : relations);
  for (const relation of relations) {
    if (relation.kind === 'has_many' || assetTypes.get(relation.table)?.role !== 'reference') continue;
    const related = relatedRecord(snapshot, relation, record);
    const found = related && referenceText(relation.table, related, source);
    text += `,${JSON.stringify(relation.name)}:${found?.text ?? 'null'}`;
    length += found?.length ?? 0;
  }
  if (table === 'dyn_item') text += `,"${CATEGORY.name}":${JSON.stringify(category(record))}`;
  const made = { text: `${text}}`, length };
  references.set(record, made);
  return made;
}

/** The members of the record's own fields, without the closing brace. Those with the name of a relation are left out. */
function ownMembers(record: RecordView, relations: readonly { readonly name: string }[]): string {
  const isRelation = (name: string): boolean => relations.some((relation) => relation.name === name);
  const own = relations.some(({ name }) => Object.hasOwn(record, name))
    ? Object.fromEntries(Object.entries(record).filter(([name]) => !isRelation(name)))
    : record;
  return JSON.stringify(own).slice(0, -1);
}

function membersAfterOthers(members: object): string {
  const text = JSON.stringify(members).slice(1, -1);
  return text === '' ? '' : `,${text}`;
}

/** Undefined when the record is neither promised nor referred to. */
function whyMissing(table: string, relation: Relationship, named: string): string | undefined {
  if (named !== '') return `There was no record of ${relation.table} with the ${relation.key} ${named}.`;
  return isPromised(table, relation.name) ? `The ${relation.field} field is not set.` : undefined;
}

const category = (item: RecordView): { id: FieldValue; name: FieldValue } | null =>
  (item.category_id ?? null) === null ? null : { id: item.category_id ?? null, name: item.category_name ?? null };
