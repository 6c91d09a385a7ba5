/**
 * Decides and appends changes of reference tables, one at a time for each table.
 *
 * A table's stream may hold millions of records, so no decision loads it. The read model's
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
import type { TableSnapshot } from '../../ports/decisionReads.js';
import type { Position } from '../../ports/eventStore.js';
import type { TableRef } from '../../ports/readModels.js';
import { type Caller, type Commands, TryAgainError } from '../context.js';
import { type Loaded, notBefore, type Written, writeStream } from '../writeStream.js';
import { Overlay } from './overlay.js';

/** How long a decision waits for the read model to show what others have written. */
const CATCH_UP_MS = 30_000;

export type KnownTable = KnownRecords & {
  readonly createdAt: (id: string) => string;
  readonly updatedAt: (id: string) => string;
};

/** Unique keys and ids of the records a decision is about. */
export type Wanted = { readonly keys: readonly string[]; readonly ids: readonly string[] };

type Session = { readonly queue: PQueue; readonly overlay: Overlay };

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
  async write<Event extends ReferenceTableEvent>(
    caller: Caller,
    assetType: AssetType,
    wanted: Wanted,
    decide: (known: KnownTable) => readonly Event[],
  ): Promise<Written<KnownTable, Event>> {
    const table = { tenant: caller.tenant, table: assetType.name };
    const { queue, overlay } = this.#session(table);
    return queue.add(async () => {
      const written = await writeStream(this.#commands, caller, {
        stream: tableStream(table.tenant, table.table),
        name: table.table,
        load: async (attempt) => {
          if (attempt > 0) await this.#catchUp(overlay, table);
          return this.#load(overlay, table, assetType, wanted);
        },
        decide,
      });
      const { events, state, revision, at } = written;
      if (events.length > 0) overlay.add(assetType, events, state, revision, at);
      return written;
    });
  }

  /**
   * A clean-up counts what it deletes, so it decides when the read model shows everything.
   * @param decide pure; is given how many records it would delete
   */
  async cleanUp(
    caller: Caller,
    assetType: AssetType,
    batchId: string,
    decide: (count: number) => readonly ReferenceTableEvent[],
  ): Promise<{ readonly position: Position; readonly count: number }> {
    const table = { tenant: caller.tenant, table: assetType.name };
    const { queue, overlay } = this.#session(table);
    return queue.add(async () => {
      const written = await writeStream(this.#commands, caller, {
        stream: tableStream(table.tenant, table.table),
        name: table.table,
        load: async () => {
          await this.#catchUp(overlay, table);
          const { count, ...end } = await this.#commands.readModels.countOutsideBatch(table, batchId);
          return { ...end, state: count };
        },
        decide,
      });
      if (written.events.length > 0) overlay.setBarrier(written);
      return { position: written.position, count: written.state };
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

  async #load(overlay: Overlay, table: TableRef, assetType: AssetType, wanted: Wanted): Promise<Loaded<KnownTable>> {
    const snapshot = await this.#snapshot(overlay, table, wanted);
    overlay.prune(snapshot.revision);
    const base = new Map(snapshot.records.map((record) => [record.id, record]));
    const idByKey = new Map(snapshot.records.map((record) => [keyOf(assetType, record.fields), record.id]));
    const byId = (id: string): KnownRecord | undefined => overlay.byId(id) ?? base.get(id);
    return {
      revision: Math.max(snapshot.revision, overlay.revision),
      lastEventAt: notBefore(snapshot.lastEventAt, overlay.lastEventAt),
      state: {
        byId,
        byKey: (key) => {
          const known = byId(overlay.idOfKey(key) ?? idByKey.get(key) ?? '');
          return known !== undefined && keyOf(assetType, known.fields) === key ? known : undefined;
        },
        createdAt: (id) => (overlay.times(id) ?? base.get(id))?.createdAt ?? '',
        updatedAt: (id) => (overlay.times(id) ?? base.get(id))?.updatedAt ?? '',
      },
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

  /** Waits until the read model shows everything that is in the log now. */
  async #catchUp(overlay: Overlay, table: TableRef): Promise<void> {
    const head = await this.#commands.eventStore.head();
    if (!(await this.#commands.readModels.waitFor('records', head, CATCH_UP_MS))) {
      throw new TryAgainError(`The read model of ${table.table} has not caught up yet.`);
    }
    overlay.clear();
  }
}
