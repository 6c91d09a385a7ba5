/**
 * What a change costs to project, estimated from its event alone. A record with short texts weighs 1, about 0.1 ms; long
 * texts weigh more, and most if filters search them, which they are all taken to do.
 */
import { MAX_INDEXED_CHARACTERS } from '../domain/limits.js';
import type { RecordChange } from '../domain/referenceTable/changes.js';
import type { BatchUndone, BatchUpserted, TableCleanedUp } from '../domain/referenceTable/events.js';
import { parseStream } from '../domain/streams.js';
import type { RecordedEvent } from '../ports/eventStore.js';

/** Characters of text that take as long to index as a record with short texts takes to write. */
const INDEXED_CHARACTERS = 200;
/** The same of texts that are only stored. */
const STORED_CHARACTERS = 10_000;

const PACKED_ID_LENGTH = 64 / 3;

/** The weight of a record with these values. */
function recordWeight(values: unknown): number {
  const characters = charactersOf(values);
  const indexed = Math.min(characters, MAX_INDEXED_CHARACTERS);
  return 1 + Math.floor(indexed / INDEXED_CHARACTERS) + Math.floor((characters - indexed) / STORED_CHARACTERS);
}

/** Characters of all texts within a value. */
function charactersOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  let characters = 0;
  for (const each of Object.values(value)) characters += charactersOf(each);
  return characters;
}

export function changeWeight(change: RecordChange): number {
  switch (change.kind) {
    case 'insert':
      return recordWeight(change.fields);
    case 'patch':
      return recordWeight(change.set);
    case 'seen':
      return change.ids.length;
    case 'delete':
    case 'cleanUp':
      return 1;
  }
}

/** The weight of an event: of all its records together. Does not check the event. */
export function eventWeight({ stream, type, data }: RecordedEvent): number {
  const { category } = parseStream(stream);
  const said = typeof data === 'object' && data !== null ? data : {};
  if (category === 'table') return tableEventWeight(type, said);
  return category === 'order' ? orderEventWeight(type, said) : 1;
}

function tableEventWeight(type: string, data: object): number {
  type Said = Omit<BatchUpserted['data'], 'deleted'> & { deleted: (BatchUndone | TableCleanedUp)['data']['deleted'] };
  const { created, changed, seen, deleted }: Partial<Said> = data;
  if (type === 'TableCleanedUp') return Number.isSafeInteger(deleted) ? Number(deleted) || 1 : 1;
  if (type !== 'BatchUpserted' && type !== 'BatchUndone') return recordWeight(valuesIn(data));
  const packed = (seen?.length ?? 0) + (typeof deleted === 'string' ? deleted.length : 0);
  return weightOfAll(created, changed) + Math.round(packed / PACKED_ID_LENGTH) || 1;
}

function orderEventWeight(type: string, data: object): number {
  // It has the whole order as it was approved, of which nothing is projected.
  if (type === 'OrderApproved') return 1;
  if (type === 'OrderPartsChanged') {
    const { added, changed, removed }: { added?: unknown; changed?: unknown; removed?: unknown } = data;
    return 1 + weightOfAll(added, changed, removed);
  }
  const { parts }: { parts?: unknown } = data;
  return recordWeight(valuesIn(data)) + weightOfAll(parts);
}

function weightOfAll(...lists: readonly unknown[]): number {
  let weight = 0;
  for (const list of lists)
    if (Array.isArray(list)) for (const record of list) weight += recordWeight(valuesIn(record));
  return weight;
}

/** The new values that a part of an event has of a record. */
function valuesIn(said: unknown): unknown {
  if (typeof said !== 'object' || said === null) return undefined;
  const { fields, set, changes }: { fields?: unknown; set?: unknown; changes?: unknown } = said;
  return fields ?? set ?? changes;
}
