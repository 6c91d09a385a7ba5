/**
 * The state of a reference table for decisions. Its stream may hold millions of records, so no decision loads it. The state
 * is a snapshot of the read model (the records in question, and the revision they were read at), together with what this
 * process has appended since.
 */
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { uniqueKeyOf } from '../../domain/referenceTable/decide.js';
import type { TableSnapshot } from '../../ports/decisionReads.js';
import type { StoredRecord, TableRef } from '../../ports/readModels.js';
import { untilShown, untilTableIsShown } from '../catchUp.js';
import type { Caller, Commands } from '../context.js';
import { type Loaded, type LogAccess, notBefore } from '../writeStream.js';
import { PendingRecords } from './pendingRecords.js';

export const beingCleanedUp = (table: string): string => `${table} is still being cleaned up.`;

/** The records that a decision is about. */
export type DecisionRecords = {
  byId(id: string): StoredRecord | undefined;
  byKey(key: string): StoredRecord | undefined;
  /** The id that the last record of this key had when a clean-up deleted it. */
  formerId(key: string): string | undefined;
};

/** Unique keys and ids of the records a decision is about. */
export type Wanted = { readonly keys: readonly string[]; readonly ids: readonly string[] };

/** What writing reference tables needs. */
export type TablePorts = LogAccess & Pick<Commands, 'readModels'>;

export class TableState {
  readonly table: TableRef;
  readonly pending = new PendingRecords();
  readonly #ports: TablePorts;

  constructor(ports: TablePorts, table: TableRef) {
    this.#ports = ports;
    this.table = table;
  }

  get name(): string {
    return this.table.table;
  }

  async load(caller: Caller, assetType: AssetType, { keys, ids }: Wanted): Promise<Loaded<DecisionRecords>> {
    const { pending } = this;
    const snapshot = await this.#snapshot(caller, { keys, ids });
    pending.prune(snapshot.revision);
    const newer = [
      ...[...snapshot.records.map(({ id }) => id), ...ids, ...snapshot.formerIds.values()].map((id) =>
        pending.byId(id),
      ),
      ...keys.map((key) => pending.byKey(key)),
    ];
    return {
      revision: Math.max(snapshot.revision, pending.end.revision),
      lastEventAt: notBefore(snapshot.lastEventAt, pending.end.lastEventAt),
      state: knownRecords(assetType, [...snapshot.records, ...newer], (key) => snapshot.formerIds.get(key)),
    };
  }

  async #snapshot(caller: Caller, wanted: Wanted): Promise<TableSnapshot> {
    const { readModels } = this.#ports;
    const snapshot = await readModels.snapshot(this.table, wanted);
    const deletion = this.pending.deletionAfter(snapshot.revision);
    if (deletion === undefined) return snapshot;
    await untilShown(this.#ports, caller, deletion, beingCleanedUp(this.name));
    return readModels.snapshot(this.table, wanted);
  }

  /** Waits until the read model shows everything written to the table so far, by any process. */
  async catchUp(caller: Caller): Promise<void> {
    await untilTableIsShown(this.#ports, caller, this.name);
    this.pending.clear();
  }
}

/** @param records when a record occurs twice, the last one counts */
function knownRecords(
  assetType: AssetType,
  records: readonly (StoredRecord | undefined)[],
  formerId: DecisionRecords['formerId'],
): DecisionRecords {
  const byId = new Map<string, StoredRecord>();
  for (const record of records) if (record !== undefined) byId.set(record.id, record);
  const byKey = new Map(
    [...byId.values()].map((record) => [record.key ?? uniqueKeyOf(assetType, record.fields), record]),
  );
  return { byId: (id) => byId.get(id), byKey: (key) => byKey.get(key), formerId };
}

/** The wanted records, with what was decided since and is not appended yet. */
export function knownAfter(
  known: DecisionRecords,
  { assetType, wanted }: { readonly assetType: AssetType; readonly wanted: Wanted },
  decided: PendingRecords,
): DecisionRecords {
  const ids = [...wanted.ids, ...wanted.keys.flatMap((key) => known.formerId(key) ?? [])];
  const before = [...ids.map(known.byId), ...wanted.keys.map(known.byKey)];
  const records = [
    ...before,
    ...before.map((record) => record && decided.byId(record.id)),
    ...ids.map((id) => decided.byId(id)),
    ...wanted.keys.map((key) => decided.byKey(key)),
  ];
  return knownRecords(assetType, records, known.formerId);
}
