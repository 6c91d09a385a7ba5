/**
 * Undoes a clean-up, a batch, or all of a sync session; records that changed since are left alone and reported. It works in
 * pieces, each with an append of its own, until all is done or most of the request's time is used; the answer says where the
 * next request continues. Repeating it is safe: records that are as they were before are only counted (decision 0026).
 */
import { z } from 'zod';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { MAX_BATCH_ITEMS, MAX_SYNC_EVENTS, MAX_UNDONE_RECORDS, UNDO_TIME_PERCENT } from '../../domain/limits.js';
import { uniqueKeyOf } from '../../domain/referenceTable/decide.js';
import type { BatchUpserted, ReferenceTableEvent, TableCleanedUp } from '../../domain/referenceTable/events.js';
import { statusOf } from '../../domain/referenceTable/sync.js';
import {
  undoBatch as decideUndoOfBatch,
  undoCleanUp as decideUndoOfCleanUp,
  idsOf,
  type LeftAlone,
  saysWhatItReplaces,
  type UndoDecision,
} from '../../domain/referenceTable/undo.js';
import { tableStream } from '../../domain/streams.js';
import type { Position, RecordedEvent, Revision } from '../../ports/eventStore.js';
import type { RowReads } from '../../ports/rowStore.js';
import type { TableOperation } from '../../queries/operations.js';
import { deletedRecords } from '../../queries/past.js';
import type { TableRef } from '../../queries/records.js';
import { type SyncSession, syncSession, workOf } from '../../queries/syncs.js';
import type { Cancellation } from '../../supervision/cancellation.js';
import type { Application } from '../application.js';
import { parseBody } from '../body.js';
import { untilShown } from '../catchUp.js';
import { type Caller, ConflictError, NotFoundError, ValidationError } from '../context.js';
import type { KeyUse } from '../idempotency.js';
import { eventAt, streamPages } from '../streamPages.js';
import { refuseMasterData } from '../tables.js';
import { counted } from './synchronize.js';
import { type DecisionRecords, loadTable, type Wanted, writeTable } from './tableWriter.js';

const NEXT = 'must be the `next` of an answer.';

export const undoBody = z.strictObject({
  /** `next` of the answer before. */
  after: z.uuid(NEXT).optional(),
});

export const undoSyncBody = z.strictObject({
  /** `next` of the answer before: an operation, and within a clean-up the last record. */
  after: z
    .string(NEXT)
    .regex(/^\d{1,15}(\.[0-9a-f-]{36})?$/, NEXT)
    .optional(),
});

type Counts = {
  readonly restored: number;
  /** Records that a batch had created. */
  readonly deleted: number;
  /** Records that were as before already. */
  readonly unchanged: number;
  /** How many were left alone. */
  readonly leftInAll: number;
};

export type UndoResult = Counts & {
  readonly position: Position;
  /** The first MAX_UNDONE_RECORDS records that were left alone. */
  readonly left: readonly LeftAlone[];
  /** Deleted records that cannot be restored: a later clean-up deleted the same id or key. Only in the first answer. */
  readonly unavailable?: number | undefined;
  /** Records that are left for the next requests; undefined when they were not counted. */
  readonly remaining?: number | undefined;
  /** Where the next request continues; undefined at the end. */
  readonly next?: string | undefined;
};

export type UndoOptions = {
  readonly dryRun?: boolean;
  /** Whether the client has disconnected: then no further piece is begun. */
  readonly hasLeft?: () => boolean;
};

/** What the answer says of the rest. */
type Rest = Pick<UndoResult, 'unavailable' | 'remaining' | 'next'>;

const NOTHING: Counts = { restored: 0, deleted: 0, unchanged: 0, leftInAll: 0 };

/** The answer to a repeated request with a key. Records that were left alone are named in the first answer only. */
export const undoneBefore = ({ position, counts }: KeyUse): UndoResult | undefined =>
  position === undefined ? undefined : { ...NOTHING, ...counts, position, left: [] };

/** The undo of one request: counts what it has done, and decides whether it begins another piece. */
class Undo {
  readonly #until: number;
  #position: Position = 0;
  #counts = NOTHING;
  #left: readonly LeftAlone[] = [];

  constructor(
    readonly commands: Application,
    readonly requester: Caller,
    readonly assetType: AssetType,
    readonly options: UndoOptions,
  ) {
    const leftMs = requester.deadline?.leftMs ?? Number.POSITIVE_INFINITY;
    this.#until = performance.now() + (leftMs * UNDO_TIME_PERCENT) / 100;
  }

  /** As whom the next piece is written. */
  get caller(): Caller {
    const { key } = this.requester;
    return key === undefined || this.#position === 0
      ? this.requester
      : { ...this.requester, key: { ...key, goesOn: true } };
  }

  get stream(): string {
    return tableStream(this.requester.tenant, this.assetType.name);
  }

  /** Whether to begin another piece. */
  get goesOn(): boolean {
    return performance.now() < this.#until && this.options.hasLeft?.() !== true;
  }

  /** Records that were looked at so far. */
  get done(): number {
    return Object.values(this.#counts).reduce((sum, count) => sum + count, 0);
  }

  /**
   * Carries out one piece, when the rows show the one before, so that other changes are projected in between.
   * @param nothing is written where nothing changes, if the request has a key
   * @param rest what the answer says if it ends with this piece; kept for a key
   */
  async piece(
    wanted: Wanted,
    nothing: ReferenceTableEvent,
    decide: (known: DecisionRecords) => Omit<UndoDecision, 'events'> & {
      readonly events: readonly ReferenceTableEvent[];
      readonly deleted?: number;
    },
    rest: () => Rest,
  ): Promise<void> {
    const { commands, caller, assetType } = this;
    const [before, leftBefore] = [this.#counts, this.#left];
    const read = () => loadTable(commands, caller, assetType, wanted);
    const { position } = await writeTable(commands, caller, assetType, read, (known) => {
      const { events, restored, deleted = 0, unchanged, left } = decide(known);
      this.#counts = {
        restored: before.restored + restored,
        deleted: before.deleted + deleted,
        unchanged: before.unchanged + unchanged,
        leftInAll: before.leftInAll + left.length,
      };
      this.#left = [...leftBefore, ...left].slice(0, MAX_UNDONE_RECORDS);
      return this.options.dryRun === true ? [] : counted(events, { ...this.#counts, ...rest() }, caller, nothing);
    });
    this.#position = Math.max(this.#position, position);
  }

  result(rest: Rest): UndoResult {
    return { position: this.#position, left: this.#left, ...this.#counts, ...rest };
  }
}

const OPERATION_ID = /^(?:0|[1-9]\d{0,14})$/;

/**
 * @param operationId of the clean-up or the batch: the revision of its first event in the table's stream
 * @param body `{ after? }`
 * @throws NotFoundError for an unknown operation; ConflictError for one that cannot be undone; ValidationError
 * @throws NotSupportedError on Master Data
 */
export async function undoOperation(
  commands: Application,
  caller: Caller,
  assetType: AssetType,
  operationId: string,
  body: unknown,
  options: UndoOptions = {},
): Promise<UndoResult> {
  refuseMasterData(assetType, 'cleaned up');
  const { after } = parseBody(undoBody, body);
  const undo = new Undo(commands, caller, assetType, options);
  const revision = OPERATION_ID.test(operationId) ? Number(operationId) : -1;
  const event = await eventAt(commands.eventStore, undo.stream, revision);
  if (event === undefined) throw new NotFoundError(`There is no operation ${operationId} on ${assetType.name}.`);
  if (event.type === 'BatchUpserted') {
    if (after !== undefined)
      throw new ValidationError({ after: ['The undo of a batch is one request: leave it out.'] });
    return undoAll(undo, [{ kind: 'batch', revision, records: 0 }]);
  }
  if (event.type !== 'TableCleanedUp')
    throw new ConflictError(
      `Only batches and clean-ups can be undone: ${operationId} on ${assetType.name} is neither.`,
    );
  const { deleted: records } = event.data as TableCleanedUp['data'];
  const from = after === undefined ? {} : { from: revision, record: after };
  return undoAll(undo, [{ kind: 'clean_up', revision, records }], { ...from, nextOf: (_, record) => record });
}

/** @throws NotFoundError; the cancellation's reason */
export async function requireSync(
  rows: RowReads,
  table: TableRef,
  id: string,
  cancellation: Cancellation | undefined,
): Promise<SyncSession> {
  const session = await syncSession(rows, table, id, cancellation);
  if (session === undefined) throw new NotFoundError(`There is no sync ${id} on ${table.table}.`);
  return session;
}

/**
 * Undoes a whole sync session: the clean-up of its commit, then its batches, newest first.
 * @param body `{ after? }`
 * @throws NotFoundError; ConflictError while it takes batches or is being committed, and when it is too large
 * @throws NotSupportedError on Master Data
 */
export async function undoSync(
  commands: Application,
  caller: Caller,
  assetType: AssetType,
  id: string,
  body: unknown,
  options: UndoOptions = {},
): Promise<UndoResult> {
  refuseMasterData(assetType, 'synchronized');
  const { after } = parseBody(undoSyncBody, body);
  const { rows } = commands;
  const table = { tenant: caller.tenant, table: assetType.name };
  const undo = new Undo(commands, caller, assetType, options);
  const session = await requireSync(rows, table, id, caller.deadline);
  const work = await workOf(rows, table, session, { entries: MAX_SYNC_EVENTS }, caller.deadline);
  if (work === undefined) {
    throw new ConflictError(`${id} is too large to be undone at once: undo its operations, the newest first.`);
  }
  const isCleanedUp = work.operations.some(({ kind }) => kind === 'clean_up');
  const status = statusOf(session, isCleanedUp, commands.now());
  if (status === 'started' || status === 'committing') {
    throw new ConflictError(`${id} is still open: commit it, or start another one, before it is undone.`);
  }
  const [revision, record] = after?.split('.') ?? [];
  return undoAll(undo, work.operations, { ...(revision !== undefined && { from: Number(revision) }), record });
}

type UndoneOperation = Pick<TableOperation, 'kind' | 'revision' | 'records'>;

type Cursor = {
  /** The first operation. */
  readonly from?: Revision;
  /** Within it: it continues behind this record. */
  readonly record?: string | undefined;
  /** Where a request continues behind a record of a clean-up. */
  readonly nextOf?: (cleanUp: Revision, record: string) => string;
};

/** @param operations newest first */
async function undoAll(
  undo: Undo,
  operations: readonly UndoneOperation[],
  { from, record, nextOf = (revision, last) => `${revision}.${last}` }: Cursor = {},
): Promise<UndoResult> {
  const left = operations.filter(({ revision }) => from === undefined || revision <= from);
  let unavailable: number | undefined = from === undefined ? 0 : undefined;
  for (const [index, { kind, revision, records }] of left.entries()) {
    // The first is begun in any case, so that each request makes progress.
    if (index > 0 && !undo.goesOn) return undo.result(restFrom(index));
    if (kind === 'batch') {
      await undoBatch(undo, revision, () => restFrom(index + 1));
      continue;
    }
    const behind = index === 0 ? record : undefined;
    const before = undo.done;
    const rest = (total: number, next: string | undefined): Rest => {
      if (behind === undefined) unavailable = records - total;
      const later = restFrom(index + 1);
      if (next === undefined) return later;
      const remaining = later.remaining + total - (undo.done - before);
      return { ...later, next: nextOf(revision, next), remaining };
    };
    const { total, next } = await undoCleanUp(undo, revision, behind, rest);
    const ofThis = rest(total, next);
    if (next !== undefined) return undo.result(ofThis);
  }
  return undo.result(restFrom(left.length));

  function restFrom(index: number) {
    const next = left[index] && String(left[index].revision);
    return { next, unavailable, remaining: left.slice(index).reduce((sum, { records }) => sum + records, 0) };
  }
}

/** @returns how many restorable records there were behind `after`, and behind which record the next request continues */
async function undoCleanUp(
  undo: Undo,
  cleanUp: Revision,
  after: string | undefined,
  rest: (total: number, next: string | undefined) => Rest,
): Promise<{ readonly total: number; readonly next?: string | undefined }> {
  const { commands, requester, assetType } = undo;
  const { position } = await eventOf(undo, cleanUp);
  await untilShown(commands, requester, position, `${assetType.name} is still being cleaned up.`);
  const nothing = { type: 'BatchUpserted', data: { created: [], changed: [], seen: '', undoes: cleanUp } } as const;
  let total: number | undefined;
  let next = after;
  do {
    const asked = { after: next, limit: MAX_UNDONE_RECORDS, isCounted: total === undefined };
    const { records, ...page } = await deletedRecords(commands.rows, requester.tenant, assetType, position, asked);
    total ??= page.total ?? 0;
    const ofAll = total;
    const wanted = {
      keys: records.map(({ fields }) => uniqueKeyOf(assetType, fields)),
      ids: records.map(({ id }) => id),
    };
    const decide = (known: DecisionRecords) => decideUndoOfCleanUp(assetType, cleanUp, records, known);
    await undo.piece(wanted, nothing, decide, () => rest(ofAll, page.next));
    next = page.next;
  } while (next !== undefined && undo.goesOn);
  return { total, next };
}

async function eventOf({ commands, stream, assetType }: Undo, revision: Revision): Promise<RecordedEvent> {
  const event = await eventAt(commands.eventStore, stream, revision);
  if (event === undefined) throw new NotFoundError(`There is no operation ${revision} on ${assetType.name}.`);
  return event;
}

async function undoBatch(undo: Undo, batch: Revision, rest: () => Rest): Promise<void> {
  const events = await eventsOfBatch(undo, batch);
  const wanted = { keys: [], ids: events.flatMap(idsOf) };
  const nothing = { type: 'BatchUndone', data: { undoes: batch, changed: [], seen: '', deleted: '' } } as const;
  await undo.piece(wanted, nothing, (known) => decideUndoOfBatch(undo.assetType, batch, events, known), rest);
}

/** Few, as most batches are some events. */
const EVENTS_A_PAGE = 20;

/**
 * All events of a batch: one append, of at most one event for each item.
 * @throws NotFoundError when it is not the first event; ConflictError when it is an undo, or too old to be undone; the
 * reason of the deadline
 */
async function eventsOfBatch(undo: Undo, revision: Revision): Promise<readonly BatchUpserted['data'][]> {
  const { commands, requester, stream } = undo;
  const { eventStore } = commands;
  const { metadata, data } = (await eventOf(undo, revision)) as RecordedEvent & BatchUpserted;
  const isPart = (event: RecordedEvent | undefined): boolean =>
    event?.type === 'BatchUpserted' && event.metadata.causationId === metadata.causationId;
  if (data.undoes !== undefined) throw new ConflictError(`${revision} is an undo, which cannot be undone.`);
  if (isPart(await eventAt(eventStore, stream, revision - 1)))
    throw new NotFoundError(`${revision} is a part of another operation.`);
  const events: BatchUpserted['data'][] = [];
  const to = revision + MAX_BATCH_ITEMS - 1;
  const pages = { from: revision, to, eventsAPage: EVENTS_A_PAGE, cancellation: requester.deadline };
  for await (const page of streamPages(eventStore, stream, pages)) {
    const end = page.findIndex((event) => !isPart(event));
    events.push(...page.slice(0, end < 0 ? undefined : end).map((event) => event.data as BatchUpserted['data']));
    if (end >= 0) break;
  }
  if (!events.every(saysWhatItReplaces)) {
    throw new ConflictError(`The batch ${revision} was written by a release that did not keep what a batch replaces.`);
  }
  return events;
}
