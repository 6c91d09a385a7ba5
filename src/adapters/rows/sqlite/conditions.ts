/** Conditions and sorts as SQL over a row's columns; where a field has none, over its `data`. */
import { sortValue } from '../../../domain/row.js';
import type { Condition, FieldCondition, Sort } from '../../../ports/rowStore.js';
import { type Cell, columnOf, idCell, isText, type Space } from './layout.js';

/** `text`: an expression that is 1, or 0 or NULL. */
export type Sql = { readonly text: string; readonly cells: readonly Cell[] };

const joined = (all: readonly Sql[], by: ' AND ' | ' OR ', none: '1' | '0'): Sql => ({
  text: all.map(({ text }) => `(${text})`).join(by) || none,
  cells: all.flatMap(({ cells }) => cells),
});
const anyOf = (all: readonly Sql[]): Sql => joined(all, ' OR ', '0');

export const sqlOf = (conditions: readonly Condition[], space: Space, from: 'rows' | 'past' = 'rows'): Sql =>
  joined(
    conditions.map((condition) => sqlOfOne(condition, space, from)),
    ' AND ',
    '1',
  );

function sqlOfOne(condition: Condition, space: Space, from: 'rows' | 'past'): Sql {
  switch (condition.kind) {
    case 'any':
      return anyOf(condition.anyOf.map((each) => sqlOfOne(each, space, from)));
    case 'ids':
      return { text: 'id BETWEEN ? AND ?', cells: [idCell(condition.from), idCell(condition.to)] };
    case 'outsideBatch': {
      const batch = from === 'past' ? 'batch' : '(SELECT batch FROM seen WHERE seen.row = rows.row)';
      return { text: `${batch} IS NOT ?`, cells: [condition.batch] };
    }
    default:
      return sqlOfField(condition, space);
  }
}

/** What a field is compared and sorted by: its column, or what `data` says. */
export const valueSql = (space: Space, field: string): string => columnOf(space, field) ?? `sort_of('${field}', data)`;

export const orderSql = (sort: readonly Sort[], space: Space): string =>
  sort.map(({ field, direction }) => `${valueSql(space, field)} ${direction}`).join(', ');

const OPERATORS = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;

function sqlOfField(condition: Exclude<FieldCondition, { kind: 'ids' }>, space: Space): Sql {
  const value = valueSql(space, condition.field);
  const field = space.assetType.fields.find(({ name }) => name === condition.field);
  const json = `data -> '$."${condition.field}"'`;
  switch (condition.kind) {
    case 'null':
      return { text: `${value} IS ${condition.isNull ? '' : 'NOT '}NULL`, cells: [] };
    case 'compares': {
      // Times of creation and change are stored as they are.
      const cell = field === undefined ? condition.value : sortValue(condition.value);
      return { text: `${value} ${OPERATORS[condition.is]} ?`, cells: [cell] };
    }
    case 'differs': {
      const { text, cells } = sqlOfField({ ...condition, kind: 'equals' }, space);
      return { text: `(${text}) IS NOT 1`, cells };
    }
    case 'contains': {
      const text = field === undefined || isText(field) ? value : json;
      return anyOf(condition.anyOf.map((part) => ({ text: `instr(${text}, ?)`, cells: [part] })));
    }
    case 'equals': {
      const values = condition.anyOf.filter((each) => each !== null);
      const isNull = values.length < condition.anyOf.length ? [{ text: `${value} IS NULL`, cells: [] }] : [];
      const list = `IN (${values.map(() => '?').join(', ')})`;
      if (field === undefined) return anyOf([{ text: `${value} ${list}`, cells: values.map(String) }, ...isNull]);
      // The value as it is, too: folding makes some alike, and truth values are numbers there.
      const cells = [...values.map(sortValue), ...values.map((each) => JSON.stringify(each))];
      return anyOf([{ text: `${value} ${list} AND ${json} ${list}`, cells }, ...isNull]);
    }
  }
}
