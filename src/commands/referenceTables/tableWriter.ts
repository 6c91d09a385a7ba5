/**
 * Changes of reference tables, one group at a time for each table. What is decided rests on a state of the table
 * (`tableState.ts`), and the append insists on that revision: whoever else wrote meanwhile, in whatever process, makes it
 * conflict, and the decision is made anew once the read model has caught up.
 */
import { LRUCache } from 'lru-cache';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import type { ReferenceTableEvent } from '../../domain/referenceTable/events.js';
import { tableStream } from '../../domain/streams.js';
import { FairQueue } from '../../supervision/fairQueue.js';
import type { Caller } from '../context.js';
import { type Loaded, type Written, writeStream } from '../writeStream.js';
import { type TableCommands, TableState, type Wanted } from './tableState.js';
import { type Decide, takeTogether, WaitingChange, type WrittenChange } from './waitingChange.js';
import { writeTogether } from './writeTogether.js';

/** Of so many tables the last appends are kept. Others' are forgotten: their next write conflicts at worst. */
const MAX_TABLES = 10_000;

type Session = {
  readonly table: TableState;
  readonly turns: FairQueue;
  readonly waiting: WaitingChange[];
};

/** One for a process; holds what it appended and the read model does not show yet. */
export class TableWriter {
  readonly #commands: TableCommands;
  readonly #sessions = new LRUCache<string, Session>({ max: MAX_TABLES });

  constructor(commands: TableCommands) {
    this.#commands = commands;
  }

  /**
   * Reads what `wanted` names, decides, appends. Changes that wait for the same table meanwhile are decided one after the
   * other and appended in one call; one that is refused does not refuse the others.
   * @throws what `decide` throws; TryAgainError; DeadlineError; what the log throws
   */
  write(caller: Caller, assetType: AssetType, wanted: Wanted, decide: Decide): Promise<WrittenChange> {
    const session = this.#session(caller.tenant, assetType.name);
    const { waiting } = session;
    const change = new WaitingChange(caller, assetType, wanted, decide);
    waiting.push(change);
    const turn = async (): Promise<void> => {
      // It may have been written with one that came before.
      if (waiting.includes(change)) await writeTogether(this.#commands, session.table, takeTogether(waiting));
    };
    this.#turn(caller, session, turn).catch((error: unknown) => {
      if (waiting.includes(change)) waiting.splice(waiting.indexOf(change), 1);
      change.refuse(error);
    });
    return change.outcome;
  }

  /**
   * Reads, decides, appends, for what deletes records: nothing is decided with it, the read model shows everything before, and
   * whoever writes next waits until it shows this.
   * @param decide pure; may run several times; throws to refuse
   */
  alone<State>(
    caller: Caller,
    assetType: AssetType,
    read: (table: TableState) => Promise<Loaded<State>>,
    decide: (state: State) => readonly ReferenceTableEvent[],
  ): Promise<Written<State, ReferenceTableEvent>> {
    const session = this.#session(caller.tenant, assetType.name);
    const { table, pending } = session.table;
    return this.#turn(caller, session, async () => {
      const load = async (): Promise<Loaded<State>> => {
        await session.table.catchUp(caller);
        return read(session.table);
      };
      const stream = tableStream(table.tenant, table.table);
      const write = { stream, name: table.table, load, decide };
      const written = await writeStream<State, ReferenceTableEvent>(this.#commands, caller, write);
      if (written.events.length > 0) pending.addDeletion(written);
      return written;
    });
  }

  #turn<Result>({ tenant, deadline }: Caller, { turns }: Session, work: () => Promise<Result>): Promise<Result> {
    return turns.run(tenant, work, deadline);
  }

  #session(tenant: string, table: string): Session {
    const name = `${tenant}.${table}`;
    let session = this.#sessions.get(name);
    if (session === undefined) {
      // Those who wait are requests of the tenant, which has so many at most.
      const turns = new FairQueue({ atOnce: 1, waitingOfGroup: Number.POSITIVE_INFINITY });
      session = { table: new TableState(this.#commands, { tenant, table }), turns, waiting: [] };
      this.#sessions.set(name, session);
    }
    return session;
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

/** The table writer of these commands is that of others, which are made of them. */
export function shareTableWriter(commands: TableCommands, others: TableCommands): void {
  writers.set(others, tableWriterOf(commands));
}
