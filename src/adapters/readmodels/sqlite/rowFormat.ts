/** How ids, times and a record's own fields are stored in a row, and put together again as JSON text. */
import type { AssetType } from '../../../domain/assetTypes/assetType.js';
import type { Fields } from '../../../domain/assetTypes/fieldTypes.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** No character comes behind it: text that begins with `start` lies between `start` and `start` with this. */
export const LAST_CHARACTER = '\u{10ffff}';

/** The 16 bytes of a UUID; undefined when the text is none. */
export function idBytes(id: string): Buffer | undefined {
  return UUID.test(id) ? Buffer.from(id.replaceAll('-', ''), 'hex') : undefined;
}

/** The UUID, in lower case, of 16 bytes. */
export function idText(bytes: Buffer): string {
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** Microseconds since 1970 of `2026-11-21T03:11:47.123456Z`. */
export function microseconds(time: string): number {
  return Date.parse(`${time.slice(0, 23)}Z`) * 1000 + Number(time.slice(23, 26));
}

let lastSecond = Number.NaN;
let lastSecondText = '';

/** `2026-11-21T03:11:47.123456Z` of microseconds since 1970. */
export function timeText(micros: number): string {
  const second = Math.floor(micros / 1_000_000);
  if (second !== lastSecond) {
    lastSecondText = new Date(second * 1000).toISOString().slice(0, 20);
    lastSecond = second;
  }
  return `${lastSecondText}${String(micros - second * 1_000_000).padStart(6, '0')}Z`;
}

/** Writes a record's own fields as `"name":"Rotterdam","notes":null`: each field of the asset type, in its order. */
export function docWriter(assetType: AssetType): (fields: Fields) => string {
  const keys = assetType.fields.map((field, index) => ({
    name: field.name,
    text: `${index === 0 ? '' : ','}${JSON.stringify(field.name)}:`,
  }));
  return (fields) => {
    let doc = '';
    for (const { name, text } of keys) doc += text + JSON.stringify(fields[name] ?? null);
    return doc;
  };
}

/**
 * Completes rows written before a field was added: at index `width` is what has to follow the text
 * of a row that covers `width` fields.
 */
export function docEndings(assetType: AssetType): readonly string[] {
  const endings = [''];
  for (const field of assetType.fields.toReversed()) {
    endings.unshift(`,${JSON.stringify(field.name)}:null${endings[0]}`);
  }
  // A row of width 0 has no field before the first comma.
  endings[0] = endings[0]?.slice(1) ?? '';
  return endings;
}
