/** Conditions and sort terms as queries of MongoDB. */
import type { Filter } from 'mongodb';
import { findField } from '../../../domain/assetTypes/assetType.js';
import type { FieldValue } from '../../../domain/assetTypes/fieldTypes.js';
import { sortValue } from '../../../domain/row.js';
import type { Condition, FieldCondition, Sort } from '../../../ports/rowStore.js';
import type { Definition } from './definitions.js';
import { exactText, type StateDocument } from './documents.js';

export type StateFilter = Filter<StateDocument>;

export const filtersOf = (definition: Definition, conditions: readonly Condition[]): StateFilter[] =>
  conditions.map((condition) => {
    if (condition.kind === 'any') return either(condition.anyOf.map((each) => filterOf(definition, each)));
    if (condition.kind === 'outsideBatch') return { b: { $ne: condition.batch } };
    return filterOf(definition, condition);
  });

function filterOf(definition: Definition, condition: FieldCondition): StateFilter {
  switch (condition.kind) {
    case 'ids':
      return { i: condition.from === condition.to ? condition.from : { $gte: condition.from, $lte: condition.to } };
    case 'contains':
      return {
        [textKey(definition, condition.field)]: { $in: condition.anyOf.map((text) => new RegExp(escaped(text))) },
      };
    case 'equals':
      return either(condition.anyOf.map((value) => equals(definition, condition.field, value)));
    case 'differs':
      return { $nor: [either(condition.anyOf.map((value) => equals(definition, condition.field, value)))] };
    case 'compares':
      return { [sortKey(definition, condition.field)]: { [`$${condition.is}`]: condition.value } };
    case 'null':
      return { [sortKey(definition, condition.field)]: condition.isNull ? null : { $ne: null } };
  }
}

const SYSTEM_KEYS: ReadonlyMap<string, string> = new Map([
  ['n', 'n'],
  ['id', 'i'],
  ['created_at', 'c'],
  ['updated_at', 'u'],
]);

function slotOf({ assetType, slots }: Definition, field: string): number {
  const slot = slots.get(field);
  if (slot === undefined) throw new Error(`Rows of ${assetType.name} cannot be sought by ${field}.`);
  return slot;
}

/** The key of a field's sort value. */
export const sortKey = (definition: Definition, field: string): string =>
  SYSTEM_KEYS.get(field) ?? `a${slotOf(definition, field)}`;

function textKey(definition: Definition, field: string): string {
  const type = findField(definition.assetType, field)?.type ?? 'String';
  const isText = type !== 'Integer' && type !== 'Decimal' && type !== 'Boolean';
  return `${isText ? 'a' : 'm'}${slotOf(definition, field)}`;
}

function equals(definition: Definition, name: string, value: FieldValue): StateFilter {
  const key = sortKey(definition, name);
  if (value === null) return { [key]: null };
  if (SYSTEM_KEYS.has(name)) return { [key]: String(value) };
  const field = findField(definition.assetType, name);
  const isList = field?.list === true;
  const isAsTyped = typeof value === 'boolean' ? field?.type === 'Boolean' : field?.type !== 'Boolean';
  // The sort values of a list and its JSON text are the same, as those of true and 1 are.
  if (Array.isArray(value) !== isList || !isAsTyped) return NOTHING;
  const [sorted, exact] = [sortValue(value), exactText(value)];
  if (exact === undefined) return { [key]: sorted };
  return { [key]: sorted, [`x${slotOf(definition, name)}`]: exact === sorted ? null : exact };
}

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

const NOTHING: StateFilter = { _id: { $in: [] } };

function either(filters: readonly StateFilter[]): StateFilter {
  const [only, ...others] = filters;
  if (only === undefined) return NOTHING;
  return others.length === 0 ? only : { $or: [...filters] };
}

/** The order of a list. Null comes first when ascending, as MongoDB sorts it. */
export const sortOf = (definition: Definition, sort: readonly Sort[]): { [key: string]: 1 | -1 } =>
  Object.fromEntries(sort.map(({ field, direction }) => [sortKey(definition, field), direction === 'asc' ? 1 : -1]));
