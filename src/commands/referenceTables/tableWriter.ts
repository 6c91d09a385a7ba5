/**
 * Writes reference tables. A table's stream may hold millions of records, so no decision loads it: the state is the rows in
 * question, which first have to show all that was written to the table, and the append expects the revision that they show.
 */
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { tableEffects } from '../../domain/effects.js';
import { uniqueKeyOf } from '../../domain/referenceTable/decide.js';
import type { ReferenceTableEvent } from '../../domain/referenceTable/events.js';
import { tableStream } from '../../domain/streams.js';
import { AppendTooLargeError } from '../../ports/eventStore.js';
import { AnswerTooLargeError, type StoredRecord } from '../../queries/storedRecord.js';
import type { FairQueue } from '../../supervision/fairQueue.js';
import { untilTableIsShown } from '../catchUp.js';
import type { Caller, Commands } from '../context.js';
import {
  type Change,
  type Loaded,
  type LogAccess,
  type Written,
  withDeadline,
  writeStream,
  writeTogether,
} from '../writeStream.js';

/** The records that a decision is about. */
export class DecisionRecords {
  readonly #byId: ReadonlyMap<string, StoredRecord>;
  readonly #byKey: ReadonlyMap<string, StoredRecord>;

  /** @param formerIds by key: the id that the last record of the key had when a clean-up deleted it */
  constructor(
    private readonly assetType: AssetType,
    records: readonly StoredRecord[],
    private readonly formerIds: ReadonlyMap<string, string>,
  ) {
    this.#byId = new Map(records.map((record) => [record.id, record]));
    this.#byKey = new Map(records.map((record) => [uniqueKeyOf(assetType, record.fields), record]));
  }

  readonly byId = (id: string): StoredRecord | undefined => this.#byId.get(id);
  readonly byKey = (key: string): StoredRecord | undefined => this.#byKey.get(key);
  readonly formerId = (key: string): string | undefined => this.formerIds.get(key);

  /** The records after single ones were created or changed. */
  after(events: readonly ReferenceTableEvent[], at: string): DecisionRecords {
    const records = new Map(this.#byId);
    for (const effect of events.flatMap((event) => tableEffects(event, this.assetType.name))) {
      if (effect.kind === 'create') {
        const { id, batch: batchId, fields } = effect;
        records.set(id, { id, createdAt: at, updatedAt: at, batchId, fields });
      } else if (effect.kind === 'patch') {
        const before = records.get(effect.id);
        const fields = { ...before?.fields, ...effect.set };
        if (before !== undefined) records.set(effect.id, { ...before, updatedAt: at, fields });
      }
    }
    return new DecisionRecords(this.assetType, [...records.values()], this.formerIds);
  }
}

/** Unique keys and ids of the records that a decision is about. */
export type Wanted = { readonly keys: readonly string[]; readonly ids: readonly string[] };

/** What writing reference tables needs. */
type TablePorts = LogAccess & Pick<Commands, 'queries' | 'progress'>;

/** The wanted records, and those that have a former id of a wanted key, as the rows show them. */
export async function loadTable(
  { queries }: Pick<TablePorts, 'queries'>,
  { tenant }: Caller,
  assetType: AssetType,
  wanted: Wanted,
): Promise<Loaded<DecisionRecords>> {
  const { records, formerIds, ...end } = await queries.records.snapshot({ tenant, table: assetType.name }, wanted);
  return { ...end, state: new DecisionRecords(assetType, records, formerIds) };
}

/**
 * Reads, decides, appends, by itself.
 * @param read is called when the rows show everything that any process has written to the table
 * @param decide as of a `Change`
 * @throws as `writeStream`
 */
export function writeTable<State>(
  ports: TablePorts,
  caller: Caller,
  { name }: AssetType,
  read: () => Promise<Loaded<State>>,
  decide: Change<State, ReferenceTableEvent>['decide'],
): Promise<Written<State, ReferenceTableEvent>> {
  const load = async (): Promise<Loaded<State>> => {
    await untilTableIsShown(ports, caller, name);
    return read();
  };
  return writeStream(ports, caller, { stream: tableStream(caller.tenant, name), load, decide });
}

type WrittenRecords = Written<DecisionRecords, ReferenceTableEvent>;

/** A change of one record that waits for its turn. */
type RecordChange = Change<DecisionRecords, ReferenceTableEvent> & { readonly wanted: Wanted };

/** Changes that share one append. */
const MAX_TOGETHER = 64;

export class RecordWriter {
  /** By stream. */
  readonly #waiting = new Map<string, Set<RecordChange>>();

  constructor(private readonly ports: TablePorts & { readonly streamChanges: FairQueue }) {}

  /**
   * Reads the wanted records, decides, appends. Changes of single records that wait for the same table are decided one after
   * the other and share one append; a refused one does not affect the others.
   * @throws as `writeStream`
   */
  write(caller: Caller, assetType: AssetType, wanted: Wanted, decide: RecordChange['decide']): Promise<WrittenRecords> {
    const stream = tableStream(caller.tenant, assetType.name);
    const waiting = this.#waiting.get(stream) ?? new Set();
    const written = new Promise<WrittenRecords>((resolve, reject) => {
      const change: RecordChange = { caller, decide, wanted, resolve, reject };
      this.#waiting.set(stream, waiting.add(change));
      const turn = async (): Promise<void> => {
        // It may have been written together with an earlier one.
        if (!waiting.has(change)) return;
        const taken = [change, ...sharing(change, waiting)].slice(0, MAX_TOGETHER);
        for (const each of taken) waiting.delete(each);
        await this.#writeAll(stream, assetType, taken);
      };
      const leave = (): void => {
        waiting.delete(change);
        if (waiting.size === 0 && this.#waiting.get(stream) === waiting) this.#waiting.delete(stream);
      };
      this.ports.streamChanges.run(stream, turn, caller.deadline).catch(reject).finally(leave);
    });
    return withDeadline(caller, written);
  }

  async #writeAll(stream: string, assetType: AssetType, changes: readonly RecordChange[]): Promise<void> {
    const wanted = {
      keys: changes.flatMap(({ wanted: { keys } }) => keys),
      ids: changes.flatMap(({ wanted: { ids } }) => ids),
    };
    const load = async (_attempt: number, caller: Caller) => {
      await untilTableIsShown(this.ports, caller, assetType.name);
      return loadTable(this.ports, caller, assetType, wanted);
    };
    const after = (state: DecisionRecords, events: readonly ReferenceTableEvent[], at: string) =>
      state.after(events, at);
    try {
      await writeTogether(this.ports, { stream, load, after }, changes);
    } catch (error) {
      const isTooLarge = TOO_LARGE.some((each) => error instanceof each);
      // Nothing was stored. One by one, only those that are too large themselves fail.
      for (const change of changes)
        if (isTooLarge && changes.length > 1) await this.#writeAll(stream, assetType, [change]);
        else change.reject(error);
    }
  }
}

/** A group of changes may be too large where none of them is. */
const TOO_LARGE = [AppendTooLargeError, AnswerTooLargeError];

/** A repetition with a key is answered with the record as the append left it, so that append is its own. */
const sharing = (change: RecordChange, waiting: ReadonlySet<RecordChange>): readonly RecordChange[] =>
  change.caller.key === undefined
    ? [...waiting].filter((each) => each !== change && each.caller.key === undefined)
    : [];
