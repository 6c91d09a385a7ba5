/**
 * Undoes a clean-up or a batch; records that changed since are left alone and reported. It works in pieces, each with an
 * append of its own, until all is done or most of the request's time is used; the answer says where the next request
 * continues. Repeating it is safe: records that are as they were before are only counted (decision 0026).
 */

import { z } from 'zod';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { MAX_BATCH_ITEMS, MAX_UNDONE_RECORDS, UNDO_TIME_PERCENT } from '../../domain/limits.js';
import { uniqueKeyOf } from '../../domain/referenceTable/decide.js';
import type { BatchUpserted, TableCleanedUp } from '../../domain/referenceTable/events.js';
import {
  type BatchUndoDecision,
  undoBatch as decideUndoOfBatch,
  undoCleanUp as decideUndoOfCleanUp,
  idsOf,
  type LeftAlone,
  saysWhatItReplaces,
  type UndoDecision,
} from '../../domain/referenceTable/undo.js';
import { tableStream } from '../../domain/streams.js';
import type { Position, RecordedEvent, Revision } from '../../ports/eventStore.js';
import { deletedRecords } from '../../queries/past.js';
import type { Application } from '../application.js';
import { parseBody } from '../body.js';
import { CATCH_UP_MS, untilShown } from '../catchUp.js';
import { type Caller, ConflictError, NotFoundError, ValidationError } from '../context.js';
import type { KeyUse } from '../idempotency.js';
import { eventAt, streamPages } from '../streamPages.js';
import { refuseMasterData } from '../tables.js';
import { counted } from './synchronize.js';
import { beingCleanedUp, type DecisionRecords, loadTable } from './tableState.js';

export const undoBody = z.strictObject({
  /** `next` of the answer before. */
  after: z.uuid('must be the `next` of an answer.').optional(),
});

export type UndoResult = {
  readonly position: Position;
  readonly restored: number;
  /** Records that the batch had created. */
  readonly deleted: number;
  /** Records that were as before already. */
  readonly unchanged: number;
  /** The first MAX_UNDONE_RECORDS records that were left alone. */
  readonly left: readonly LeftAlone[];
  /** How many were left alone. */
  readonly leftInAll: number;
  /** Deleted records that cannot be restored: a later clean-up deleted the same id or key. Only in the first answer. */
  readonly unavailable?: number | undefined;
  /** Records that are left for the next requests; undefined when they were not counted. */
  readonly remaining?: number | undefined;
  /** Where the next request continues; undefined at the end. */
  readonly next?: string | undefined;
  /** Whether an earlier request with the same key has done it. */
  readonly isReplayed?: boolean;
};

export type UndoOptions = {
  readonly dryRun?: boolean;
  /** Whether the client has disconnected: then no further piece is begun. */
  readonly hasLeft?: () => boolean;
};

/** What the answer says of the rest. */
export type Rest = Pick<UndoResult, 'unavailable' | 'remaining' | 'next'>;

/** The undo of one request: counts what it has done, and decides whether it begins another piece. */
export class Undo {
  readonly #until: number;
  readonly #hasLeft: () => boolean;
  readonly dryRun: boolean;
  #position: Position = 0;
  #restored = 0;
  #deleted = 0;
  #unchanged = 0;
  readonly #left: LeftAlone[] = [];
  #leftInAll = 0;
  /** The read models did not show the piece before the last one in time. */
  #isBehind = false;

  constructor(
    readonly commands: Application,
    readonly requester: Caller,
    readonly assetType: AssetType,
    { dryRun = false, hasLeft = () => false }: UndoOptions,
  ) {
    this.dryRun = dryRun;
    this.#hasLeft = hasLeft;
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

  /** Whether to begin another piece. */
  get goesOn(): boolean {
    return performance.now() < this.#until && !this.#isBehind && !this.#hasLeft();
  }

  #isShown(position: Position): Promise<boolean> {
    const longestMs = Math.min(CATCH_UP_MS, Math.max(0, this.#until - performance.now()));
    return this.commands.progress.waitFor(this.requester.tenant, position, longestMs);
  }

  /** Records that were looked at so far. */
  get done(): number {
    return this.#restored + this.#deleted + this.#unchanged + this.#leftInAll;
  }

  /**
   * Carries out one piece. Pieces of all undos take turns, by tenant, and an undo has at most one piece that is written and
   * not shown yet, so that other changes are projected in between.
   */
  async piece(work: () => Promise<Piece>): Promise<void> {
    const { requester } = this;
    const run = async (): Promise<Piece> => {
      const before = this.#position;
      const piece = await work();
      this.#isBehind = before > 0 && !(await this.#isShown(before));
      return piece;
    };
    const {
      position,
      restored,
      deleted = 0,
      unchanged,
      left,
    } = await this.commands.undos.run(requester.tenant, run, requester.deadline);
    this.#position = Math.max(this.#position, position);
    this.#restored += restored;
    this.#deleted += deleted;
    this.#unchanged += unchanged;
    this.#leftInAll += left.length;
    this.#left.push(...left.slice(0, MAX_UNDONE_RECORDS - this.#left.length));
  }

  /** What the answer counts if it ends with this piece; kept for a key. */
  countsWith({ restored, deleted = 0, unchanged, left }: Counted, rest: (done: number) => Rest) {
    const counts = {
      restored: this.#restored + restored,
      deleted: this.#deleted + deleted,
      unchanged: this.#unchanged + unchanged,
      leftInAll: this.#leftInAll + left.length,
    };
    return { ...counts, ...rest(this.done + restored + deleted + unchanged + left.length) };
  }

  result(rest: Rest): UndoResult {
    const counts = this.countsWith({ restored: 0, unchanged: 0, left: [] }, () => rest);
    return { position: this.#position, left: this.#left, ...counts };
  }
}

/** The answer to a repeated request with a key. Records that were left alone are named in the first answer only. */
export const undoneBefore = ({ position, counts }: KeyUse): UndoResult | undefined =>
  position === undefined
    ? undefined
    : { restored: 0, deleted: 0, unchanged: 0, leftInAll: 0, ...counts, position, left: [] };

type Counted = Omit<UndoDecision, 'events'> & { readonly deleted?: number };
type Piece = Counted & { readonly position: Position };

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
  const stream = tableStream(caller.tenant, assetType.name);
  const revision = OPERATION_ID.test(operationId) ? Number(operationId) : -1;
  const event = revision < 0 ? undefined : await eventAt(commands.eventStore, stream, revision);
  const undo = new Undo(commands, caller, assetType, options);
  if (event?.type === 'TableCleanedUp') {
    const { deleted } = event.data as TableCleanedUp['data'];
    const rest: RestOfCleanUp = (total, next, done) => {
      const unavailable = after === undefined ? deleted - total : undefined;
      return { unavailable, remaining: total - done, next };
    };
    const { total, next } = await undoCleanUp(undo, event as RecordedEvent & TableCleanedUp, after, rest);
    return undo.result(rest(total, next, undo.done));
  }
  if (event?.type === 'BatchUpserted') {
    if (after !== undefined)
      throw new ValidationError({ after: ['The undo of a batch is one request: leave it out.'] });
    const batch = await eventsOfBatch(commands, caller, stream, event as RecordedEvent & BatchUpserted);
    const rest = { unavailable: 0, remaining: 0 };
    await undo.piece(() => undoBatch(undo, batch, rest));
    return undo.result(rest);
  }
  if (event === undefined) throw new NotFoundError(`There is no operation ${operationId} on ${assetType.name}.`);
  throw new ConflictError(`Only batches and clean-ups can be undone: ${operationId} on ${assetType.name} is neither.`);
}

/**
 * @param total records that could be restored @param next where it continues @param done records that were looked at
 */
type RestOfCleanUp = (total: number, next: string | undefined, done: number) => Rest;

/** @returns how many restorable records there were after `after`, and where the next request continues */
export async function undoCleanUp(
  undo: Undo,
  { revision, position }: Pick<RecordedEvent, 'revision' | 'position'>,
  after: string | undefined,
  rest: RestOfCleanUp,
): Promise<{ readonly total: number; readonly next?: string | undefined }> {
  const { commands, caller, assetType } = undo;
  await untilShown(commands, caller, position, beingCleanedUp(assetType.name));
  let total: number | undefined;
  let next = after;
  do {
    await undo.piece(async () => {
      const page = await pageOf(undo, position, next, total === undefined);
      total ??= page.total;
      next = page.next;
      return bringBack(undo, revision, page.records, (done) => rest(total ?? 0, next, done));
    });
  } while (next !== undefined && undo.goesOn);
  return { total: total ?? 0, next };
}

function pageOf(
  { commands, caller, assetType }: Undo,
  cleanUp: Position,
  after: string | undefined,
  isCounted: boolean,
) {
  const page = { after, limit: MAX_UNDONE_RECORDS, isCounted };
  // Not cut off at the deadline: the turn lasts until the reading ends.
  return deletedRecords(commands.rows, caller.tenant, assetType, cleanUp, page);
}

async function bringBack(
  undo: Undo,
  cleanUp: Revision,
  records: Parameters<typeof decideUndoOfCleanUp>[2],
  rest: (done: number) => Rest,
): Promise<Piece> {
  const { commands, caller, assetType, dryRun } = undo;
  const wanted = {
    keys: records.map(({ fields }) => uniqueKeyOf(assetType, fields)),
    ids: records.map(({ id }) => id),
  };
  let undone: UndoDecision = { events: [], restored: 0, unchanged: 0, left: [] };
  const { position } = await commands.tables.write(caller, assetType, wanted, (known) => {
    undone = decideUndoOfCleanUp(assetType, cleanUp, records, known);
    return dryRun || undone.restored === 0 ? [] : counted(undone.events, undo.countsWith(undone, rest));
  });
  return { ...undone, position };
}

type Batch = { readonly revision: Revision; readonly events: readonly BatchUpserted['data'][] };

/** Few, as most batches are some events. */
const EVENTS_A_PAGE = 20;

/**
 * All events of a batch: one append, of at most one event for each item.
 * @throws NotFoundError when `first` is not the first event; ConflictError when it is an undo, or too old to be undone; the
 * reason of the deadline
 */
export async function eventsOfBatch(
  { eventStore }: Application,
  { deadline: cancellation }: Caller,
  stream: string,
  first: RecordedEvent & BatchUpserted,
): Promise<Batch> {
  const { revision, metadata, data } = first;
  const isPart = (event: RecordedEvent | undefined): boolean =>
    event?.type === 'BatchUpserted' && event.metadata.causationId === metadata.causationId;
  if (data.undoes !== undefined) throw new ConflictError(`${revision} is an undo, which cannot be undone.`);
  if (isPart(await eventAt(eventStore, stream, revision - 1)))
    throw new NotFoundError(`${revision} is a part of another operation.`);
  const events: BatchUpserted['data'][] = [];
  const parts = { from: revision, to: revision + MAX_BATCH_ITEMS - 1, eventsAPage: EVENTS_A_PAGE, cancellation };
  for await (const page of streamPages(eventStore, stream, parts)) {
    const end = page.findIndex((event) => !isPart(event));
    events.push(...page.slice(0, end < 0 ? undefined : end).map((event) => event.data as BatchUpserted['data']));
    if (end >= 0) break;
  }
  if (!events.every(saysWhatItReplaces)) {
    throw new ConflictError(`The batch ${revision} was written by a release that did not keep what a batch replaces.`);
  }
  return { revision, events };
}

export async function undoBatch(
  undo: Undo,
  { revision, events }: Batch,
  rest: Rest,
): Promise<BatchUndoDecision & { readonly position: Position }> {
  const { commands, caller, assetType, dryRun } = undo;
  const ids = events.flatMap(idsOf);
  let undone: BatchUndoDecision = { events: [], restored: 0, deleted: 0, unchanged: 0, left: [] };
  const { position } = await commands.tables.alone<DecisionRecords>(
    caller,
    assetType,
    () => loadTable(commands, { tenant: caller.tenant, table: assetType.name }, assetType, { keys: [], ids }),
    (known) => {
      undone = decideUndoOfBatch(assetType, revision, events, known);
      return dryRun
        ? []
        : counted(
            undone.events,
            undo.countsWith(undone, () => rest),
          );
    },
  );
  return { ...undone, position };
}
