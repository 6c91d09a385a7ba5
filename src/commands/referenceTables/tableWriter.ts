/**
 * Decides and appends changes of reference tables, one at a time for each table.
 *
 * A table's stream may hold millions of records, so no decision loads it. The read model's snapshot (the records in
 * question, and the revision they were read at) is the state, together with what this process has appended since; the
 * append then insists on that revision. Whoever else wrote meanwhile, in whatever process, makes it conflict, and the
 * decision is made anew once the read model has caught up.
 */

import { LRUCache } from 'lru-cache';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { keyOf } from '../../domain/referenceTable/decide.js';
import type { ReferenceTableEvent } from '../../domain/referenceTable/events.js';
import { tableStream } from '../../domain/streams.js';
import type { TableSnapshot } from '../../ports/decisionReads.js';
import type { Position } from '../../ports/eventStore.js';
import type { StoredRecord, TableRef } from '../../ports/readModels.js';
import { Turns } from '../../supervision/turns.js';
import { type Caller, type Commands, patience, TryAgainError } from '../context.js';
import { type Loaded, type LogAccess, notBefore, type Written, writeStream } from '../writeStream.js';
import { UnprojectedRecords } from './unprojected.js';

/** How long a decision waits for the read model to show what others have written. */
const CATCH_UP_MS = 30_000;
/** Of so many tables the last appends are kept. Others' are forgotten: their next write conflicts at worst. */
const MAX_TABLES = 10_000;

/** The records that a decision is about, as they were when it was made. */
export type KnownTable = {
  byId(id: string): StoredRecord | undefined;
  byKey(key: string): StoredRecord | undefined;
};

/** Unique keys and ids of the records a decision is about. */
export type Wanted = { readonly keys: readonly string[]; readonly ids: readonly string[] };

/** What commands on records of reference tables need. */
export type TableCommands = LogAccess & Pick<Commands, 'readModels'>;

type Session = { readonly table: TableRef; readonly turns: Turns; readonly unprojected: UnprojectedRecords };

/** One for a process; holds what it appended and the read model does not show yet. */
export class TableWriter {
  readonly #commands: TableCommands;
  readonly #sessions = new LRUCache<string, Session>({ max: MAX_TABLES });

  constructor(commands: TableCommands) {
    this.#commands = commands;
  }

  /**
   * Reads what `wanted` names, decides, appends.
   * @param decide pure; may run several times; throws to refuse
   */
  async write(
    caller: Caller,
    assetType: AssetType,
    wanted: Wanted,
    decide: (known: KnownTable) => Promise<readonly ReferenceTableEvent[]> | readonly ReferenceTableEvent[],
  ): Promise<Written<KnownTable, ReferenceTableEvent>> {
    const session = this.#session(caller.tenant, assetType.name);
    return this.#turn(caller, session, async () => {
      const load = async (attempt: number): Promise<Loaded<KnownTable>> => {
        if (attempt > 0) await this.#catchUp(caller, session);
        return this.#load(caller, session, assetType, wanted);
      };
      const written = await this.#append(caller, session, load, decide);
      if (written.events.length > 0) session.unprojected.add(assetType, written, written.state.byId);
      return written;
    });
  }

  /**
   * Counts what a clean-up deletes, decides, appends. So it waits until the read model shows everything.
   * @param decide pure; may run several times
   */
  async cleanUp(
    caller: Caller,
    assetType: AssetType,
    batchId: string,
    decide: (deleted: number) => readonly ReferenceTableEvent[],
  ): Promise<{ readonly position: Position; readonly deleted: number }> {
    const session = this.#session(caller.tenant, assetType.name);
    return this.#turn(caller, session, async () => {
      const load = async (): Promise<Loaded<number>> => {
        await this.#catchUp(caller, session);
        const { count, ...end } = await this.#commands.readModels.countOutsideBatch(session.table, batchId);
        return { ...end, state: count };
      };
      const written = await this.#append(caller, session, load, decide);
      if (written.events.length > 0) session.unprojected.addCleanUp(written);
      return { position: written.position, deleted: written.state };
    });
  }

  #turn<Result>({ tenant, deadline }: Caller, { turns }: Session, work: () => Promise<Result>): Promise<Result> {
    return turns.run(tenant, work, deadline);
  }

  #append<State>(
    caller: Caller,
    { table: { tenant, table } }: Session,
    load: (attempt: number) => Promise<Loaded<State>>,
    decide: (state: State) => Promise<readonly ReferenceTableEvent[]> | readonly ReferenceTableEvent[],
  ): Promise<Written<State, ReferenceTableEvent>> {
    return writeStream(this.#commands, caller, { stream: tableStream(tenant, table), name: table, load, decide });
  }

  #session(tenant: string, table: string): Session {
    const name = `${tenant}.${table}`;
    let session = this.#sessions.get(name);
    if (session === undefined) {
      // Those who wait are requests of the tenant, which has so many at most.
      const turns = new Turns({ atOnce: 1, waitingOfGroup: Number.POSITIVE_INFINITY });
      session = { table: { tenant, table }, turns, unprojected: new UnprojectedRecords() };
      this.#sessions.set(name, session);
    }
    return session;
  }

  async #load(caller: Caller, session: Session, assetType: AssetType, wanted: Wanted): Promise<Loaded<KnownTable>> {
    const { unprojected } = session;
    const snapshot = await this.#snapshot(caller, session, wanted);
    unprojected.prune(snapshot.revision);
    const byId = new Map(snapshot.records.map((record) => [record.id, record]));
    const newer = [
      ...[...byId.keys(), ...wanted.ids].map((id) => unprojected.byId(id)),
      ...wanted.keys.map((key) => unprojected.byKey(key)),
    ];
    for (const record of newer) if (record !== undefined) byId.set(record.id, record);
    const byKey = new Map([...byId.values()].map((record) => [keyOf(assetType, record.fields), record]));
    return {
      revision: Math.max(snapshot.revision, unprojected.end.revision),
      lastEventAt: notBefore(snapshot.lastEventAt, unprojected.end.lastEventAt),
      state: { byId: (id) => byId.get(id), byKey: (key) => byKey.get(key) },
    };
  }

  async #snapshot(caller: Caller, { table, unprojected }: Session, wanted: Wanted): Promise<TableSnapshot> {
    const { readModels } = this.#commands;
    const snapshot = await readModels.snapshot(table, wanted);
    const cleanUp = unprojected.cleanUpAfter(snapshot.revision);
    if (cleanUp === undefined) return snapshot;
    if (!(await readModels.waitFor('records', cleanUp, patience(caller, CATCH_UP_MS)))) {
      throw new TryAgainError(`${table.table} is still being cleaned up.`);
    }
    return readModels.snapshot(table, wanted);
  }

  /** Waits until the read model shows what has been written to the table until now, by whatever process. */
  async #catchUp(caller: Caller, { table, unprojected }: Session): Promise<void> {
    const { eventStore, readModels } = this.#commands;
    const { position = 0 } = (await eventStore.lastAppend(tableStream(table.tenant, table.table))) ?? {};
    if (!(await readModels.waitFor('records', position, patience(caller, CATCH_UP_MS)))) {
      throw new TryAgainError(`The read model of ${table.table} has not caught up yet.`);
    }
    unprojected.clear();
  }
}

const writers = new WeakMap<TableCommands, TableWriter>();

/** The one table writer that belongs to these commands. */
export function tableWriterOf(commands: TableCommands): TableWriter {
  let writer = writers.get(commands);
  if (writer === undefined) {
    writer = new TableWriter(commands);
    writers.set(commands, writer);
  }
  return writer;
}
