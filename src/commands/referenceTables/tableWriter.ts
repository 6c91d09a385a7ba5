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
import { Change, type Loaded, type Target, type Written, writeStream, writeTogether } from '../writeStream.js';
import { PendingRecords } from './pendingRecords.js';
import { type DecisionRecords, knownAfter, type TablePorts, TableState, type Wanted } from './tableState.js';

/** Tables whose pending records are kept. The next write to a forgotten table conflicts at worst. */
const MAX_TABLES = 10_000;

/** A change of more records, such as a batch, is decided alone. */
const FEW_RECORDS = 4;
/** Changes that share one append. */
const MAX_TOGETHER = 64;

/** A change of records that waits for its turn. */
export class TableChange extends Change<DecisionRecords, ReferenceTableEvent> {
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
export function takeTogether(waiting: TableChange[]): readonly TableChange[] {
  const [first] = waiting;
  if (first?.isSmall !== true) return waiting.splice(0, 1);
  const taken = waiting.filter(({ isSmall }) => isSmall).slice(0, MAX_TOGETHER);
  for (const change of taken) waiting.splice(waiting.indexOf(change), 1);
  return taken;
}

type Session = {
  readonly table: TableState;
  readonly target: Target<DecisionRecords, ReferenceTableEvent, TableChange>;
  readonly turns: FairQueue;
  readonly waiting: TableChange[];
};

/** One for each process: holds what the process has appended and the read model does not show yet. */
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
      if (waiting.includes(change)) await writeTogether(this.#ports, session.target, takeTogether(waiting));
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
    const { target, table } = session;
    return this.#turn(caller, session, async () => {
      const load = async (): Promise<Loaded<State>> => {
        await table.catchUp(caller);
        return read(table);
      };
      const { stream, name } = target;
      const written = await writeStream<State, ReferenceTableEvent>(this.#ports, caller, {
        stream,
        name,
        load,
        decide,
      });
      if (written.events.length > 0) table.pending.addDeletion(written);
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
      const state = new TableState(this.#ports, { tenant, table });
      session = { table: state, target: targetOf(state), turns, waiting: [] };
      this.#sessions.set(name, session);
    }
    return session;
  }
}

function targetOf(table: TableState): Session['target'] {
  return {
    stream: tableStream(table.table.tenant, table.name),
    name: table.name,
    load: async (caller, changes, attempt) => {
      if (attempt > 0) await table.catchUp(caller);
      const keys = changes.flatMap(({ wanted }) => wanted.keys);
      const ids = changes.flatMap(({ wanted }) => wanted.ids);
      return table.load(caller, changes[0].assetType, { keys, ids });
    },
    begin: (loaded) => {
      const decided = new PendingRecords();
      return {
        stateFor: (change) => knownAfter(loaded, change, decided),
        add: ({ assetType }, { byId }, events, at) => decided.add(assetType, { events, revision: 0, at }, byId),
      };
    },
    onAppended: ({ assetType }, { byId }, appended) => table.pending.add(assetType, appended, byId),
  };
}
