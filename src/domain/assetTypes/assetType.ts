/** What an asset type is: the schema of a dynamic table (spec §1, §2.1). */
import { type Fields, type FieldType, type FieldValue, ownValue } from './fieldTypes.js';

export type AssetField = {
  readonly name: string;
  readonly label: string;
  readonly type: FieldType;
  /** Must be given on create and must not be null. Other fields are nullable. */
  readonly required: boolean;
  readonly filterable: boolean;
  readonly sortable: boolean;
  /** In characters; only for String and LongText. */
  readonly maxLength?: number;
  /** Values must be UUIDs (fields that name a record of another table). */
  readonly format?: 'uuid';
  /** Set by the service; accepted in a body and ignored. */
  readonly readOnly?: true;
  /** The value is an array of strings. */
  readonly list?: true;
  readonly oneOf?: readonly string[];
  /** Added by the tenant, not part of the standard. */
  readonly custom?: true;
  /** The table of the record that its value names, and the field that has this value there. */
  readonly refersTo?: Pick<Relationship, 'table' | 'key'>;
};

/** What people read in their language, in place of a label. */
export const LANGUAGES = ['en', 'nl'] as const;
type Labels = { readonly [language in (typeof LANGUAGES)[number]]?: string | undefined };
/** Of the table, and of fields by name. */
export type TableLabels = { readonly table: Labels; readonly fields: { readonly [field: string]: Labels } };

export type Relationship = {
  /** Name of the expanded object in an order payload (`item`, `lines`). */
  readonly name: string;
  readonly kind: 'belongs_to' | 'has_many';
  readonly table: string;
  /** The referring field: of this table for belongs_to, of the other table for has_many. */
  readonly field: string;
  readonly key: string;
};

export type AssetType = {
  /** The `{table}` path segment. */
  readonly name: string;
  readonly label: string;
  readonly description: string;
  /** Reference Data, which tenants customize; otherwise Master Data. */
  readonly supportingData: boolean;
  /** The unique index field; Reference Data only. */
  readonly uniqueField?: string;
  /** In the order in which they are shown. Later releases may add fields anywhere, and remove none. */
  readonly fields: readonly AssetField[];
  readonly relationships: readonly Relationship[];
  readonly labels?: TableLabels;
  /** The tenant's own fields that records have no more: the past has values of them. */
  readonly retired?: readonly AssetField[];
  /** Of Master Data, `order` is the root of the consistency boundary, and a `part` belongs to an order. */
  readonly role: 'reference' | 'order' | 'part';
  /** A part: the field that names its parent, and the parent's table. */
  readonly parent?: { readonly field: string; readonly table: string };
  /** The whole table was added by the tenant. */
  readonly custom?: true;
};

/** `sales_order_id` becomes Sales order id. */
export const labelOf = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ');

/** Fields that every record has (spec §2.1). Not part of `AssetType.fields`. */
export const SYSTEM_FIELDS = ['id', 'created_at', 'updated_at', '_batch_id'] as const;

/** System fields a list can always be sorted by (spec §4.3). */
export const ALWAYS_SORTABLE = ['created_at', 'updated_at'] as const;

export function findField(assetType: Pick<AssetType, 'fields'>, name: string): AssetField | undefined {
  return assetType.fields.find((field) => field.name === name);
}

export const isSortable = (assetType: AssetType, name: string): boolean =>
  (ALWAYS_SORTABLE as readonly string[]).includes(name) || findField(assetType, name)?.sortable === true;

/** id, created_at, updated_at, then every field of the asset type, null where unset. */
export type RecordView = { readonly id: string; readonly created_at: string; readonly updated_at: string } & Fields;

export function recordView(
  assetType: Pick<AssetType, 'fields'>,
  record: { readonly id: string; readonly createdAt: string; readonly updatedAt: string; readonly fields: Fields },
): RecordView {
  // Filled in place: a page has a thousand of them.
  const view: Record<string, FieldValue> = {
    id: record.id,
    created_at: record.createdAt,
    updated_at: record.updatedAt,
  };
  for (const { name } of assetType.fields) view[name] = ownValue(record.fields, name) ?? null;
  return view as RecordView;
}
