/** Filters as SQL over one row `r` of a table of records. */
import type { Comparison, Filter, FilterValue } from '../../../../ports/readModels.js';
import { isTextType, sortValue, uniqueText } from '../../shared/fieldRules.js';
import { type Selection, selectionOf } from '../../shared/query.js';
import { type FieldLayout, TIME_COLUMNS } from '../layout.js';
import { trigramColumn } from '../ownTables.js';
import type { Cell, ReadTable } from '../read/readConnection.js';
import { idBytes, LAST_CHARACTER, microseconds } from '../rowFormat.js';

/** A test of records. */
export type Condition = {
  /** True, false or NULL for a row. */
  readonly sql: string;
  readonly cells: readonly Cell[];
  /** Column of an index that answers `sql` without the row (when scanned), or finds the rows (when looked up). */
  readonly index?: string;
  readonly how: 'scan' | 'look up';
  /** The part that the index answers, if not all: each row that it finds is tested by its document as well. */
  readonly inIndex?: Pick<Condition, 'sql' | 'cells'>;
  /** The same condition as a query of a trigram index. */
  readonly trigrams?: {
    readonly index: number;
    /** Each row has the phrases in one of these columns. */
    readonly columns: readonly string[];
    /** The phrases that are searched for in the columns. */
    readonly phrases: string;
    /** How many trigrams are looked up. */
    readonly size: number;
    /** The index finds exactly the rows that fulfil the condition. */
    readonly isExact: boolean;
  };
  /** Conditions of which one must hold, if each has trigrams or is looked up in an index. */
  readonly union?: readonly Condition[];
};

/**
 * True for every row of `r`; when the question is cancelled it throws, which ends the query. Asked for one row of 256, as it
 * takes as long as to test a few rows.
 */
export const STILL_WANTED = '((r.row & 255) <> 0 OR still_wanted())';

/** The same within one row, for text so long that to search it takes longer. */
const wantedBeforeLong = (column: string): string => `(octet_length(${column}) < 65536 OR still_wanted())`;
/** So many values are searched for in a long text between two checks. */
const LONG_TEXT_VALUES = 10;

const NEVER: Condition = { sql: '0', cells: [], how: 'scan' };

/** Shorter text has no trigram. */
const TRIGRAM = 3;
/** The characters of a text that are looked up as trigrams. Further ones take time and hardly exclude any record. */
const LOOKED_UP = 24;

/** @throws ReadModelsWithheldError when the table has no such field yet */
export const conditionOf = (filter: Filter, table: ReadTable): Condition =>
  selected(selectionOf(filter, table.shape.fields), table);

function selected(selection: Selection<FieldLayout>, table: ReadTable): Condition {
  switch (selection.kind) {
    case 'nothing':
      return NEVER;
    case 'ids': {
      const ids = selection.anyOf.flatMap((id) => idBytes(id) ?? []);
      return { sql: `id IN (${marks(ids)})`, cells: ids, index: 'id', how: 'look up' };
    }
    case 'idRange': {
      const cells = [selection.from, selection.to].flatMap((id) => idBytes(id) ?? []);
      return { sql: '(id >= ? AND id <= ?)', cells, index: 'id', how: 'look up' };
    }
    case 'contains':
      return contains(selection.field, selection.anyOf, table);
    case 'equals':
      return equals(selection.field, selection.anyOf, table);
    case 'compares':
      return compares(selection.field, selection.is, selection.value, table);
    case 'null':
      return isNull(selection.field, table);
    case 'not': {
      const { sql, cells } = selected(selection.selected, table);
      return { sql: `NOT coalesce(${sql}, 0)`, cells, how: 'scan' };
    }
    case 'any':
      return any(selection.anyOf.map((each) => selected(each, table)));
  }
}

/** One of the conditions holds. */
function any(conditions: readonly Condition[]): Condition {
  const alternatives = withSharedTrigrams(conditions);
  const [only, ...others] = alternatives;
  if (only !== undefined && others.length === 0) return only;
  const areIndexed = alternatives.every((each) => each.trigrams !== undefined || isLookUp(each));
  return { ...oneHolds(alternatives), ...(areIndexed ? { union: alternatives } : {}) };
}

const oneHolds = (conditions: readonly Condition[]): Condition => ({
  sql: anyOfTests(conditions.map(({ sql }) => sql)),
  cells: conditions.flatMap(({ cells }) => cells),
  how: 'scan',
});

/** Conditions with the same phrases, in columns of one trigram index, are one query of that index. */
function withSharedTrigrams(conditions: readonly Condition[]): readonly Condition[] {
  const shared = new Map<string, Condition[]>();
  for (const [place, condition] of conditions.entries()) {
    const { trigrams } = condition;
    const key = trigrams === undefined ? String(place) : `${trigrams.index} ${trigrams.phrases}`;
    const others = shared.get(key);
    if (others === undefined) shared.set(key, [condition]);
    else others.push(condition);
  }
  return [...shared.values()].flatMap((some) => {
    const [first, ...others] = some;
    if (first?.trigrams === undefined || others.length === 0) return some;
    const columns = some.flatMap(({ trigrams }) => trigrams?.columns ?? []);
    return [{ ...oneHolds(some), trigrams: { ...first.trigrams, columns } }];
  });
}

/** Whether an index finds its rows. */
export const isLookUp = ({ how, index }: Condition): boolean => how === 'look up' && index !== undefined;

const isTime = ({ sort }: FieldLayout): boolean => sort !== undefined && TIME_COLUMNS.includes(sort);

/** A value as in the field's sort column. */
const sortCell = (field: FieldLayout, value: FilterValue): Cell =>
  isTime(field) ? microseconds(String(value)) : sortValue(value);

const OPERATORS: { readonly [is in Comparison]: string } = { gt: '>', gte: '>=', lt: '<', lte: '<=' };

function compares(field: FieldLayout, is: Comparison, value: FilterValue, table: ReadTable): Condition {
  const cell = sortCell(field, value);
  const test = `${OPERATORS[is]} ?`;
  if (field.sort === undefined) return byDocument(`(${extractedSort(field, table)} ${test})`, [jsonPath(field), cell]);
  return { sql: `${field.sort} ${test}`, cells: [cell], ...lookedUp(field) };
}

function isNull(field: FieldLayout, table: ReadTable): Condition {
  if (field.sort !== undefined) return { sql: `${field.sort} IS NULL`, cells: [], ...lookedUp(field) };
  if (field.match !== undefined) return { sql: `${field.match} IS NULL`, cells: [], how: 'scan' };
  return byDocument(`${extractedSort(field, table)} IS NULL`, [jsonPath(field)]);
}

const lookedUp = ({ sort, sortIndexed }: FieldLayout): Pick<Condition, 'how' | 'index'> => ({
  how: 'look up',
  ...(sort !== undefined && sortIndexed ? { index: sort } : {}),
});

/** Reads each document, which is slow. */
const byDocument = (sql: string, cells: readonly Cell[]): Condition => ({
  sql: `(${STILL_WANTED} AND ${sql})`,
  cells,
  how: 'scan',
});

function contains(field: FieldLayout, needles: readonly [string, ...string[]], table: ReadTable): Condition {
  const [needle] = needles;
  if (needles.length === 1 && onlyAtStart(field, needle, table)) return startsWith(field, needle);
  const column = field.match ?? extractedMatch(field, table);
  const tests = needles.map(() => `instr(${column}, ?) > 0`);
  const isLong = field.match !== undefined && !field.matchIndexed;
  const sql = isLong ? anyOfLongTests(tests, wantedBeforeLong(column)) : anyOfTests(tests);
  const cells = field.match === undefined ? needles.flatMap((needle) => [jsonPath(field), needle]) : needles;
  return {
    sql,
    cells,
    how: 'scan',
    ...(field.match !== undefined && field.matchIndexed ? { index: field.match } : {}),
    ...(needles.every(hasTrigrams) ? byTrigrams(field, needles) : {}),
  };
}

function byTrigrams({ match, trigrams: index }: FieldLayout, needles: readonly string[]): Pick<Condition, 'trigrams'> {
  if (match === undefined || index === undefined) return {};
  const starts = needles.map((needle) => [...needle].slice(0, LOOKED_UP).join(''));
  return {
    trigrams: {
      index,
      columns: [trigramColumn(match)],
      phrases: starts.map(phrase).join(' OR '),
      size: starts.reduce((size, start) => size + start.length, 0),
      isExact: starts.every((start, n) => start === needles[n]),
    },
  };
}

/** Joined by OR, in groups: SQLite allows a depth of 1,000. */
const anyOfTests = (tests: readonly string[]): string =>
  anyOf(inGroups(tests, 100).map((group) => `(${group.join(' OR ')})`));

const anyOfLongTests = (tests: readonly string[], wanted: string): string =>
  anyOfTests(inGroups(tests, LONG_TEXT_VALUES).map((group) => `(${wanted} AND (${group.join(' OR ')}))`));

const anyOf = (tests: readonly string[]): string => (tests.length === 1 ? tests.join() : `(${tests.join(' OR ')})`);

const inGroups = (tests: readonly string[], size: number): readonly (readonly string[])[] =>
  Array.from({ length: Math.ceil(tests.length / size) }, (_, n) => tests.slice(n * size, (n + 1) * size));

const ONLY_ASCII = /^[ -~]+$/;

/**
 * Whether values can contain the text only at their beginning, where an index finds it: a year in a date, a whole UUID or
 * country code. (A folded character gives at most one of ASCII, so ASCII text of the maximum length is a whole value.)
 */
function onlyAtStart(field: FieldLayout, needle: string, table: ReadTable): boolean {
  if (field.match === undefined || !field.matchIndexed || field.match !== field.sort) return false;
  if (field.type === 'Date') return /^\d{4}/.test(needle);
  if (field.type === 'DateTime') return /^\d{4}-/.test(needle);
  const maxLength = table.shape.maxLengths.get(field.name);
  return maxLength !== undefined && needle.length >= maxLength && ONLY_ASCII.test(needle);
}

const startsWith = ({ match }: FieldLayout, needle: string): Condition => ({
  sql: `(${match} >= ? AND ${match} < ?)`,
  cells: [needle, needle + LAST_CHARACTER],
  how: 'look up',
  ...(match === undefined ? {} : { index: match }),
});

const hasTrigrams = (needle: string): boolean => [...needle].length >= TRIGRAM;
const phrase = (needle: string): string => `"${needle.replaceAll('"', '""')}"`;

function equals(field: FieldLayout, values: readonly FilterValue[], table: ReadTable): Condition {
  if (field.name === table.shape.layout.unique) {
    const texts = values.map(uniqueText);
    return { sql: `u IN (${marks(texts)})`, cells: texts, index: 'u', how: 'look up' };
  }
  const exact = `${extracted(table)} IN (${marks(values)})`;
  const exactCells = [jsonPath(field), ...values.map((value) => (typeof value === 'boolean' ? Number(value) : value))];
  if (field.sort === undefined) return byDocument(exact, exactCells);

  const sortCells = values.map((value) => sortCell(field, value));
  const found = `${field.sort} IN (${marks(values)})`;
  return {
    sql: field.exactWhenFolded ? found : `(${found} AND ${exact})`,
    cells: field.exactWhenFolded ? sortCells : [...sortCells, ...exactCells],
    ...(field.exactWhenFolded ? {} : { inIndex: { sql: found, cells: sortCells } }),
    ...lookedUp(field),
  };
}

const marks = (values: readonly unknown[]): string => values.map(() => '?').join(', ');

/*
 * Values of fields without a column are read from the row's JSON text, which is slow. Each of these texts has one `?`, for
 * `jsonPath(field)`.
 */
const document = (table: ReadTable): string =>
  `(SELECT '{' || d.doc || '}' FROM ${table.shape.parts.docs.rows} AS d WHERE d.row = r.row)`;
const extracted = (table: ReadTable): string => `(${document(table)} ->> ?)`;

/** As in a match column. */
const extractedMatch = (field: FieldLayout, table: ReadTable): string => {
  const json = `nullif(${document(table)} -> ?, 'null')`;
  if (field.type === 'List') return `fold_case(${json})`;
  return isTextType(field.type) ? `fold_case(${extracted(table)})` : json;
};

/** As in a sort column. */
export const extractedSort = (field: FieldLayout, table: ReadTable): string =>
  isTextType(field.type) ? extractedMatch(field, table) : extracted(table);

export const jsonPath = (field: FieldLayout): string => `$.${JSON.stringify(field.name)}`;
