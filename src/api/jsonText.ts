/** Parsing JSON from outside, in pieces where it is long: other requests have their turns between them. */
import { randomUUID } from 'node:crypto';
import { setImmediate as nextRound } from 'node:timers/promises';
import { membersIn, nameTwice } from './jsonMembers.js';
import { JsonScan, type LongNumbers, notJson } from './jsonScan.js';

/** Characters that are looked at before other requests have their turns: some milliseconds. */
const SLICE = 131_072;

/** @throws HttpError 400 for what is no JSON, too deep, or has a name twice in one object; 413 for too many values */
export async function parseJson(text: string, longNumbers: LongNumbers = 'asObject'): Promise<unknown> {
  const look = new JsonScan(text, longNumbers);
  while (!look.through(SLICE)) await nextRound();
  const exact = look.exactText();
  const value = look.longArray === undefined ? parsed(exact) : await parsedInPieces(exact, look.longArray);
  if (membersIn(value, look.levels) < look.members) throw await nameTwice(exact);
  return value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw notJson();
  }
}

/** @param cuts of a long array: its beginning, the commas to cut it at, its end */
async function parsedInPieces(text: string, cuts: readonly number[]): Promise<unknown> {
  const [start = 0, end = 0] = [cuts[0], cuts.at(-1)];
  // Everything around the array, with one entry in it that tells it apart.
  const mark = randomUUID();
  const document = parsed(`${text.slice(0, start)}"${mark}"${text.slice(end)}`);
  const array = arrayWith(mark, document);
  array.pop();
  for (const [index, to] of cuts.slice(1).entries()) {
    await nextRound();
    const piece = text.slice(index === 0 ? start : (cuts[index] ?? 0) + 1, to);
    // Nothing between two commas would make an empty array of the piece.
    if (piece.trim() === '') throw notJson();
    const entries = parsed(`[${piece}]`);
    if (Array.isArray(entries)) for (const entry of entries) array.push(entry);
  }
  return document;
}

/** The member that holds the mark alone; another array where a later member of the same name took its place, which is refused. */
function arrayWith(mark: string, document: unknown): unknown[] {
  const members: unknown[] = Object.values(Object(document));
  const found = members.find((member) => Array.isArray(member) && member.length === 1 && member[0] === mark);
  return Array.isArray(found) ? found : [mark];
}
