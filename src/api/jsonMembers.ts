/**
 * Refuses duplicate names in a JSON object: RFC 8259 §4 leaves open which of the two counts, and parsers differ. A
 * duplicate is detected by counting members; only then is the text searched for it.
 */
import { shownName } from '../domain/shownName.js';
import { Pauses } from '../supervision/waiting.js';
import { badRequest, type HttpError } from './errors.js';
import { endOfString } from './jsonScan.js';

/**
 * Members of all objects in a parsed value. The text has more if a name is duplicated.
 * @param levels nesting depth of the value; the innermost level is only counted
 */
export function membersIn(value: unknown, levels: number): number {
  if (typeof value !== 'object' || value === null) return 0;
  const isArray = Array.isArray(value);
  if (levels <= 1) return isArray ? 0 : Object.keys(value).length;
  const parts: readonly unknown[] = isArray ? value : Object.values(value);
  return parts.reduce<number>((members, part) => members + membersIn(part, levels - 1), isArray ? 0 : parts.length);
}

/** An open object with its names so far and the current one, or an open array with the current index. */
type Open = { readonly names?: Set<string>; at: string | number };

/** Characters between two checks of the clock. */
const SLICE = 65_536;

/** @param text JSON that has a duplicate name. @returns HttpError 400 with the path of the first one */
export async function duplicateName(text: string): Promise<HttpError> {
  const pauses = new Pauses();
  const open: Open[] = [];
  let lookAt = SLICE;
  for (let at = 0; at < text.length; at += 1) {
    if (at > lookAt) {
      lookAt = at + SLICE;
      if (pauses.isDue()) await pauses.take();
    }
    const inner = open.at(-1);
    switch (text[at]) {
      case '{':
        open.push({ names: new Set(), at: '' });
        break;
      case '[':
        open.push({ at: 0 });
        break;
      case '}':
      case ']':
        open.pop();
        break;
      case ',':
        if (typeof inner?.at === 'number') inner.at += 1;
        break;
      case '"': {
        const end = endOfString(text, at);
        if (inner?.names !== undefined && isName(text, end)) {
          const name: string = JSON.parse(text.slice(at, end + 1));
          inner.at = name;
          if (inner.names.has(name)) return duplicateAt(open);
          inner.names.add(name);
        }
        at = end;
      }
    }
  }
  return badRequest('The body has a name twice in one object.');
}

const duplicateAt = (open: readonly Open[]): HttpError =>
  badRequest(`The body has ${open.map(({ at }) => shownName(String(at))).join('.')} twice.`);

/** Whether a colon follows the string that ends at `end`. */
function isName(text: string, end: number): boolean {
  let at = end + 1;
  while (text.charCodeAt(at) <= 0x20) at += 1;
  return text[at] === ':';
}
