/**
 * Writes reference tables, one group of changes at a time for each table. A decision depends on a state of the table
 * (`tableState.ts`), and the append expects its revision: if another process wrote meanwhile, the append conflicts, and the
 * change is decided again once the read model has caught up.
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

/** Tables whose pending records are kept. The next write to a forgotten table conflicts at worst. */
const MAX_TABLES = 10_000;

type Session = {
  readonly table: TableState;
  readonly turns: FairQueue;
  readonly waiting: WaitingChange[];
};

/** One for each process: holds what the process has appended and the read model does not show yet. */
export class TableWriter {
  readonly #commands: TableCommands;
  readonly #sessions = new LRUCache<string, Session>({ max: MAX_TABLES });

  constructor(commands: TableCommands) {
    this.#commands = commands;
  }

  /**
   * Reads the wanted records, decides, appends. Small changes that wait for the same table are decided one after the other
   * and share one append; a refused one does not affect the others.
   * @throws what `decide` throws; TryAgainError; DeadlineError; what the log throws
   */
  write(caller: Caller, assetType: AssetType, wanted: Wanted, decide: Decide): Promise<WrittenChange> {
    const session = this.#session(caller.tenant, assetType.name);
    const { waiting } = session;
    const change = new WaitingChange(caller, assetType, wanted, decide);
    waiting.push(change);
    const turn = async (): Promise<void> => {
      // It may have been written together with an earlier one.
      if (waiting.includes(change)) await writeTogether(this.#commands, session.table, takeTogether(waiting));
    };
    this.#turn(caller, session, turn).catch((error: unknown) => {
      if (waiting.includes(change)) waiting.splice(waiting.indexOf(change), 1);
      change.refuse(error);
    });
    return change.outcome;
  }

  /**
   * Reads, decides, appends, for changes that delete records: they share no append, start when the read model shows every
   * earlier change, and the next change waits until it shows this one.
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
      // Requests of a tenant are limited already, so the queue needs no limit.
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
