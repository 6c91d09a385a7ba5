/** Parses JSON from outside, in pieces if it is long, so that other requests run in between. */
import { randomUUID } from 'node:crypto';
import { setImmediate as nextRound } from 'node:timers/promises';
import { duplicateName, membersIn } from './jsonMembers.js';
import { JsonScan, type LongNumbers, notJson } from './jsonScan.js';

/** Characters to scan before other requests run: some milliseconds. */
const SLICE = 131_072;

/** @throws HttpError 400 for text that is not JSON, too deep, or has a duplicate name; 413 for too many values */
export async function parseJson(text: string, longNumbers: LongNumbers = 'asObject'): Promise<unknown> {
  const scan = new JsonScan(text, longNumbers);
  while (!scan.advance(SLICE)) await nextRound();
  const exact = scan.exactText();
  const value = scan.longArray === undefined ? parsed(exact) : await parsedInPieces(exact, scan.longArray);
  if (membersIn(value, scan.levels) < scan.members) throw await duplicateName(exact);
  return value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw notJson();
  }
}

/** @param cuts beginning of the long array, the commas to cut it at, its end */
async function parsedInPieces(text: string, cuts: readonly number[]): Promise<unknown> {
  const [start = 0, end = 0] = [cuts[0], cuts.at(-1)];
  // Parse the text around the array, with one unique entry in place of its contents.
  const mark = randomUUID();
  const document = parsed(`${text.slice(0, start)}"${mark}"${text.slice(end)}`);
  const array = arrayWith(mark, document);
  array.pop();
  for (const [index, to] of cuts.slice(1).entries()) {
    await nextRound();
    const piece = text.slice(index === 0 ? start : (cuts[index] ?? 0) + 1, to);
    // Nothing between two commas would parse as an empty array.
    if (piece.trim() === '') throw notJson();
    const entries = parsed(`[${piece}]`);
    if (Array.isArray(entries)) for (const entry of entries) array.push(entry);
  }
  return document;
}

/**
 * The array that holds only the mark. If a duplicate name has replaced it, some other array: the body is refused later.
 */
function arrayWith(mark: string, document: unknown): unknown[] {
  const members: unknown[] = Object.values(Object(document));
  const found = members.find((member) => Array.isArray(member) && member.length === 1 && member[0] === mark);
  return Array.isArray(found) ? found : [mark];
}
