/** Values of rows as cells of a table, and back. */
import type { AssetField, AssetType } from '../../../domain/assetTypes/assetType.js';
import { type Fields, ownValue } from '../../../domain/assetTypes/fieldTypes.js';
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

const MICROSECONDS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

/** Microseconds since 1970. Times of another form, as earlier releases wrote them, remain texts. */
export function timeCell(time: string): number | string {
  const milliseconds = MICROSECONDS.test(time) ? Date.parse(`${time.slice(0, 23)}Z`) : Number.NaN;
  return Number.isNaN(milliseconds) ? time : milliseconds * 1000 + Number(time.slice(23, 26));
}

export function timeText(cell: number | string): string {
  if (typeof cell === 'string') return cell;
  const milliseconds = Math.floor(cell / 1000);
  const rest = String(cell - milliseconds * 1000).padStart(3, '0');
  return `${new Date(milliseconds).toISOString().slice(0, 23)}${rest}Z`;
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

/**
 * The columns of a space whose asset type changes. Fields that rows may have values of already have none: their values remain
 * in `data`.
 */
export function slotsOf(assetType: AssetType, before?: Pick<Space, 'assetType' | 'slots'>): readonly string[] {
  const known = new Set(before?.assetType.fields.map(({ name }) => name));
  const added = assetType.fields.filter((field) => isSought(field) && !known.has(field.name));
  const slots = before?.slots ?? [];
  return [...slots, ...added.map(({ name }) => name).filter((name) => !slots.includes(name))].slice(0, SLOTS);
}

/** Values of all columns `s<i>`. */
export function slotCells({ slots }: Space, fields: Fields): Cell[] {
  const cells: Cell[] = [];
  for (let slot = 0; slot < SLOTS; slot += 1) {
    const name = slots[slot];
    cells.push(name === undefined ? null : sortValue(ownValue(fields, name) ?? null));
  }
  return cells;
}

const TEXTS: readonly AssetField['type'][] = ['String', 'LongText', 'Date', 'DateTime'];
/** Whether sort values and match texts of the field are the same. */
export const isText = ({ type, list }: AssetField): boolean => list === true || TEXTS.includes(type);
