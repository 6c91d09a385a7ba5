/** What fields are in documents, and conditions and sort terms as queries of MongoDB. */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Filter } from 'mongodb';
import { type AssetType, findField } from '../../../domain/assetTypes/assetType.js';
import { type FieldValue, fieldRules } from '../../../domain/assetTypes/fieldTypes.js';
import { isSought, sortValue } from '../../../domain/spaces.js';
import { type Condition, type FieldCondition, RowsUnavailableError, type Sort } from '../../../ports/rowStore.js';
import type { Database } from './connection.js';
import { type DefinitionDocument, exactText, type Slots, type StateDocument } from './documents.js';

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

const SYSTEM_KEYS = new Map(Object.entries({ n: 'n', id: 'i', created_at: 'c', updated_at: 'u' }));

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
  return `${fieldRules(type).sortsAs === 'text' ? 'a' : 'm'}${slotOf(definition, field)}`;
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

const either = (filters: StateFilter[]): StateFilter => (filters.length === 0 ? NOTHING : { $or: filters });

/** The order of a list. Null comes first when ascending, as MongoDB sorts it. */
export const sortOf = (definition: Definition, sort: readonly Sort[]): { [key: string]: 1 | -1 } =>
  Object.fromEntries(sort.map(({ field, direction }) => [sortKey(definition, field), direction === 'asc' ? 1 : -1]));

// Asset types of spaces, and which slots their fields have. Tenants with equal tables share them.

/** `slots`: of sought fields. */
export type Definition = { readonly id: string; readonly assetType: AssetType; readonly slots: Slots };

const MOST_KNOWN = 1_000;

export class Definitions {
  readonly #known = new LRUCache<string, Definition>({ max: MOST_KNOWN });

  async get({ definitions }: Database, id: string): Promise<Definition> {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const stored = await definitions.findOne({ _id: id });
    if (stored === null) throw new RowsUnavailableError('A definition of rows is not in MongoDB.');
    return this.#know(stored);
  }

  /** Stores the definition for this asset type. @param before the one that the space has */
  async put({ definitions }: Database, assetType: AssetType, before?: Definition): Promise<Definition> {
    const kept = [...(before?.slots.keys() ?? [])];
    const added = assetType.fields.filter((field) => isSought(field) && !kept.includes(field.name));
    const slots = [...kept, ...added.map(({ name }) => name)];
    const content = { assetType: JSON.stringify(assetType), slots };
    const _id = createHash('sha256').update(JSON.stringify(content)).digest('base64url').slice(0, 22);
    const known = this.#known.get(_id);
    if (known !== undefined) return known;
    await definitions.updateOne({ _id }, { $setOnInsert: content }, { upsert: true });
    return this.#know({ _id, ...content });
  }

  #know({ _id: id, assetType, slots }: DefinitionDocument): Definition {
    const definition = { id, assetType: JSON.parse(assetType), slots: new Map(slots.map((name, at) => [name, at])) };
    this.#known.set(id, definition);
    return definition;
  }
}
