/** Spaces, and values of their rows as cells of a table. */
import type { AssetField, AssetType } from '../../../domain/assetTypes/assetType.js';
import { type Fields, fieldRules, ownValue } from '../../../domain/assetTypes/fieldTypes.js';
import { isSought, sortValue } from '../../../domain/row.js';
import { SLOTS } from './layout.js';

export type Cell = string | number | null | Buffer;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Sixteen bytes for a UUID. Other ids remain texts, so they are no UUID's equal. */
export const idCell = (id: string): Cell => (UUID.test(id) ? Buffer.from(id.replaceAll('-', ''), 'hex') : id);

export function idText(cell: Buffer | string): string {
  if (typeof cell === 'string') return cell;
  const hex = cell.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** A space as it is defined. */
export type Space = {
  /** In the tenant's file. */
  readonly number: number;
  readonly name: string;
  readonly assetType: AssetType;
  /** Names of the fields that have columns, by column. A field never moves to another one. */
  readonly slots: readonly string[];
};

const NUMBERS = 2 ** 32;
/** The first number that a row of the space may have; n is added to it. */
export const baseOf = ({ number }: Pick<Space, 'number'>): number => number * NUMBERS;
export const numberOf = (row: number): number => row % NUMBERS;

/**
 * The columns of a space whose asset type changes. Fields that rows may have values of already have none: their values remain
 * in `data`.
 */
export function slotsOf(assetType: AssetType, before?: Pick<Space, 'assetType' | 'slots'>): readonly string[] {
  const known = new Set(before?.assetType.fields.map(({ name }) => name));
  const added = assetType.fields.filter((field) => isSought(field) && !known.has(field.name));
  const slots = before?.slots ?? [];
  return [...slots, ...added.map(({ name }) => name).filter((name) => !slots.includes(name))].slice(0, SLOTS.length);
}

/** Values of all columns `s<i>`. */
export const slotCells = ({ slots }: Space, fields: Fields): Cell[] =>
  SLOTS.map((_, slot) => {
    const name = slots[slot];
    return name === undefined ? null : sortValue(ownValue(fields, name) ?? null);
  });

/** The column of a field that has one. */
export function columnOf({ slots }: Space, field: string): string | undefined {
  if (field === 'created_at') return 'created';
  if (field === 'updated_at') return 'updated';
  if (field === 'id') return 'id';
  return SLOTS[slots.indexOf(field)];
}

/** Whether sort values and match texts of the field are the same. */
export const isText = ({ type, list }: AssetField): boolean => list === true || fieldRules(type).sortsAs === 'text';
