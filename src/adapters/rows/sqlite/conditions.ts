/** Conditions and sorts as SQL over a row's columns; where a field has none, and for states of the past, over its `data`. */
import { sortValue } from '../../../domain/row.js';
import type { Condition, FieldCondition } from '../../../ports/rowStore.js';
import { type Cell, idCell, isText, type Space, timeCell } from './cells.js';
import { columnOf } from './indexes.js';

export type Sql = { readonly text: string; readonly cells: readonly Cell[] };
type ValueCondition = Exclude<FieldCondition, { kind: 'ids' }>;

type Source = {
  readonly space: Space;
  readonly from: 'rows' | 'past';
  /** The number of a batch id; -1 if no row has it. */
  readonly batch: (id: string) => number;
};

/** @returns an expression that is 1, or 0 or NULL */
export function sqlOf(condition: Condition, source: Source): Sql {
  switch (condition.kind) {
    case 'any':
      return joined(
        condition.anyOf.map((each) => sqlOf(each, source)),
        ' OR ',
      );
    case 'ids':
      return { text: 'id BETWEEN ? AND ?', cells: [idCell(condition.from), idCell(condition.to)] };
    case 'outsideBatch': {
      const batch = source.from === 'past' ? 'batch' : '(SELECT batch FROM seen WHERE seen.row = rows.row)';
      return { text: `${batch} IS NOT ?`, cells: [source.batch(condition.batch)] };
    }
    default:
      return sqlOfField(condition, source);
  }
}

/** @param by ' AND ' or ' OR ', of which the former holds for none */
export function joined(all: readonly Sql[], by: ' AND ' | ' OR '): Sql {
  const texts = all.map(({ text }) => `(${text})`);
  return { text: texts.join(by) || (by === ' AND ' ? '1' : '0'), cells: all.flatMap(({ cells }) => cells) };
}

function sqlOfField(condition: ValueCondition, { space, from }: Source): Sql {
  if (condition.field === 'created_at') return sqlOfTime(condition, 'created');
  if (condition.field === 'updated_at') return sqlOfTime(condition, 'updated');
  return sqlOfValue(condition, fieldSql(space, condition.field, from), space);
}

/** What a field is compared and sorted by: its column, or what `data` says. */
export function fieldSql(space: Space, field: string, from: Source['from']): string {
  const column = columnOf(space, field);
  return column !== undefined && (from === 'rows' || !column.startsWith('s'))
    ? column
    : `sort_of('${field.replaceAll("'", "''")}', data)`;
}

const OPERATORS = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;
const marks = ({ length }: readonly unknown[]): string => Array.from({ length }, () => '?').join(', ');
const not = ({ text, cells }: Sql): Sql => ({ text: `(${text}) IS NOT 1`, cells });

function sqlOfTime(condition: ValueCondition, column: 'created' | 'updated'): Sql {
  switch (condition.kind) {
    case 'contains':
      return { text: '0', cells: [] };
    case 'null':
      return { text: condition.isNull ? '0' : '1', cells: [] };
    case 'compares':
      return { text: `${column} ${OPERATORS[condition.is]} ?`, cells: [timeCell(String(condition.value))] };
    case 'differs':
      return not(sqlOfTime({ ...condition, kind: 'equals' }, column));
    case 'equals':
      return {
        text: `${column} IN (${marks(condition.anyOf)})`,
        cells: condition.anyOf.map((value) => timeCell(String(value))),
      };
  }
}

function sqlOfValue(condition: ValueCondition, value: string, space: Space): Sql {
  const field = space.assetType.fields.find(({ name }) => name === condition.field);
  switch (condition.kind) {
    case 'null':
      return { text: `${value} IS ${condition.isNull ? '' : 'NOT '}NULL`, cells: [] };
    case 'compares':
      return { text: `${value} ${OPERATORS[condition.is]} ?`, cells: [sortValue(condition.value)] };
    case 'differs':
      return not(sqlOfValue({ ...condition, kind: 'equals' }, value, space));
    case 'contains': {
      // Folded text is stored as it is; of numbers and truth values only the sort value.
      const text =
        field === undefined || isText(field) ? value : `match_text(${value}, ${Number(field.type === 'Boolean')})`;
      return joined(
        condition.anyOf.map((part) => ({ text: `instr(${text}, ?)`, cells: [part] })),
        ' OR ',
      );
    }
    case 'equals': {
      const values = condition.anyOf.filter((each) => each !== null);
      const isNull: readonly Sql[] =
        values.length < condition.anyOf.length ? [{ text: `${value} IS NULL`, cells: [] }] : [];
      if (values.length === 0) return joined(isNull, ' OR ');
      const isFolded = { text: `${value} IN (${marks(values)})`, cells: values.map(sortValue) };
      // The value as it is: folding makes some alike, and truth values are numbers there.
      const isExact = {
        text: `data -> ? IN (${marks(values)})`,
        cells: [pathOf(condition.field), ...values.map((each) => JSON.stringify(each))],
      };
      return joined([joined([isFolded, isExact], ' AND '), ...isNull], ' OR ');
    }
  }
}

const pathOf = (field: string): string => `$."${field}"`;
