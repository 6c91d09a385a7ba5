/**
 * Decides and appends changes of reference tables, one at a time for each table.
 *
 * A table's stream may hold millions of records, so nothing folds it to decide. The read model's
 * snapshot (the records in question, and the revision they were read at) is the state, laid under
 * what this process has appended since; the append then insists on that revision. Whoever else
 * wrote meanwhile, in whatever process, makes it conflict, and the decision is made anew once
 * the read model has caught up.
 */

import { LRUCache } from 'lru-cache';
import PQueue from 'p-queue';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { type KnownRecord, type KnownRecords, keyOf } from '../../domain/referenceTable/decide.js';
import type { ReferenceTableEvent } from '../../domain/referenceTable/events.js';
import { tableStream } from '../../domain/streams.js';
import { type AppendResult, type Revision, WrongExpectedRevisionError } from '../../ports/eventStore.js';
import type { TableRef, TableSnapshot } from '../../ports/readModels.js';
import { type Caller, type Commands, MAX_ATTEMPTS, notBefore, TryAgainError, toAppend } from '../context.js';
import { Overlay } from './overlay.js';

/** How long a decision waits for the read model to show what others have written. */
const CATCH_UP_MS = 30_000;

export type KnownTable = KnownRecords & {
  readonly revision: Revision;
  readonly createdAt: (id: string) => string;
  readonly updatedAt: (id: string) => string;
};

/** Unique keys and ids of the records a decision is about. */
export type Wanted = { readonly keys: readonly string[]; readonly ids: readonly string[] };

export type TableDecision = { readonly events: readonly ReferenceTableEvent[] };

type Session = { readonly queue: PQueue; readonly overlay: Overlay };

export type Appended<D> = {
  readonly decision: D;
  readonly result: AppendResult | undefined;
  readonly at: string;
  readonly known: KnownTable;
};

/** One for a process; holds what it appended and the read model does not show yet. */
export class TableWriter {
  readonly #commands: Commands;
  readonly #sessions = new LRUCache<string, Session>({ max: 10_000 });

  constructor(commands: Commands) {
    this.#commands = commands;
  }

  /**
   * Reads what `wanted` names, decides, appends. `decide` may run several times and must be pure;
   * it throws to refuse.
   */
  async write<D extends TableDecision>(
    caller: Caller,
    assetType: AssetType,
    wanted: Wanted,
    decide: (known: KnownTable) => D,
  ): Promise<Appended<D>> {
    const table = { tenant: caller.tenant, table: assetType.name };
    const session = this.#session(table);
    return session.queue.add(async () => {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        const known = await this.#load(session, table, assetType, wanted);
        const decision = decide(known);
        const at = notBefore(this.#commands.now(), known.lastEventAt);
        if (decision.events.length === 0) return { decision, result: undefined, at, known };
        const result = await this.#append(table, caller, decision.events, known.revision, at);
        if (result !== undefined) {
          session.overlay.add(assetType, decision.events, known, result.revision, at);
          return { decision, result, at, known };
        }
        await this.#settle(session, table);
      }
      throw new TryAgainError(`${assetType.name} is being written by many at once.`);
    });
  }

  /** A clean-up counts what it deletes, so it decides when the read model shows everything. */
  async cleanUp<D extends TableDecision>(
    caller: Caller,
    assetType: AssetType,
    batchId: string,
    decide: (count: number) => D,
  ): Promise<{ readonly decision: D; readonly result: AppendResult | undefined }> {
    const table = { tenant: caller.tenant, table: assetType.name };
    const session = this.#session(table);
    return session.queue.add(async () => {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        await this.#settle(session, table);
        const { revision, lastEventAt, count } = await this.#commands.readModels.countOutsideBatch(table, batchId);
        const decision = decide(count);
        if (decision.events.length === 0) return { decision, result: undefined };
        const at = notBefore(this.#commands.now(), lastEventAt);
        const result = await this.#append(table, caller, decision.events, revision, at);
        if (result !== undefined) {
          session.overlay.setBarrier(result);
          return { decision, result };
        }
      }
      throw new TryAgainError(`${assetType.name} is being written by many at once.`);
    });
  }

  #session(table: TableRef): Session {
    const name = `${table.tenant}.${table.table}`;
    let session = this.#sessions.get(name);
    if (session === undefined) {
      session = { queue: new PQueue({ concurrency: 1 }), overlay: new Overlay() };
      this.#sessions.set(name, session);
    }
    return session;
  }

  async #load(
    session: Session,
    table: TableRef,
    assetType: AssetType,
    wanted: Wanted,
  ): Promise<KnownTable & { readonly lastEventAt: string }> {
    const { overlay } = session;
    const snapshot = await this.#snapshot(overlay, table, wanted);
    overlay.prune(snapshot.revision);
    const base = new Map(snapshot.records.map((record) => [record.id, record]));
    const idByKey = new Map(snapshot.records.map((record) => [keyOf(assetType, record.fields), record.id]));
    const byId = (id: string): KnownRecord | undefined => overlay.byId(id) ?? base.get(id);
    return {
      revision: Math.max(snapshot.revision, overlay.revision),
      lastEventAt: notBefore(snapshot.lastEventAt, overlay.lastEventAt),
      byId,
      byKey: (key) => {
        const known = byId(overlay.idOfKey(key) ?? idByKey.get(key) ?? '');
        return known !== undefined && keyOf(assetType, known.fields) === key ? known : undefined;
      },
      createdAt: (id) => (overlay.times(id) ?? base.get(id))?.createdAt ?? '',
      updatedAt: (id) => (overlay.times(id) ?? base.get(id))?.updatedAt ?? '',
    };
  }

  async #snapshot(overlay: Overlay, table: TableRef, wanted: Wanted): Promise<TableSnapshot> {
    const snapshot = await this.#commands.readModels.snapshot(table, wanted);
    const barrier = overlay.barrierAbove(snapshot.revision);
    if (barrier === undefined) return snapshot;
    if (!(await this.#commands.readModels.waitFor('records', barrier, CATCH_UP_MS))) {
      throw new TryAgainError(`${table.table} is still being cleaned up.`);
    }
    return this.#commands.readModels.snapshot(table, wanted);
  }

  /** undefined when another writer was first. */
  async #append(
    table: TableRef,
    caller: Caller,
    events: readonly ReferenceTableEvent[],
    revision: Revision,
    at: string,
  ): Promise<AppendResult | undefined> {
    const stream = tableStream(table.tenant, table.table);
    try {
      const expected = revision < 0 ? 'no-stream' : revision;
      return await this.#commands.eventStore.append(stream, toAppend(this.#commands, caller, at, events), expected);
    } catch (error) {
      if (error instanceof WrongExpectedRevisionError) return undefined;
      throw error;
    }
  }

  /** Waits until the read model shows everything that is in the log now. */
  async #settle(session: Session, table: TableRef): Promise<void> {
    const head = await this.#commands.eventStore.head();
    if (!(await this.#commands.readModels.waitFor('records', head, CATCH_UP_MS))) {
      throw new TryAgainError(`The read model of ${table.table} has not caught up yet.`);
    }
    session.overlay.clear();
  }
}
