/** What a person has changed of an order and not saved yet: plain data, so that two versions can be merged. */
import type { QueryClient } from '@tanstack/react-query';
import { type AnyRecord, ApiError, type AssetField, type AssetType, type Schemas } from '../api/client';
import { tableInfoQuery } from '../api/queries';
import { NoNumber } from '../app/numberText';

export type Fields = { readonly [field: string]: unknown };
/** A new part has no id yet; `key` is its place in the grid. */
export type DraftPart = { readonly key: string; readonly id?: string; readonly fields: Fields };
export type Draft = {
  /** Changed fields of the order itself. */
  readonly fields: Fields;
  /** Lists of parts that were changed, whole, by relationship. */
  readonly parts: { readonly [relationship: string]: readonly DraftPart[] };
};

export const NO_DRAFT: Draft = { fields: {}, parts: {} };

export const isChanged = ({ fields, parts }: Draft): boolean =>
  Object.keys(fields).length > 0 || Object.keys(parts).length > 0;

/** Only what differs from the order is kept. */
export function withField(draft: Draft, order: Fields, field: string, value: unknown): Draft {
  const { [field]: _, ...others } = draft.fields;
  return { ...draft, fields: isSame(order[field], value) ? others : { ...others, [field]: value } };
}

/** A number that was typed is text. */
export const isSame = (a: unknown, b: unknown): boolean => textOf(a) === textOf(b);
const textOf = (value: unknown): string =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '');

/** Fields of a part that a person may write: all but the system's and the one that names the order. */
export const writableFields = ({ fields }: AssetType, owner: string) =>
  fields.filter(({ name, read_only, list }) => !read_only && !list && name !== owner);

/** Where the field's value names a record of another table. */
export const referenceOf = ({ relationships }: AssetType, { name }: AssetField) =>
  relationships.find(({ kind, field }) => kind === 'belongs_to' && field === name);

export const partsOf = (draft: Draft, order: Fields, relationship: string): readonly DraftPart[] =>
  draft.parts[relationship] ?? partsIn(order[relationship]);

/** Of a list of records, or of parts already, such as the goods of a consignment that were changed. */
export const partsIn = (list: unknown): readonly DraftPart[] =>
  Array.isArray(list)
    ? list.map((part: AnyRecord | DraftPart) =>
        isDraftPart(part) ? part : { key: part.id, id: part.id, fields: part },
      )
    : [];

const isDraftPart = (part: AnyRecord | DraftPart): part is DraftPart =>
  typeof part.key === 'string' && 'fields' in part;

/** The fields of a table that a person may write, and those of the lists of parts that its records have, by relationship. */
export type Written = {
  readonly table: string;
  readonly names: readonly string[];
  readonly lists: { readonly [relationship: string]: Written };
};

/**
 * The body of the change: changed fields, and each changed list whole, as the API replaces lists.
 * @throws ApiError where a number could not be read
 */
export function bodyOfDraft(draft: Draft, lists: Written['lists']): Fields {
  const body = { ...draft.fields, ...bodyOfLists(draft.parts, lists) };
  const unread = Object.fromEntries(noNumbersIn(body));
  if (Object.keys(unread).length > 0) throw new ApiError(422, Object.values(unread).join(', '), unread);
  return body;
}

const bodyOfPart = ({ id, fields }: DraftPart, { names, lists }: Written): Fields => ({
  ...(id === undefined ? {} : { id }),
  ...Object.fromEntries(names.flatMap((name) => (name in fields ? [[name, fields[name]]] : []))),
  ...bodyOfLists(fields, lists),
});

const bodyOfLists = (fields: Fields, lists: Written['lists']): Fields =>
  Object.fromEntries(
    Object.entries(lists).flatMap(([name, inner]) =>
      name in fields ? [[name, partsIn(fields[name]).map((part) => bodyOfPart(part, inner))]] : [],
    ),
  );

/** Not for a person to change: the service or the platform sets them. */
export const SET_BY_OTHERS = 'processing_status approved_at approved_by error_reason accuracy'.split(' ');

/** @param owner field that names whose part a record is @throws ApiError */
export async function writtenOf(client: QueryClient, type: AssetType, owner = 'id'): Promise<Written> {
  const names = writableFields(type, owner).map(({ name }) => name);
  const parts = type.relationships.filter(({ kind }) => kind === 'has_many');
  const lists = parts.map(async ({ name, table, field }) => {
    const info = await client.fetchQuery(tableInfoQuery(table));
    return [name, await writtenOf(client, info, field)] as const;
  });
  return {
    table: type.name,
    names: names.filter((name) => !SET_BY_OTHERS.includes(name)),
    lists: Object.fromEntries(await Promise.all(lists)),
  };
}

/** What differs between two versions of an order, by field: of itself, then of its parts. */
export function changesOf(
  id: string,
  before: Fields,
  now: Fields,
  { table, names, lists }: Written,
): readonly Schemas['FieldChange'][] {
  const own = names.filter((field) => !isSame(before[field], now[field]));
  const ofParts = Object.entries(lists).flatMap(([name, written]) => {
    const [old, present] = [before, now].map((of) => new Map(partsIn(of[name]).map((part) => [part.key, part.fields])));
    const keys = new Set([...(old?.keys() ?? []), ...(present?.keys() ?? [])]);
    return [...keys].flatMap((key) => changesOf(key, old?.get(key) ?? {}, present?.get(key) ?? {}, written));
  });
  return [...own.map((field) => ({ table, id, field, from: before[field], to: now[field] })), ...ofParts];
}

/** What is no number, by its path. */
const noNumbersIn = (
  value: unknown,
  path: readonly string[] = [],
): readonly (readonly [string, readonly string[]])[] => {
  if (value instanceof NoNumber) return [[path.join('.'), [value.text]]];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => noNumbersIn(inner, [...path, name]));
};

/** A field that both have changed: of the order, or of the part with this key in a list. */
export type Both = {
  readonly relationship?: string;
  readonly key?: string;
  readonly field: string;
  readonly mine: Fields;
  readonly theirs: Fields;
};

/**
 * The draft over what others have saved meanwhile. A part that only they changed is taken from them; one that they removed
 * stays removed unless it was changed here.
 * @returns the draft for the newer order, and the fields that both have changed, where it has mine
 */
export function mergeDraft(
  draft: Draft,
  before: Fields,
  now: Fields,
): { readonly draft: Draft; readonly both: readonly Both[] } {
  const isOfBoth = (field: string, was: Fields, mine: Fields, theirs: Fields): boolean =>
    !isSame(was[field], theirs[field]) && !isSame(mine[field], theirs[field]);
  const both: Both[] = Object.keys(draft.fields)
    .filter((field) => isOfBoth(field, before, draft.fields, now))
    .map((field) => ({ field, mine: draft.fields, theirs: now }));
  const parts = Object.fromEntries(
    Object.entries(draft.parts).map(([relationship, mine]) => {
      const old = new Map(partsOf(NO_DRAFT, before, relationship).map((part) => [part.id, part]));
      const theirs = new Map(partsOf(NO_DRAFT, now, relationship).map((part) => [part.id, part]));
      const merged = mine.flatMap((part): readonly DraftPart[] => {
        const [was, is] = [old.get(part.id), theirs.get(part.id)];
        if (part.id === undefined || was === undefined) return [part];
        const changes = Object.entries(part.fields).filter(([name, value]) => !isSame(was.fields[name], value));
        if (is === undefined) return changes.length === 0 ? [] : [{ key: part.key, fields: part.fields }];
        for (const [field] of changes)
          if (isOfBoth(field, was.fields, part.fields, is.fields))
            both.push({ relationship, key: part.key, field, mine: part.fields, theirs: is.fields });
        return [{ ...part, fields: { ...is.fields, ...Object.fromEntries(changes) } }];
      });
      const added = [...theirs.values()].filter(({ id }) => !old.has(id));
      return [relationship, [...merged, ...added]];
    }),
  );
  return { draft: { fields: draft.fields, parts }, both };
}

/** The draft with this value in such a field. */
export function withChoice(draft: Draft, order: Fields, { relationship, key, field }: Both, value: unknown): Draft {
  if (relationship === undefined) return withField(draft, order, field, value);
  const list = partsOf(draft, order, relationship).map((part) =>
    part.key === key ? { ...part, fields: { ...part.fields, [field]: value } } : part,
  );
  return { ...draft, parts: { ...draft.parts, [relationship]: list } };
}

/** The order as the draft makes it. */
export const drafted = (order: Fields, { fields, parts }: Draft): Fields => ({ ...order, ...fields, ...parts });
