/**
 * Rows: what the read side is made of. Records, deliveries, activity and sync sessions are rows alike. A space is one table of
 * one tenant, described by an asset type, so that one list, one filter and one sort serve them all.
 */
import type { AssetField, AssetType } from './assetTypes/assetType.js';
import { type Fields, type FieldValue, ownValue } from './assetTypes/fieldTypes.js';

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
