/** The proof of stored records: compares two sides in the order of keys, and each record with the values beside it. */
import { isDeepStrictEqual } from 'node:util';
import type { Fields } from '../../../domain/assetTypes/fieldTypes.js';
import { ownValue } from '../../../domain/assetTypes/fieldTypes.js';
import type { Difference, ProofPart, ProofSlice } from '../../../ports/readModelProof.js';

/** Limits for one side of a slice. */
const MAX_ROWS = 1_000;
const MAX_CHARACTERS = 8_000_000;

export type Keyed = { readonly key: string };

/** Rows of one side in the order of keys. `whole`: no more follow. */
export type Side<Row extends Keyed> = { readonly rows: readonly Row[]; readonly whole: boolean };

/** Reads rows for one slice. @param size characters of a row */
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

type Pair<Row> = { readonly live?: Row; readonly copy?: Row };

/** Pairs the rows of both sides by key, as far as both were read. `next` is the key to go on behind. */
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

/** A difference without its part. */
export type Finding = Omit<Difference, keyof ProofPart>;

export const inPart = (part: ProofPart, findings: readonly Finding[]): readonly Difference[] =>
  findings.map((finding) => ({ ...part, ...finding }));

/** How rows are compared. */
export type Comparison<Row> = {
  /** Where it is stored, and how it is named. */
  readonly about: (row: Row) => Pick<Finding, 'place' | 'record'>;
  /** Names of the values that differ. */
  readonly changed: (live: Row, copy: Row) => readonly string[];
  /** Values stored beside a record that do not fit it. */
  readonly itself: (row: Row) => readonly Finding[];
  /** Whether the served side may lack it. */
  readonly mayBeMissing?: (copy: Row) => boolean;
};

/** @param live if undefined, the copy is proven by itself */
export function compareSides<Row extends Keyed>(
  part: ProofPart,
  live: Side<Row> | undefined,
  copy: Side<Row>,
  { about, changed, itself, mayBeMissing = () => false }: Comparison<Row>,
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
    const found = about(row);
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

/** How the catalog's values of a table differ by these names. A table that neither side has was removed meanwhile. */
export function catalogFindings<Name extends string>(
  names: readonly Name[],
  live: Readonly<Record<Name, unknown>> | undefined,
  copy: Readonly<Record<Name, unknown>> | undefined,
): readonly Finding[] {
  const find = (kind: Finding['kind'], detail: string): Finding => ({ place: 'catalog', record: null, kind, detail });
  if (live === undefined) return copy === undefined ? [] : [find('missing', 'The table is not there.')];
  if (copy === undefined) return [find('unexpected', 'The log does not make the table.')];
  return names.flatMap((name) =>
    live[name] === copy[name] ? [] : [find('different', `${name} is ${live[name]}; by the log ${copy[name]}.`)],
  );
}

/** Findings of one pass through all rows. */
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

/** Names of the values that differ between two records. Null and absent are the same. */
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

/** Whether two JSON texts are equal, in any order of keys. */
export const saySame = (one: string, other: string): boolean =>
  one === other || isDeepStrictEqual(parsed(one), parsed(other));

/** Stored texts may be damaged. @returns undefined if it is no JSON */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a derived value is stored. Engines replace halves of surrogate pairs, which their texts cannot hold. */
export function isStored(expected: unknown, stored: unknown): boolean {
  const value = typeof expected === 'string' ? expected.toWellFormed() : (expected ?? null);
  return value === (stored ?? null) || (stored !== null && value !== null && String(value) === String(stored));
}
