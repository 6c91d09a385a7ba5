/**
 * What happened to one record of a reference table: the read model knows which events concern it, and they are read from the
 * log. Where an event lacks the values before, they are those of the record's earlier events.
 */
import { eventAt, type StreamReads } from '../commands/streamPages.js';
import { type ActivityKind, activityOf } from '../domain/activity.js';
import type { FieldValue } from '../domain/assetTypes/fieldTypes.js';
import { charactersOf } from '../domain/jsonSize.js';
import { MAX_HISTORY_PAGE_BYTES, MAX_RECORD_HISTORY_CHARACTERS, MAX_RECORD_HISTORY_EVENTS } from '../domain/limits.js';
import { differencesIn, type RecordDifference } from '../domain/referenceTable/differences.js';
import type { ReferenceTableEvent } from '../domain/referenceTable/events.js';
import { operationOf } from '../domain/referenceTable/operation.js';
import { tableStream } from '../domain/streams.js';
import type { RecordedEvent, Revision } from '../ports/eventStore.js';
import type { RecordReads, TableRef } from '../ports/readModels.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { Pauses } from '../supervision/waiting.js';

export type RecordHistoryEntry = {
  /** Its data may be long, and tell of other records. */
  readonly event: Omit<RecordedEvent, 'data'>;
  readonly kind: ActivityKind | undefined;
  readonly change: RecordDifference['change'];
  readonly fields: ReadonlyMap<string, { readonly from: FieldValue; readonly to: FieldValue }>;
  /** Revision of the first event of the batch, clean-up or undo that made the change. */
  readonly operation?: Revision | undefined;
  /** False: the page's limits were reached before all values before were found. */
  readonly isComplete: boolean;
};

export type RecordHistoryPage = {
  /** Newest first. */
  readonly entries: readonly RecordHistoryEntry[];
  /** The next page has those before this revision; undefined on the last. */
  readonly next?: Revision | undefined;
};

export type HistorySource = {
  readonly eventStore: StreamReads;
  readonly readModels: Pick<RecordReads, 'recordEvents' | 'cleanedUpRecord'>;
};

export type AskedHistory = { readonly id: string; readonly before?: Revision | undefined; readonly limit: number };

/** A page of the history; undefined if there never was such a record. @throws the cancellation's reason */
export async function recordHistory(
  source: HistorySource,
  table: TableRef,
  { id, before, limit }: AskedHistory,
  cancellation: Cancellation,
): Promise<RecordHistoryPage | undefined> {
  const log = new Log(source.eventStore, tableStream(table.tenant, table.table));
  const entries: Entry[] = [];
  const lacking = new Set<Entry>();
  let next: Revision | undefined;
  let seen = before;
  const isFull = () => entries.length === limit || (entries.length > 0 && log.isHalfUsed);
  for await (const revision of revisionsOf(source, table, id, before, cancellation)) {
    if (isFull() || log.isUsedUp) next ??= seen;
    if (log.isUsedUp || (next !== undefined && lacking.size === 0)) break;
    seen = revision;
    const event = await log.at(revision);
    const difference = event && differenceOf(event, id);
    if (event === undefined || difference === undefined) continue;
    for (const entry of lacking) if (entry.isCompletedBy(difference)) lacking.delete(entry);
    if (next !== undefined) continue;
    const entry = new Entry(event, difference, await firstOf(log, event));
    entries.push(entry);
    if (event.type === 'TableCleanedUp') await entry.takeCleanedUp(source, table, id);
    if (entry.isLacking) lacking.add(entry);
  }
  if (seen === undefined) return undefined;
  const kept = fitting(entries);
  return { entries: kept, next: kept.length < entries.length ? kept.at(-1)?.event.revision : next };
}

const REVISIONS_AT_ONCE = 200;

async function* revisionsOf(
  { readModels }: HistorySource,
  table: TableRef,
  id: string,
  first: Revision | undefined,
  cancellation: Cancellation,
): AsyncGenerator<Revision> {
  for (let before = first; ; ) {
    const page = { before, limit: REVISIONS_AT_ONCE };
    const revisions = await readModels.recordEvents(table, id, page, cancellation);
    for (const revision of revisions) {
      cancellation.throwIfCancelled();
      yield revision;
    }
    if (revisions.length < REVISIONS_AT_ONCE) return;
    before = revisions.at(-1);
  }
}

/** The table's stream, and how much of it a page has read. */
class Log {
  readonly #log: StreamReads;
  readonly #stream: string;
  readonly #pauses = new Pauses();
  #events = 0;
  #characters = 0;

  constructor(log: StreamReads, stream: string) {
    this.#log = log;
    this.#stream = stream;
  }

  get isHalfUsed(): boolean {
    return this.#events * 2 >= MAX_RECORD_HISTORY_EVENTS || this.#characters * 2 >= MAX_RECORD_HISTORY_CHARACTERS;
  }

  get isUsedUp(): boolean {
    return this.#events >= MAX_RECORD_HISTORY_EVENTS || this.#characters >= MAX_RECORD_HISTORY_CHARACTERS;
  }

  async at(revision: Revision): Promise<RecordedEvent | undefined> {
    const event = await eventAt(this.#log, this.#stream, revision);
    this.#events += 1;
    this.#characters += charactersOf(event?.data ?? null);
    if (this.#pauses.isDue()) await this.#pauses.take();
    return event;
  }
}

/** What the event did to the record; undefined if it does not concern it. */
function differenceOf({ type, data }: RecordedEvent, id: string): RecordDifference | undefined {
  if (type === 'TableCleanedUp') return { change: 'delete', id, fields: {} };
  for (const difference of differencesIn({ type, data } as ReferenceTableEvent)) {
    if (difference.id.toLowerCase() === id) return difference;
  }
  return undefined;
}

/** The first event of the operation in the event's append, which all follow one another; undefined: it is of no operation. */
async function firstOf(log: Log, event: RecordedEvent): Promise<Revision | undefined> {
  const operation = operationOf(event);
  if (operation === undefined || operation.kind === 'clean_up') return operation && event.revision;
  const isPart = async (revision: Revision): Promise<boolean> => {
    const other = revision < 0 ? undefined : await log.at(revision);
    return other?.type === event.type && other.metadata.causationId === event.metadata.causationId;
  };
  let [first, step] = [event.revision, 1];
  while (await isPart(first - step)) {
    first -= step;
    step *= 2;
  }
  for (step /= 2; step >= 1; step /= 2) if (await isPart(first - step)) first -= step;
  return first;
}

class Entry implements RecordHistoryEntry {
  readonly event: RecordHistoryEntry['event'];
  readonly kind: ActivityKind | undefined;
  readonly change: RecordDifference['change'];
  readonly operation: Revision | undefined;
  readonly #fields = new Map<string, { from: FieldValue; to: FieldValue }>();
  /** Fields whose value before is not known yet. */
  readonly #unknown = new Set<string>();
  /** False while the fields that a deleted record had are not known. */
  #isFolded = true;

  constructor(recorded: RecordedEvent, { change, fields }: RecordDifference, operation?: Revision) {
    const { data: _, ...event } = recorded;
    this.event = event;
    this.kind = activityOf(recorded, { orderModel: '' })?.kind;
    this.change = change;
    this.operation = operation;
    this.#isFolded = change !== 'delete';
    for (const [name, { from, to = null }] of Object.entries(fields)) {
      this.#fields.set(name, { from: from ?? null, to });
      if (change === 'update' && from === undefined) this.#unknown.add(name);
    }
  }

  get fields(): RecordHistoryEntry['fields'] {
    // Values that were null before the record was deleted did not change.
    return this.change !== 'delete' ? this.#fields : new Map([...this.#fields].filter(([, { from }]) => from !== null));
  }

  get isLacking(): boolean {
    return !this.#isFolded || this.#unknown.size > 0;
  }

  get isComplete(): boolean {
    return !this.isLacking;
  }

  /** Takes the record as a clean-up deleted it, while that is kept. */
  async takeCleanedUp({ readModels }: HistorySource, table: TableRef, id: string): Promise<void> {
    const kept = await readModels.cleanedUpRecord(table, id);
    if (kept?.revision !== this.event.revision) return;
    for (const [name, from] of Object.entries(kept.fields)) this.#fields.set(name, { from: from ?? null, to: null });
    this.#isFolded = true;
  }

  /** Takes values before from an earlier event, the next earlier one of the record. @returns whether none lacks any more */
  isCompletedBy({ change, fields }: RecordDifference): boolean {
    for (const [name, { to = null }] of Object.entries(fields)) {
      if (!this.#isFolded && !this.#fields.has(name)) this.#fields.set(name, { from: to, to: null });
      if (this.#unknown.delete(name)) this.#fields.set(name, { from: to, to: this.#fields.get(name)?.to ?? null });
    }
    if (change !== 'update') {
      this.#unknown.clear();
      this.#isFolded = true;
    }
    return !this.isLacking;
  }
}

/** As many of the first as fit on a page, at least one. */
function fitting(entries: readonly Entry[]): readonly Entry[] {
  let bytes = 0;
  const end = entries.findIndex(({ fields }, index) => {
    bytes += charactersOf(Object.fromEntries(fields));
    return index > 0 && bytes > MAX_HISTORY_PAGE_BYTES;
  });
  return end < 0 ? entries : entries.slice(0, end);
}
