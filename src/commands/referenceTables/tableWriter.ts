/**
 * Writes reference tables. A table's stream may hold millions of records, so no decision loads it: the state is the rows in
 * question, which first have to show all that was written to the table, and the append expects the revision that they show.
 */
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { tableEffects } from '../../domain/effects.js';
import { uniqueKeyOf } from '../../domain/referenceTable/decide.js';
import type { ReferenceTableEvent } from '../../domain/referenceTable/events.js';
import { tableStream } from '../../domain/streams.js';
import type { StoredRecord } from '../../queries/asking.js';
import type { Caller, Commands } from '../context.js';
import { untilShown } from '../logReads.js';
import { type Change, type Loaded, type LogAccess, type Write, type Written, writeStream } from '../writeStream.js';

/** The records that a decision is about. */
export class DecisionRecords {
  readonly #byId: ReadonlyMap<string, StoredRecord>;
  readonly #byKey: ReadonlyMap<string, StoredRecord>;

  /** @param formerIds by key: the id that the last record of the key had when it was deleted */
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

  /** The records after single ones were created, changed or deleted. */
  after(events: readonly ReferenceTableEvent[], at: string): DecisionRecords {
    const records = new Map(this.#byId);
    const formerIds = new Map(this.formerIds);
    for (const effect of events.flatMap((event) => tableEffects(event, this.assetType.name))) {
      if (effect.kind === 'create') {
        const { id, batch: batchId, fields } = effect;
        records.set(id, { id, createdAt: at, updatedAt: at, batchId, fields });
      } else if (effect.kind === 'patch') {
        const before = records.get(effect.id);
        const fields = { ...before?.fields, ...effect.set };
        if (before !== undefined) records.set(effect.id, { ...before, updatedAt: at, fields });
      } else if (effect.kind === 'delete') {
        const before = records.get(effect.id);
        if (before !== undefined) formerIds.set(uniqueKeyOf(this.assetType, before.fields), effect.id);
        records.delete(effect.id);
      }
    }
    return new DecisionRecords(this.assetType, [...records.values()], formerIds);
  }
}

/** Unique keys and ids of the records that a decision is about. */
export type Wanted = { readonly keys: readonly string[]; readonly ids: readonly string[] };

/** What writing reference tables needs. */
type TablePorts = LogAccess & Pick<Commands, 'queries' | 'progress'>;

/** The wanted records, and those that have a former id of a wanted key, as the rows show them. */
export async function loadTable(
  { records: reads }: Commands['queries'],
  tenant: string,
  assetType: AssetType,
  wanted: Wanted,
) {
  const { records, formerIds, ...end } = await reads.snapshot({ tenant, table: assetType.name }, wanted);
  return { ...end, state: new DecisionRecords(assetType, records, formerIds) };
}

/**
 * Reads, decides, appends.
 * @param read is called when the rows show everything that any process has written to the table
 * @param decide as of a `Change`
 * @param sharing as of a `Write`
 * @throws as `writeStream`
 */
export function writeTable<State, Needed = never>(
  ports: TablePorts,
  caller: Caller,
  { name }: AssetType,
  read: (wanted: readonly Needed[]) => Promise<Loaded<State>>,
  decide: Change<State, ReferenceTableEvent>['decide'],
  sharing: Pick<Write<State, ReferenceTableEvent, Needed>, 'wanted' | 'shared'> = {},
): Promise<Written<State, ReferenceTableEvent>> {
  const load = async (_: number, longest: Caller, wanted: readonly Needed[]): Promise<Loaded<State>> => {
    await untilShown(ports, longest, name);
    return read(wanted);
  };
  return writeStream(ports, caller, { ...sharing, stream: tableStream(caller.tenant, name), load, decide });
}

/** Changes of single records that wait for their turn, by the stream of their table. */
export type RecordChanges = Map<string, Change<DecisionRecords, ReferenceTableEvent, Wanted>[]>;

/** The same for a single record; those that wait for the same table share the reading and the append. */
export function writeRecord(
  ports: TablePorts & { readonly recordChanges: RecordChanges },
  caller: Caller,
  assetType: AssetType,
  wanted: Wanted,
  decide: Change<DecisionRecords, ReferenceTableEvent>['decide'],
): Promise<Written<DecisionRecords, ReferenceTableEvent>> {
  const read = (all: readonly Wanted[]) => {
    const together = { keys: all.flatMap(({ keys }) => keys), ids: all.flatMap(({ ids }) => ids) };
    return loadTable(ports.queries, caller.tenant, assetType, together);
  };
  return writeTable(ports, caller, assetType, read, decide, {
    wanted,
    shared: { waiting: ports.recordChanges, after: (state, events, at) => state.after(events, at) },
  });
}
