/**
 * The state of a reference table for decisions. Its stream may hold millions of records, so no decision loads it: the state is
 * the rows in question and the revision of the table's stream that they show.
 */
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { tableEffects } from '../../domain/effects.js';
import { uniqueKeyOf } from '../../domain/referenceTable/decide.js';
import type { ReferenceTableEvent } from '../../domain/referenceTable/events.js';
import type { TableRef } from '../../queries/records.js';
import type { StoredRecord } from '../../queries/storedRecord.js';
import type { Commands } from '../context.js';
import type { Loaded, LogAccess } from '../writeStream.js';

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
export type TablePorts = LogAccess & Pick<Commands, 'queries' | 'progress'>;

/** The wanted records, and those that would get a former id, as the rows show them. */
export async function loadTable(
  { queries }: Pick<TablePorts, 'queries'>,
  table: TableRef,
  assetType: AssetType,
  wanted: Wanted,
): Promise<Loaded<DecisionRecords>> {
  const { revision, lastEventAt, records, formerIds } = await queries.records.snapshot(table, wanted);
  return { revision, lastEventAt, state: knownRecords(assetType, records, (key) => formerIds.get(key)) };
}

function knownRecords(
  assetType: AssetType,
  records: Iterable<StoredRecord>,
  formerId: DecisionRecords['formerId'],
): DecisionRecords {
  const byId = new Map<string, StoredRecord>();
  const byKey = new Map<string, StoredRecord>();
  for (const record of records) {
    byId.set(record.id, record);
    byKey.set(uniqueKeyOf(assetType, record.fields), record);
  }
  return { byId: (id) => byId.get(id), byKey: (key) => byKey.get(key), formerId };
}

/** The records after small changes, which delete nothing. */
export function recordsAfter(
  assetType: AssetType,
  known: DecisionRecords,
  events: readonly ReferenceTableEvent[],
  at: string,
): DecisionRecords {
  const changed = new Map<string, StoredRecord>();
  const before = (id: string): StoredRecord | undefined => changed.get(id) ?? known.byId(id);
  for (const effect of events.flatMap((event) => tableEffects(event, assetType.name))) {
    if (effect.kind === 'create') {
      const { id, batch: batchId, fields } = effect;
      changed.set(id, { id, createdAt: at, updatedAt: at, batchId, fields });
    } else if (effect.kind === 'patch') {
      const record = before(effect.id);
      if (record === undefined) continue;
      const { id, createdAt, fields } = record;
      const { batch: batchId = record.batchId, set } = effect;
      changed.set(id, { id, createdAt, updatedAt: at, batchId, fields: { ...fields, ...set } });
    } else if (effect.kind === 'touch') {
      const { batch: batchId } = effect;
      for (const record of effect.ids.flatMap((id) => before(id) ?? [])) changed.set(record.id, { ...record, batchId });
    }
  }
  const { byKey } = knownRecords(assetType, changed.values(), known.formerId);
  const keyBefore = (key: string): StoredRecord | undefined => {
    const record = known.byKey(key);
    // It may have another key by now.
    return record !== undefined && changed.has(record.id) ? undefined : record;
  };
  return { byId: before, byKey: (key) => byKey(key) ?? keyBefore(key), formerId: known.formerId };
}
