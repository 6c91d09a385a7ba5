/**
 * Rows: what the read side is made of. Records, deliveries, activity and sync sessions are rows alike. A space is one table of
 * one tenant, or one of the service's own, described by an asset type, so that one list, one filter and one sort serve them
 * all. Rows of the service's own spaces are written over and keep no past.
 */
import type { AssetField, AssetType } from './assetTypes/assetType.js';
import { type Fields, type FieldValue, ownValue } from './assetTypes/fieldTypes.js';
import { dateTime, integer, longText, plainString, string, tableOf } from './assetTypes/standardTables.js';
import { ORDER_MODELS } from './identity/events.js';
import { onThisRelease, standardTables, type Tables } from './identity/tenantTables.js';

type Position = number;

export type Row = {
  readonly id: string;
  /** Value of the unique field; null in spaces without one. */
  readonly key: string | null;
  /** Position of the event that made the row what it is. A batch id that moves is no such event. */
  readonly from: Position;
  /** ISO 8601. */
  readonly created: string;
  readonly updated: string;
  readonly batch: string | null;
  /** Without nulls. */
  readonly fields: Fields;
};

/** A row as it was before the event at `to` changed or deleted it. */
export type Version = Row & { readonly to: Position; readonly how: 'changed' | 'deleted' };

/** The value that a field is sorted and compared by: folded text, a number (false 0, true 1), or null, which sorts first. */
export function sortValue(value: FieldValue): string | number | null {
  if (value === null || typeof value === 'number') return value;
  return typeof value === 'boolean' ? Number(value) : matchText(value);
}

/** The text that a filter for a part of it searches: folded; for values other than text, their JSON text. */
export function matchText(value: FieldValue): string | null {
  if (value === null) return null;
  return foldCase(typeof value === 'string' ? value : JSON.stringify(value));
}

/** A field that rows can be found or sorted by. Engines may keep its sort value, its match text, or both. */
export const isSought = ({ filterable, sortable }: AssetField): boolean => filterable || sortable;

export const keyOf = ({ uniqueField }: Pick<AssetType, 'uniqueField'>, fields: Fields): string | null => {
  const value = uniqueField === undefined ? null : (ownValue(fields, uniqueField) ?? null);
  return value === null || typeof value === 'string' ? value : JSON.stringify(value);
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is meant
const ASCII = /^[\x00-\x7f]*$/;

/**
 * The form in which values, filters and sort keys are compared without regard to case: Unicode lower case in normalization
 * form NFC, with final sigma as sigma (`toLowerCase` chooses by position, which differs between a value and a part of it).
 */
export function foldCase(text: string): string {
  const lower = text.toLowerCase();
  return ASCII.test(lower) ? lower : lower.replaceAll('ς', 'σ').normalize('NFC');
}

const space = tableOf({ supportingData: false, role: 'reference' });
const number = (names: string) => integer(names, { filterable: true, sortable: true });

/** A row for each event that somebody asked for; its id is the event's. The newest is the last that was created. */
export const ACTIVITY = space('activity', 'Activity', 'What people, clients and the service did.', [
  number('position revision'),
  string('kind table order_id subject_kind subject_id'),
  plainString('actor_kind'),
  string('actor_id'),
  plainString('actor_name'),
  string('correlation_id'),
  plainString('causation_id'),
  longText('request counts fields details'),
]);

/** A row for each delivery to a webhook; it was created when it was requested. */
export const DELIVERIES = space('deliveries', 'Deliveries', 'Deliveries to webhooks, with their attempts.', [
  string('webhook_id'),
  plainString('message_id'),
  string('kind'),
  plainString('purpose'),
  string('order_id'),
  plainString('table'),
  /** The revision of the event that it tells of. */
  number('sequence'),
  /** Of the last event of its stream. */
  integer('revision'),
  /** Of the event that requested it. */
  number('position'),
  /** open, succeeded or failed. */
  string('state'),
  dateTime('ended_at'),
  /** Of the event that ended it. */
  number('ended'),
  longText('reason'),
  plainString('retry_at'),
  /** JSON text: each attempt by its number, without what is not known yet. */
  longText('attempts'),
]);

/** A row for each sync session of a table. */
export const SYNCS = space('syncs', 'Sync sessions', 'Sync sessions of tables.', [
  string('table'),
  plainString('started_at'),
  integer('deleted'),
  plainString('operation_id'),
]);

/** A row for each Idempotency-Key; kept for a day or two. */
export const KEYS = space('keys', 'Keys', 'Requests with an Idempotency-Key.', [
  plainString('body'),
  /** Id of the record that was created, or of the order. */
  plainString('subject'),
  /** Of the event, in its stream; unset where an earlier release kept the answer. */
  integer('revision'),
  /** Of the event. Unset: an earlier release has begun the request, and not ended it. */
  integer('position'),
  /** JSON text of what the answer counts. */
  longText('counts'),
  dateTime('used_at'),
]);

export const SERVICE_SPACES: Tables = new Map([ACTIVITY, DELIVERIES, SYNCS, KEYS].map((each) => [each.name, each]));

/** Whether rows that are changed or deleted stay as versions. Names of tables begin with `dyn_`. */
export const keepsPast = (name: string): boolean => !SERVICE_SPACES.has(name);

/** Definitions that were compared, with their form: comparing all of a tenant takes longer than all else of a small write. */
const forms = new WeakMap<AssetType, AssetType>();

/**
 * A tenant's spaces in the form of this release, and those that it has added; the same object where a space is as it was. None
 * for a tenant without a table of orders: it was not created yet.
 * @param stored by an earlier release, maybe
 */
export function spacesOnThisRelease(stored: Tables): Map<string, AssetType> {
  const model = ORDER_MODELS.find((name) => stored.has(name));
  if (model === undefined) return new Map();
  const standard = new Map([...standardTables(model), ...SERVICE_SPACES]);
  const onRelease = (kept: AssetType): AssetType => {
    const known = forms.get(kept);
    if (known !== undefined) return known;
    const now = onThisRelease(standard, kept) ?? kept;
    const form = JSON.stringify(now) === JSON.stringify(kept) ? kept : now;
    forms.set(kept, form);
    return form;
  };
  return new Map([...standard, ...[...stored].map(([name, kept]) => [name, onRelease(kept)] as const)]);
}
