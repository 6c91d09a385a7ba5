/**
 * Writes reference tables, one group of changes at a time for each table. A decision depends on rows (`tableState.ts`), which
 * first have to show what was written to the table before; the append expects the revision that they show. If another process
 * wrote meanwhile, the append conflicts, and the change is decided again once the rows show that too.
 */
import { LRUCache } from 'lru-cache';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import type { ReferenceTableEvent } from '../../domain/referenceTable/events.js';
import { tableStream } from '../../domain/streams.js';
import type { Position } from '../../ports/eventStore.js';
import type { TableRef } from '../../queries/records.js';
import { FairQueue } from '../../supervision/fairQueue.js';
import { notCaughtUp, untilShown, untilTableIsShown } from '../catchUp.js';
import type { Caller } from '../context.js';
import { Change, type Loaded, type Target, type Written, writeStream, writeTogether } from '../writeStream.js';
import { type DecisionRecords, loadTable, recordsAfter, type TablePorts, type Wanted } from './tableState.js';

/** Tables whose last write is known. The next write to a forgotten one conflicts at worst. */
const MAX_TABLES = 10_000;

/** A change of more records, such as a batch, is decided alone. */
const FEW_RECORDS = 4;
/** Changes that share one append. */
const MAX_TOGETHER = 64;

/** A change of records that waits for its turn. */
class TableChange extends Change<DecisionRecords, ReferenceTableEvent> {
  constructor(
    caller: Caller,
    readonly assetType: AssetType,
    readonly wanted: Wanted,
    decide: TableChange['decide'],
  ) {
    super(caller, decide);
  }

  get isSmall(): boolean {
    return this.wanted.keys.length + this.wanted.ids.length <= FEW_RECORDS;
  }
}

/** Takes the next changes out of the queue: the first one, and if it is small, other small ones. */
function takeTogether(waiting: TableChange[]): readonly TableChange[] {
  const [first] = waiting;
  if (first?.isSmall !== true) return waiting.splice(0, 1);
  const taken = waiting.filter(({ isSmall }) => isSmall).slice(0, MAX_TOGETHER);
  for (const change of taken) waiting.splice(waiting.indexOf(change), 1);
  return taken;
}

type Session = {
  readonly table: TableRef;
  readonly turns: FairQueue;
  readonly waiting: TableChange[];
  /** Position of the last append of this process. */
  written: Position;
};

export class TableWriter {
  readonly #ports: TablePorts;
  readonly #sessions = new LRUCache<string, Session>({ max: MAX_TABLES });

  constructor(ports: TablePorts) {
    this.#ports = ports;
  }

  /**
   * Reads the wanted records, decides, appends. Small changes that wait for the same table are decided one after the other
   * and share one append; a refused one does not affect the others.
   * @throws what `decide` throws; TryAgainError; DeadlineError; what the log throws
   */
  write(
    caller: Caller,
    assetType: AssetType,
    wanted: Wanted,
    decide: TableChange['decide'],
  ): Promise<Written<DecisionRecords, ReferenceTableEvent>> {
    const session = this.#session(caller.tenant, assetType.name);
    const { waiting } = session;
    const change = new TableChange(caller, assetType, wanted, decide);
    waiting.push(change);
    const turn = async (): Promise<void> => {
      // It may have been written together with an earlier one.
      if (waiting.includes(change)) await writeTogether(this.#ports, this.#target(session), takeTogether(waiting));
    };
    this.#turn(caller, session, turn).catch((error: unknown) => {
      if (waiting.includes(change)) waiting.splice(waiting.indexOf(change), 1);
      change.refuse(error);
    });
    return change.outcome;
  }

  /**
   * Reads, decides, appends, for changes that share no append, such as those that delete records. What they read shows
   * everything that any process has written to the table.
   * @param decide pure; may run several times; throws to refuse
   */
  alone<State>(
    caller: Caller,
    assetType: AssetType,
    read: () => Promise<Loaded<State>>,
    decide: (state: State) => readonly ReferenceTableEvent[],
  ): Promise<Written<State, ReferenceTableEvent>> {
    const session = this.#session(caller.tenant, assetType.name);
    const { stream, name } = this.#target(session);
    return this.#turn(caller, session, async () => {
      const load = async (): Promise<Loaded<State>> => {
        await untilTableIsShown(this.#ports, caller, name);
        return read();
      };
      const written = await writeStream<State, ReferenceTableEvent>(this.#ports, caller, {
        stream,
        name,
        load,
        decide,
      });
      session.written = Math.max(session.written, written.position);
      return written;
    });
  }

  #turn<Result>({ tenant, deadline }: Caller, { turns }: Session, work: () => Promise<Result>): Promise<Result> {
    return turns.run(tenant, work, deadline);
  }

  #target(session: Session): Target<DecisionRecords, ReferenceTableEvent, TableChange> {
    const { table } = session;
    const { tenant, table: name } = table;
    return {
      stream: tableStream(tenant, name),
      name,
      load: async (caller, changes, attempt) => {
        if (attempt > 0) await untilTableIsShown(this.#ports, caller, name);
        else if (session.written > 0) await untilShown(this.#ports, caller, session.written, notCaughtUp(name));
        const keys = changes.flatMap(({ wanted }) => wanted.keys);
        const ids = changes.flatMap(({ wanted }) => wanted.ids);
        return loadTable(this.#ports, table, changes[0].assetType, { keys, ids });
      },
      after: ({ assetType }, state, events, at) => recordsAfter(assetType, state, events, at),
      onAppended: ({ position }) => {
        session.written = Math.max(session.written, position);
      },
    };
  }

  #session(tenant: string, table: string): Session {
    const name = `${tenant}.${table}`;
    let session = this.#sessions.get(name);
    if (session === undefined) {
      // Requests of a tenant are limited already, so the queue needs no limit.
      const turns = new FairQueue({ atOnce: 1, waitingOfGroup: Number.POSITIVE_INFINITY });
      session = { table: { tenant, table }, turns, waiting: [], written: 0 };
      this.#sessions.set(name, session);
    }
    return session;
  }
}
