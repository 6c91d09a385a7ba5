/** The proof of stored records: two sides in the order of their keys, and what of a record is not what it should be. */
import { isDeepStrictEqual } from 'node:util';
import type { Fields } from '../../../domain/assetTypes/fieldTypes.js';
import { ownValue } from '../../../domain/assetTypes/fieldTypes.js';
import type { Difference, ProofPart, ProofSlice } from '../../../ports/readModelProof.js';

/** Of one side in one slice. */
const MAX_ROWS = 1_000;
const MAX_CHARACTERS = 8_000_000;

export type Keyed = { readonly key: string };

/** Rows of one side in the order of their keys. `whole`: there are no more behind them. */
export type Side<Row extends Keyed> = { readonly rows: readonly Row[]; readonly whole: boolean };

/** Takes rows until they are enough for a slice. @param size characters of a row */
export async function sideOf<Row extends Keyed>(
  rows: AsyncIterable<Row> | Iterable<Row>,
  size: (row: Row) => number,
): Promise<Side<Row>> {
  const taken: Row[] = [];
  let characters = 0;
  for await (const row of rows) {
    taken.push(row);
    characters += size(row);
    if (taken.length >= MAX_ROWS || characters >= MAX_CHARACTERS) return { rows: taken, whole: false };
  }
  return { rows: taken, whole: true };
}

export const NO_ROWS = { rows: [], whole: true } as const;

type Pair<Row> = { readonly live?: Row; readonly copy?: Row };

/** The rows of both sides by their keys, as far as both have been read; and the key to go on behind. */
function paired<Row extends Keyed>(live: Side<Row>, copy: Side<Row>): { pairs: Pair<Row>[]; next: string | undefined } {
  const ends = [live, copy].flatMap(({ rows, whole }) => (whole ? [] : [rows.at(-1)?.key ?? '']));
  const next = ends.sort()[0];
  const byKey = new Map<string, { live?: Row; copy?: Row }>();
  for (const side of ['live', 'copy'] as const) {
    for (const row of { live, copy }[side].rows) {
      if (next !== undefined && row.key > next) break;
      byKey.set(row.key, { ...byKey.get(row.key), [side]: row });
    }
  }
  return { pairs: [...byKey.values()], next };
}

/** What a difference says beside the part that it is in. */
export type Finding = Omit<Difference, keyof ProofPart>;

export const inPart = (part: ProofPart, findings: readonly Finding[]): readonly Difference[] =>
  findings.map((finding) => ({ ...part, ...finding }));

/** How rows are compared. */
export type Comparison<Row> = {
  /** Where the records of the live side lie. */
  readonly place: string;
  readonly nameOf: (row: Row) => string;
  /** What of it is not the same in both, by name. */
  readonly changed: (live: Row, copy: Row) => readonly string[];
  /** What is stored beside a record, and does not fit it. */
  readonly itself: (row: Row) => readonly Finding[];
  /** May it be missing from what is served? */
  readonly mayBeMissing?: (copy: Row) => boolean;
};

/** @param live where it is undefined, the copy is looked at by itself */
export function compareSides<Row extends Keyed>(
  part: ProofPart,
  live: Side<Row> | undefined,
  copy: Side<Row>,
  { place, nameOf, changed, itself, mayBeMissing = () => false }: Comparison<Row>,
): Omit<ProofSlice, 'exact'> {
  if (live === undefined) {
    const findings = copy.rows.flatMap(itself);
    const next = copy.whole ? undefined : copy.rows.at(-1)?.key;
    return { records: copy.rows.length, differences: inPart(part, findings), next };
  }
  const { pairs, next } = paired(live, copy);
  const findings = pairs.flatMap((pair): readonly Finding[] => {
    const row = pair.live ?? pair.copy;
    if (row === undefined) return [];
    const found = { place, record: nameOf(row) };
    if (pair.live === undefined) {
      return mayBeMissing(row) ? [] : [{ ...found, kind: 'missing', detail: 'The log makes it, and it is not there.' }];
    }
    if (pair.copy === undefined) {
      return [{ ...found, kind: 'unexpected', detail: 'The log does not make it, and it is there.' }];
    }
    const names = changed(pair.live, pair.copy);
    const different: Finding = { ...found, kind: 'different', detail: `Not what the log makes: ${names.join(', ')}.` };
    return [...(names.length === 0 ? [] : [different]), ...itself(pair.live)];
  });
  return { records: pairs.length, differences: inPart(part, findings), next };
}

/** All rows by themselves. At most so many findings are kept. */
const MAX_FINDINGS = 100;

export async function lookThrough<Row extends Keyed>(
  part: ProofPart,
  rows: AsyncIterable<Row> | Iterable<Row>,
  { itself }: Pick<Comparison<Row>, 'itself'>,
): Promise<Omit<ProofSlice, 'exact'>> {
  const findings: Finding[] = [];
  let records = 0;
  for await (const row of rows) {
    records += 1;
    if (findings.length < MAX_FINDINGS) findings.push(...itself(row));
  }
  return { records, differences: inPart(part, findings) };
}

export type ProvenRecord = {
  readonly createdAt: unknown;
  readonly updatedAt: unknown;
  readonly batchId: string | null;
  readonly fields: Fields;
};

/** The names of what two records do not have in common. Null and absent are the same. */
export function changedFields(one: ProvenRecord, other: ProvenRecord): readonly string[] {
  const names = new Set([...Object.keys(one.fields), ...Object.keys(other.fields)]);
  return [
    ...(one.createdAt === other.createdAt ? [] : ['created_at']),
    ...(one.updatedAt === other.updatedAt ? [] : ['updated_at']),
    ...(one.batchId === other.batchId ? [] : ['_batch_id']),
    ...[...names].filter(
      (name) => !isDeepStrictEqual(ownValue(one.fields, name) ?? null, ownValue(other.fields, name) ?? null),
    ),
  ];
}

/** JSON texts that say the same, whatever the order of their keys. */
export const saySame = (one: string, other: string): boolean =>
  one === other || isDeepStrictEqual(parsed(one), parsed(other));

/** What is stored may have been damaged. @returns undefined where it is no JSON */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A derived value as it is stored: what no text of an engine can hold is replaced (a half of a surrogate pair). */
export function isStored(expected: unknown, stored: unknown): boolean {
  const value = typeof expected === 'string' ? expected.toWellFormed() : (expected ?? null);
  return value === (stored ?? null) || (stored !== null && value !== null && String(value) === String(stored));
}
