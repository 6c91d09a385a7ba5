/** Values stored beside an entry of the activity, by which it is found. */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { ActivityEntry, ActivityFilters, ActivityPage, ActivityPlace } from '../../../ports/activity.js';
import { mapWithPauses } from '../../../supervision/waiting.js';
import { instant } from './deliveryLog.js';

/** In this order one of the filters that are set chooses the index: those that few entries pass come first. */
export const ACTIVITY_KEYS = ['correlation', 'subject', 'orderId', 'kind', 'actor', 'tableName'] as const;
export type ActivityKey = (typeof ACTIVITY_KEYS)[number];

/**
 * A number of 48 bits stands for a text: an index over 10,000,000 ids takes a quarter of the room, and needs no other index to
 * look the text up. Two texts may share a number, so what is found is compared with the texts once more.
 */
export function keyOf(text: string): number {
  const known = keys.get(text);
  if (known !== undefined) return known;
  const key = createHash('sha256').update(text).digest().readUIntBE(0, 6);
  keys.set(text, key);
  return key;
}

/** The same tables, kinds and actors come again and again. */
const keys = new LRUCache<string, number>({ max: 2_000 });

type Texts = { readonly [key in ActivityKey]: string | undefined };

const idText = (id: string): string => id.toLowerCase();
const subjectText = (subject: ActivityFilters['subject']): string | undefined =>
  subject && `${subject.kind} ${idText(subject.id)}`;

const textsOf = ({ correlationId, subject, orderId, kind, actor, table }: ActivityFilters): Texts => ({
  correlation: correlationId === undefined ? undefined : idText(correlationId),
  subject: subjectText(subject),
  orderId: orderId === undefined ? undefined : idText(orderId),
  kind,
  actor: actor === undefined ? undefined : idText(actor),
  tableName: table,
});

const textsOfEntry = (entry: ActivityEntry): Texts => textsOf({ ...entry, actor: entry.actor.id });

export type PlaceKey = { readonly at: number; readonly position: number; readonly revision: number };

export const placeKey = ({ at, position, revision }: ActivityPlace): PlaceKey => ({
  at: instant(at),
  position,
  revision,
});

/** The values stored beside an entry; null where it has none. */
export function columnsOf(entry: ActivityEntry): PlaceKey & { readonly [key in ActivityKey]: number | null } {
  const texts = textsOfEntry(entry);
  const column = (key: ActivityKey): number | null => {
    const text = texts[key];
    return text === undefined ? null : keyOf(text);
  };
  return {
    ...placeKey(entry),
    correlation: column('correlation'),
    subject: column('subject'),
    orderId: column('orderId'),
    kind: column('kind'),
    actor: column('actor'),
    tableName: column('tableName'),
  };
}

/** The filters that are set; the first is the one whose index is used. */
export function keysOfFilters(filters: ActivityFilters): readonly (readonly [key: ActivityKey, value: number])[] {
  const texts = textsOf(filters);
  return ACTIVITY_KEYS.flatMap((key) => {
    const text = texts[key];
    return text === undefined ? [] : [[key, keyOf(text)] as const];
  });
}

/** Whether the entry passes the filters, text by text. */
export function passes(entry: ActivityEntry, filters: ActivityFilters): boolean {
  const [own, wanted] = [textsOfEntry(entry), textsOf(filters)];
  return ACTIVITY_KEYS.every((key) => wanted[key] === undefined || wanted[key] === own[key]);
}

/** An entry as an array: names of properties would be a third of the text. `null` stands for what it has not. */
type Packed = readonly [
  place: readonly [at: string, position: number, revision: number],
  kind: ActivityEntry['kind'],
  eventId: string,
  actor: readonly [kind: string, id: string, name?: string],
  correlationId: string,
  /** null: the same. */
  causationId: string | null,
  request: readonly [method: string, path: string] | null,
  table: string | null,
  subject: readonly [kind: NonNullable<ActivityEntry['subject']>['kind'], id: string] | null,
  orderId: string | null,
  counts: readonly [created: number, updated: number, seen: number, deleted: number] | null,
  fields: readonly string[] | null,
  details: NonNullable<ActivityEntry['details']> | null,
];

/** The entry as it is stored: JSON text. */
export function activityText(entry: ActivityEntry): string {
  const { at, position, revision, kind, eventId, actor, correlationId, causationId } = entry;
  const { request, table, subject, orderId, counts, fields, details } = entry;
  const packed: Packed = [
    [at, position, revision],
    kind,
    eventId,
    actor.name === undefined ? [actor.kind, actor.id] : [actor.kind, actor.id, actor.name],
    correlationId,
    causationId === correlationId ? null : causationId,
    request === undefined ? null : [request.method, request.path],
    table ?? null,
    subject === undefined ? null : [subject.kind, subject.id],
    orderId ?? null,
    counts === undefined ? null : [counts.created, counts.updated, counts.seen, counts.deleted],
    fields ?? null,
    details ?? null,
  ];
  return JSON.stringify(packed);
}

/** @param text of `activityText` */
function activityIn(text: string): ActivityEntry {
  const packed: Packed = JSON.parse(text);
  const [[at, position, revision], kind, eventId, [actorKind, actorId, name], correlationId, causationId] = packed;
  const [, , , , , , request, table, subject, orderId, counts, fields, details] = packed;
  return {
    at,
    position,
    revision,
    kind,
    eventId,
    actor: name === undefined ? { kind: actorKind, id: actorId } : { kind: actorKind, id: actorId, name },
    correlationId,
    causationId: causationId ?? correlationId,
    ...(request === null ? {} : { request: { method: request[0], path: request[1] } }),
    ...(table === null ? {} : { table }),
    ...(subject === null ? {} : { subject: { kind: subject[0], id: subject[1] } }),
    ...(orderId === null ? {} : { orderId }),
    ...(counts === null
      ? {}
      : { counts: { created: counts[0], updated: counts[1], seen: counts[2], deleted: counts[3] } }),
    ...(fields === null ? {} : { fields }),
    ...(details === null ? {} : { details }),
  };
}

/** The entry as JSON of an object, for its proof; a damaged text as it is. */
export function provenText(text: string): string {
  try {
    return JSON.stringify(activityIn(text));
  } catch {
    return text;
  }
}

/** What an engine has found; `searchedTo` is an entry, too. */
export type FoundActivity = { readonly entries: readonly string[]; readonly searchedTo?: string | undefined };

/** The page of what was found. */
export async function activityPage(
  { entries, searchedTo }: FoundActivity,
  filters: ActivityFilters,
): Promise<ActivityPage> {
  const parsed = (await mapWithPauses(entries, activityIn)).filter((entry) => passes(entry, filters));
  if (searchedTo === undefined) return { entries: parsed };
  const { at, position, revision } = activityIn(searchedTo);
  return { entries: parsed, searchedTo: { at, position, revision } };
}
