/**
 * The past sync sessions of a table, from their stream, and the operations of each, from the table's stream. That one is
 * read backwards, and only for the time of the session (decision 0034).
 */
import { charactersOf } from '../../domain/jsonSize.js';
import type { OperationKind } from '../../domain/referenceTable/operation.js';
import { operationOf } from '../../domain/referenceTable/operation.js';
import { evolve, expiryOf, type Sync, type SyncEvent } from '../../domain/referenceTable/sync.js';
import { syncStream, tableStream } from '../../domain/streams.js';
import type { Actor, EventStore, RecordedEvent, Revision } from '../../ports/eventStore.js';
import type { TableRef } from '../../ports/readModels.js';
import type { Cancellation } from '../../supervision/cancellation.js';
import { Pauses } from '../../supervision/waiting.js';
import { eventAt, type StreamReads, streamPagesBackwards } from '../streamPages.js';

export type SyncSession = Sync & {
  /** Revision of its first event in the stream of sessions. */
  readonly revision: Revision;
  readonly actor: Actor;
  /** When a batch of it was refused, or it was closed or committed. */
  readonly changedAt: string;
  /** When the next one was started. */
  readonly supersededAt?: string | undefined;
};

export type SyncStatus = 'started' | 'committing' | 'committed' | 'expired' | 'aborted';

/** The operations of a session, and the records that they counted. */
export type SyncWork = {
  /** Newest first. */
  readonly operations: readonly SyncOperation[];
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
};

/** A batch of the session, or the clean-up of its commit. */
export type SyncOperation = {
  readonly kind: Exclude<OperationKind, 'undo'>;
  /** Revision of its first event. */
  readonly revision: Revision;
  readonly requestId: string;
  /** Records that it created, updated, saw again or deleted. */
  readonly records: number;
};

type Log = StreamReads & Pick<EventStore, 'lastAppend'>;

/** Newest first. @param before revision of a session: only older ones are returned @throws the cancellation's reason */
export async function* syncSessions(
  eventStore: Log,
  { tenant, table }: TableRef,
  before: Revision | undefined,
  cancellation: Cancellation | undefined,
): AsyncGenerator<SyncSession> {
  const stream = syncStream(tenant, table);
  const end = (await eventStore.lastAppend(stream))?.revision ?? -1;
  // A forged cursor may hold a revision far beyond the end.
  const last = Math.min(before ?? end, end);
  let own: RecordedEvent[] = [];
  let supersededAt: string | undefined;
  for await (const events of streamPagesBackwards(eventStore, stream, { to: last, cancellation })) {
    for (const event of events.toReversed()) {
      own.unshift(event);
      if (event.type !== 'SyncStarted') continue;
      if (event.revision !== before) yield sessionOf(own, supersededAt);
      supersededAt = event.metadata.occurredAt;
      own = [];
    }
  }
}

/** @param events of the session, at least the first */
function sessionOf(events: readonly RecordedEvent[], supersededAt: string | undefined): SyncSession {
  const [first] = events;
  const state = events.reduce<Sync | undefined>(
    (sync, { type, data, metadata }) => evolve(sync, { type, data } as SyncEvent, metadata.occurredAt),
    undefined,
  );
  if (first === undefined || state === undefined) throw new Error('A sync session has no first event.');
  const changedAt = events.at(-1)?.metadata.occurredAt ?? state.startedAt;
  return { ...state, revision: first.revision, actor: first.metadata.actor, changedAt, supersededAt };
}

/** When it stopped taking batches; undefined while it takes some. @param now ISO 8601 */
export function endOf(session: SyncSession, now: string): string | undefined {
  const { committed, failure, supersededAt, changedAt } = session;
  if (committed !== undefined || failure !== undefined) return changedAt;
  const expiresAt = expiryOf(session);
  const ends = [...(supersededAt === undefined ? [] : [supersededAt]), ...(isAfter(now, expiresAt) ? [expiresAt] : [])];
  return ends.sort((a, b) => Date.parse(a) - Date.parse(b))[0];
}

/** @param isCleanedUp whether the table's stream has its deletion */
export function statusOf(session: SyncSession, isCleanedUp: boolean, now: string): SyncStatus {
  if (session.committed !== undefined || isCleanedUp) return 'committed';
  if (session.failure !== undefined) return 'aborted';
  const end = endOf(session, now);
  if (end === undefined) return session.closed === undefined ? 'started' : 'committing';
  return end === expiryOf(session) ? 'expired' : 'aborted';
}

const isAfter = (time: string, other: string): boolean => Date.parse(time) >= Date.parse(other);

/** How many events, records, and characters of these events may still be read; counts down. */
export type Budget = { events: number; records: number; characters?: number };

/** Few, as most sessions end after some. */
const EVENTS_AT_ONCE = 20;

/** The most by which the clocks of two processes that write to one table may differ. */
const CLOCKS_APART_MS = 60_000;

const shifted = (time: string, ms: number): string =>
  `${new Date(Date.parse(time) + ms).toISOString().slice(0, 23)}000Z`;

/** A range of time that contains all operations of the session. */
export const timesOf = (session: SyncSession, now: string): { readonly from: string; readonly to?: string } => {
  const end = endOf(session, now);
  const from = shifted(session.startedAt, -CLOCKS_APART_MS);
  return end === undefined ? { from } : { from, to: shifted(end, CLOCKS_APART_MS) };
};

/** When events of a stream were written. The sessions of a page ask for many of the same ones, which may be a megabyte each. */
export class EventTimes {
  readonly #log: StreamReads;
  readonly #stream: string;
  readonly #known = new Map<Revision, string | undefined>();

  constructor(log: StreamReads, stream: string) {
    this.#log = log;
    this.#stream = stream;
  }

  /** @returns ISO 8601; undefined if there is no such event */
  async at(revision: Revision): Promise<string | undefined> {
    if (!this.#known.has(revision)) {
      this.#known.set(revision, (await eventAt(this.#log, this.#stream, revision))?.metadata.occurredAt);
    }
    return this.#known.get(revision);
  }
}

/**
 * The operations of the session; undefined when the budget is too small.
 * @param times of the table's events, kept for the sessions of one request
 * @throws the cancellation's reason
 */
export async function workOf(
  eventStore: Log,
  { tenant, table }: TableRef,
  session: SyncSession,
  now: string,
  budget: Budget,
  cancellation: Cancellation | undefined,
  times = new EventTimes(eventStore, tableStream(tenant, table)),
): Promise<SyncWork | undefined> {
  const stream = tableStream(tenant, table);
  const { from, to } = timesOf(session, now);
  const head = (await eventStore.lastAppend(stream))?.revision ?? -1;
  const last =
    session.committed?.operationId === undefined
      ? await lastUntil(times, to, head, cancellation)
      : Math.min(head, Number(session.committed.operationId));
  const operations: SyncOperation[] = [];
  let [created, updated, unchanged] = [0, 0, 0];
  const pages = { to: last, eventsAPage: EVENTS_AT_ONCE, cancellation };
  for await (const events of streamPagesBackwards(eventStore, stream, pages)) {
    for (const event of events.toReversed()) {
      const { occurredAt, causationId: requestId } = event.metadata;
      if (occurredAt < from) return { operations, created, updated, unchanged };
      budget.events -= 1;
      if (budget.characters !== undefined) budget.characters -= charactersOf(event.data);
      const operation = operationOf(event);
      if (operation !== undefined && operation.kind !== 'undo') {
        budget.records -= operation.created + operation.updated;
        if (operation.batchIds.includes(session.id))
          note(event.revision, requestId, { ...operation, kind: operation.kind });
      }
      if (budget.events < 0 || budget.records < 0 || (budget.characters ?? 0) < 0) return undefined;
    }
  }
  return { operations, created, updated, unchanged };

  function note(
    revision: Revision,
    requestId: string,
    {
      kind,
      ...counts
    }: Pick<SyncOperation, 'kind'> & { created: number; updated: number; seen: number; deleted: number },
  ): void {
    created += counts.created;
    updated += counts.updated;
    unchanged += counts.seen;
    const records = counts.created + counts.updated + counts.seen + counts.deleted;
    const later = operations.at(-1);
    // A batch may be several events of one append.
    if (later?.requestId === requestId && later.kind === kind) {
      operations.splice(-1, 1, { ...later, revision, records: later.records + records });
    } else operations.push({ kind, revision, requestId, records });
  }
}

/**
 * Revision of the last event up to `end` that is not after the time (binary search); -1 when all are after it.
 * @param time undefined: returns `end`
 */
export async function lastUntil(
  times: EventTimes,
  time: string | undefined,
  end: Revision,
  cancellation?: Cancellation,
): Promise<Revision> {
  if (time === undefined) return end;
  const isNotAfter = async (revision: Revision): Promise<boolean> => {
    const written = await times.at(revision);
    return written !== undefined && written <= time;
  };
  return lastWhere(end, isNotAfter, cancellation);
}

/**
 * Revision of the last event up to `end` of which this is true (binary search): it is true of all events before that one;
 * -1 when it is true of none. Events may be long, so it pauses between them.
 */
export async function lastWhere(
  end: Revision,
  isTrue: (revision: Revision) => Promise<boolean>,
  cancellation?: Cancellation,
): Promise<Revision> {
  const pauses = new Pauses();
  let [low, high] = [-1, end];
  // The end first: it is the answer when a next page is read.
  for (let middle = end; low < high; middle = Math.ceil((low + high) / 2)) {
    cancellation?.throwIfCancelled();
    if (await isTrue(middle)) low = middle;
    else high = middle - 1;
    if (pauses.isDue()) await pauses.take();
  }
  return low;
}
