/** Ids and times as rows store them. */
import { storedId } from '../shared/recordText.js';

/** The highest character: text that begins with `start` lies between `start` and `start` followed by this. */
export const LAST_CHARACTER = '\u{10ffff}';

/** The 16 bytes of a UUID; undefined if the text is none. */
export function idBytes(id: string): Buffer | undefined {
  return storedId(id) === undefined ? undefined : Buffer.from(id.replaceAll('-', ''), 'hex');
}

/** The UUID, in lower case, of 16 bytes. */
export const idText = (bytes: Buffer): string => hexIdText(bytes.toString('hex'));

/** The UUID, in lower case, of 32 hexadecimal digits. */
export function hexIdText(digits: string): string {
  const hex = digits.toLowerCase();
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
