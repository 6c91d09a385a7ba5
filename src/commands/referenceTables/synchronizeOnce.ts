/**
 * Batches, clean-ups and undos that are carried out once. Their events name the request that caused them, and stand in the
 * table's stream after the revision that it had when the request was accepted.
 */

import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { countsOf, tableEffects } from '../../domain/effects.js';
import type { KeyedRequest } from '../../domain/keyedRequest.js';
import { MAX_EVENTS_LOOKED_THROUGH } from '../../domain/limits.js';
import type { BatchUpserted, ReferenceTableEvent, TableCleanedUp } from '../../domain/referenceTable/events.js';
import { tableStream } from '../../domain/streams.js';
import type { Position, RecordedEvent } from '../../ports/eventStore.js';
import type { Application } from '../application.js';
import { type Caller, ConflictError } from '../context.js';
import { carryOutOnce, causedBy, ownAppend, ownEvents, type Search } from '../keyedRequest.js';
import { refuseMasterData } from '../tables.js';
import { type BatchResult, type CleanUpResult, cleanUpTable, type IsDone, upsertBatch } from './synchronize.js';
import type { UndoResult } from './undo.js';

/** `upsertBatch`, once for each key. */
export async function upsertBatchOnce(
  commands: Application,
  caller: Caller,
  assetType: AssetType,
  body: unknown,
  key: string,
): Promise<BatchResult> {
  refuseMasterData(assetType, 'written by batch');
  const items = Object(body).items;
  // Item by item: the body may be large.
  const hashed = ['batch', ...(Array.isArray(items) ? items : [body])];
  const ofEvents = (events: readonly RecordedEvent[]): Omit<BatchResult, 'position'> => {
    const written = events.map(({ data }) => data as BatchUpserted['data']);
    const created = written.reduce((sum, data) => sum + data.created.length, 0);
    const updated = written.reduce((sum, data) => sum + data.changed.length, 0);
    const unchanged = hashed.length - 1 - created - updated;
    return { counts: { created, updated, unchanged }, operationId: operationIdOf(events), differences: [] };
  };
  const run: Run<BatchResult> = (own, isDone) => upsertBatch(commands, own, assetType, body, { isDone });
  return once(commands, caller, { table: assetType.name, key, body: hashed }, run, ofEvents);
}

/** `cleanUpTable`, once for each key. */
export async function cleanUpTableOnce(
  commands: Application,
  caller: Caller,
  assetType: AssetType,
  body: unknown,
  key: string,
  options: Parameters<typeof cleanUpTable>[4],
): Promise<CleanUpResult> {
  refuseMasterData(assetType, 'cleaned up');
  const ofEvents = (events: readonly RecordedEvent[]): Omit<CleanUpResult, 'position'> => {
    const [{ deleted } = { deleted: 0 }] = events.map(({ data }) => data as TableCleanedUp['data']);
    return { deleted, operationId: operationIdOf(events), differences: [] };
  };
  const run: Run<CleanUpResult> = (own, isDone) => cleanUpTable(commands, own, assetType, body, { ...options, isDone });
  return once(commands, caller, { table: assetType.name, key, body: ['clean-up', body] }, run, ofEvents);
}

/**
 * An undo, once for each key. To a repetition, records that an unanswered run has undone look unchanged: they are counted
 * as undone here.
 * @param of what is undone; part of what the key is bound to
 */
export function undoOnce(
  commands: Application,
  caller: Caller,
  {
    table,
    key,
    of,
    body,
  }: { readonly table: string; readonly key: string; readonly of: string; readonly body: unknown },
  undo: (caller: Caller) => Promise<UndoResult>,
): Promise<UndoResult> {
  const stream = tableStream(caller.tenant, table);
  const named = { table, key, body: ['undo', of, body ?? {}] };
  return carryOutOnce<Omit<UndoResult, 'position' | 'isReplayed'>>(commands, caller, named, {
    after: async () => (await commands.eventStore.lastAppend(stream))?.revision ?? -1,
    find: async () => undefined,
    run: async (request, isNew) => {
      const before = isNew ? NOTHING_BEFORE : await undoneBy(commands, caller, stream, request);
      const { position, restored, deleted, unchanged, ...rest } = await undo({ ...caller, causationId: request.id });
      return {
        ...rest,
        position: Math.max(position, before.position),
        restored: restored + before.restored,
        deleted: deleted + before.deleted,
        unchanged: Math.max(0, unchanged - before.restored - before.deleted),
      };
    },
  });
}

const NOTHING_BEFORE = { position: 0, restored: 0, deleted: 0 };

async function undoneBy(
  commands: Application,
  caller: Caller,
  stream: string,
  request: KeyedRequest,
): Promise<typeof NOTHING_BEFORE> {
  let before = NOTHING_BEFORE;
  for await (const { own } of ownEvents(commands, caller, searchFor(stream, request))) {
    for (const { type, data, position } of own) {
      const { created, updated, seen, deleted } = countsOf(tableEffects({ type, data } as ReferenceTableEvent, stream));
      const restored = before.restored + created + updated + seen;
      before = { position, restored, deleted: before.deleted + deleted };
    }
  }
  return before;
}

/** Revision of the operation's first event. */
const operationIdOf = (events: readonly RecordedEvent[]): string | undefined =>
  events[0] === undefined ? undefined : String(events[0].revision);

type Run<Result> = (caller: Caller, isDone: IsDone) => Promise<Result>;

function once<Result extends { readonly position: Position }>(
  commands: Application,
  caller: Caller,
  named: { readonly table: string; readonly key: string; readonly body: unknown },
  run: Run<Result>,
  ofEvents: (events: readonly RecordedEvent[]) => Omit<Result, 'position'>,
) {
  const { eventStore } = commands;
  const stream = tableStream(caller.tenant, named.table);
  const find = async (request: KeyedRequest) => {
    const events = await ownAppend(commands, caller, searchFor(stream, request));
    const last = events.at(-1);
    return last === undefined ? undefined : { ...ofEvents(events), position: last.position };
  };
  return carryOutOnce<Omit<Result, 'position'>>(commands, caller, named, {
    after: async () => (await eventStore.lastAppend(stream))?.revision ?? -1,
    find,
    run: async (request, isNew) => {
      // Checked again while no other change is written: another process may have carried it out.
      let wasDone = false;
      const done = await run({ ...caller, causationId: request.id }, async () => {
        wasDone = (await find(request)) !== undefined;
        return wasDone;
      });
      // Nothing was left to do because a concurrent send of the same request was first: its result is the answer.
      const found = done.position === 0 || !isNew ? await find(request) : undefined;
      return found === undefined ? done : { ...found, isReplayed: wasDone };
    },
  });
}

const TOO_MANY =
  'Too much was written to the table since to tell whether this was carried out: look at the table, and use a new Idempotency-Key.';

const searchFor = (stream: string, { id, after = -1 }: KeyedRequest): Search => ({
  stream,
  after,
  isOwn: causedBy(id),
  limit: { events: MAX_EVENTS_LOOKED_THROUGH, error: () => new ConflictError(TOO_MANY) },
});
