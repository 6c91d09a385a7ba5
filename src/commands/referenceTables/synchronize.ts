/**
 * The two operations of a synchronisation: batch upserts (spec §4.7: all items or none, matched on the unique field), then
 * a clean-up (spec §4.8), which deletes every record of the table that the batches did not carry.
 */
import { z } from 'zod';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { FieldErrorList, type FieldErrors } from '../../domain/assetTypes/fieldErrors.js';
import { type Fields, ownValue } from '../../domain/assetTypes/fieldTypes.js';
import { checkRecord, type RecordInput } from '../../domain/assetTypes/recordSchema.js';
import { MAX_BATCH_ITEMS, MAX_DIFFERENCES } from '../../domain/limits.js';
import { type CleanUpCounts, type CleanUpGuard, refusalOfCleanUp } from '../../domain/referenceTable/cleanUpGuard.js';
import {
  type BatchCounts,
  cleanUp,
  upsertBatch as decide,
  duplicateKeys,
  uniqueFieldOf,
  uniqueKeyOf,
} from '../../domain/referenceTable/decide.js';
import {
  batchDifferences,
  cleanUpDifferences,
  type Difference,
  firstDifferences,
} from '../../domain/referenceTable/differences.js';
import type { BatchUpserted } from '../../domain/referenceTable/events.js';
import { isSyncId } from '../../domain/referenceTable/sync.js';
import { shownName } from '../../domain/shownName.js';
import type { Position } from '../../ports/eventStore.js';
import type { TableRef } from '../../queries/records.js';
import type { Application } from '../application.js';
import { parseBody, shortText } from '../body.js';
import { type Caller, ValidationError } from '../context.js';
import { type Once, once } from '../idempotency.js';
import { refuseMasterData } from '../tables.js';
import { type DomainEvent, type Loaded, withDeadline } from '../writeStream.js';
import { failSyncOf, refuseUnlessOpen, syncIdsOf } from './syncState.js';
import { loadTable, writeTable } from './tableWriter.js';

/** What was written, or what a dry run would write, with the first differences. */
export type BatchResult = {
  readonly position: Position;
  readonly counts: BatchCounts;
  /** Names the operation; undefined when nothing was written. */
  readonly operationId?: string | undefined;
  readonly differences: readonly Difference[];
};

/**
 * @param body `{ items: [{ …fields, _batch_id? }] }`, 1 to 1000 items
 * @throws ValidationError with every error of every item, keyed `items` or `items.<index>.<field>`
 * @throws NotSupportedError on Master Data
 */
export async function upsertBatch(
  commands: Application,
  caller: Caller,
  assetType: AssetType,
  body: unknown,
  { dryRun = false, key }: { readonly dryRun?: boolean; readonly key?: string | undefined } = {},
): Promise<Once<BatchResult>> {
  refuseMasterData(assetType, 'written by batch');
  const items = itemsOf(body);
  const write = async (own: Caller): Promise<BatchResult> => {
    try {
      return await writeBatch(commands, own, assetType, items, dryRun);
    } catch (error) {
      if (!dryRun) await failSyncOf(commands, caller, assetType, items, error);
      throw error;
    }
  };
  const request = { table: assetType.name, key, body: ['batch', ...items] };
  return once<BatchResult>(commands, caller, request, write, ({ position, revision, counts }) => {
    if (position === undefined) return undefined;
    const { operationId = String(revision) } = counts as { readonly operationId?: string };
    return { position, counts: counts as BatchCounts, operationId, differences: [] };
  });
}

async function writeBatch(
  commands: Application,
  caller: Caller,
  assetType: AssetType,
  sent: readonly unknown[],
  dryRun: boolean,
): Promise<BatchResult> {
  const items = checkItems(assetType, sent);
  const wanted = {
    keys: items.map(({ fields }) => uniqueKeyOf(assetType, fields)),
    ids: items.flatMap(({ id }) => id ?? []),
  };
  let counts: BatchCounts = { created: 0, updated: 0, unchanged: 0 };
  let differences: readonly Difference[] = [];
  const read = () => loadTable(commands, caller, assetType, wanted);
  const { position, revision, events } = await writeTable(commands, caller, assetType, read, async (known) => {
    // After the table was read: a commit closes the session before it deletes anything, so one of the two notices the other.
    for (const id of syncIdsOf(items.map(({ batchId }) => batchId)))
      await refuseUnlessOpen(commands, caller, assetType.name, id);
    const newIds = wanted.keys.map((key) => (known.byKey(key) === undefined ? commands.newId() : ''));
    const decision = decide(assetType, items, newIds, known);
    if (!decision.ok) throw new ValidationError(withItems(assetType, sent, decision.errors));
    counts = decision.counts;
    if (dryRun) {
      differences = firstDifferences(batchDifferences(assetType, decision.events, known, newIds));
      return [];
    }
    return counted(decision.events, counts, caller, NOTHING_CHANGED);
  });
  const operationId = events.length === 0 ? undefined : String(revision - events.length + 1);
  return { position, counts, operationId, differences };
}

/**
 * The events with what the answer counts, for a request with a key.
 * @param nothing is written where there are no events, so that the key is known
 */
export function counted<Event extends DomainEvent>(
  events: readonly Event[],
  counts: DomainEvent['counts'],
  { key }: Caller,
  nothing: Event,
): readonly Event[] {
  const written = events.length === 0 && key !== undefined && key.goesOn !== true ? [nothing] : events;
  return written.map((event, index) => (index === 0 ? { ...event, counts } : event));
}

const NOTHING_CHANGED: BatchUpserted = { type: 'BatchUpserted', data: { created: [], changed: [], seen: '' } };

export const confirmed = z.number('must be a number.').int('must be an integer.').min(0, 'must be at least 0.');

export const cleanUpBody = z.strictObject({
  batch_id: shortText,
  /** How many records the clean-up should delete; any other number is refused. */
  confirm: confirmed.optional(),
});

/** What was deleted, or what a dry run would delete, with the first of the records. */
export type CleanUpResult = {
  readonly position: Position;
  readonly deleted: number;
  /** Names the operation, for its undo; undefined when nothing was deleted. */
  readonly operationId?: string | undefined;
  readonly differences: readonly Difference[];
};

type CleanUpOptions = {
  readonly dryRun?: boolean;
  readonly guard?: CleanUpGuard | undefined;
  readonly key?: string | undefined;
};

/**
 * @param body `{ batch_id, confirm? }`
 * @param options.guard the tenant's; ignored by a dry run
 * @throws ValidationError without a batch id, when the guard refuses, and when the confirmed number is wrong
 * @throws NotSupportedError on Master Data
 */
export async function cleanUpTable(
  commands: Application,
  caller: Caller,
  assetType: AssetType,
  body: unknown,
  options: CleanUpOptions = {},
): Promise<Once<CleanUpResult>> {
  refuseMasterData(assetType, 'cleaned up');
  const { batch_id: batchId, confirm } = parseBody(cleanUpBody, body);
  if (isSyncId(batchId)) throw new ValidationError({ batch_id: [`${batchId} is a sync: commit it instead.`] });
  const dryRun = options.dryRun === true;
  const guard = dryRun ? undefined : options.guard;
  const table = { tenant: caller.tenant, table: assetType.name };
  const result = (position: Position, deleted: number, operation: unknown): CleanUpResult => {
    return { position, deleted, operationId: deleted === 0 ? undefined : String(operation), differences: [] };
  };
  const run = async (own: Caller): Promise<CleanUpResult> => {
    const read = () => countCleanUp(commands, table, batchId);
    const { position, revision, state } = await writeTable(commands, own, assetType, read, (counts) => {
      const refusal = refusalOfCleanUp(guard, { batchId, confirm }, counts);
      if (refusal !== undefined) throw new ValidationError(refusal);
      const { deleted } = counts;
      const isNothing = deleted === 0 && own.key === undefined;
      return isNothing || dryRun ? [] : [{ ...cleanUp(batchId, deleted), counts: { deleted } }];
    });
    if (!dryRun) return result(position, state.deleted, revision);
    const some = await withDeadline(caller, commands.queries.records.someOutsideBatch(table, batchId, MAX_DIFFERENCES));
    return { position, deleted: state.deleted, differences: firstDifferences(cleanUpDifferences(assetType, some)) };
  };
  const request = { table: assetType.name, key: options.key, body: ['clean-up', body] };
  return once<CleanUpResult>(commands, caller, request, run, ({ position, revision, counts }) => {
    return position === undefined
      ? undefined
      : result(position, Number(counts.deleted), revision ?? counts.operationId);
  });
}

/** Counted at the revision that the append then expects. */
export async function countCleanUp(
  { queries }: Pick<Application, 'queries'>,
  table: TableRef,
  batchId: string,
): Promise<Loaded<CleanUpCounts>> {
  const { count: deleted, inside: kept, ...end } = await queries.records.countOutsideBatch(table, batchId);
  return { ...end, state: { deleted, kept } };
}

function itemsOf(body: unknown): readonly unknown[] {
  const items = typeof body === 'object' && body !== null && 'items' in body ? body.items : undefined;
  if (!Array.isArray(items))
    throw new ValidationError({ items: ['The items field is required and must be an array.'] });
  if (items.length < 1) throw new ValidationError({ items: ['The items field must have at least 1 item.'] });
  if (items.length > MAX_BATCH_ITEMS) {
    throw new ValidationError({ items: [`The items field must not have more than ${MAX_BATCH_ITEMS} items.`] });
  }
  const unknown = new FieldErrorList();
  for (const key of Object.keys(body ?? {}).map(shownName)) {
    if (key !== 'items') unknown.add(key, `${key} is not a field of a batch.`);
  }
  if (unknown.count > 0) throw new ValidationError(unknown.toErrors(), unknown.unnamed);
  return items;
}

/** @throws ValidationError with every error by item and field */
function checkItems(assetType: AssetType, items: readonly unknown[]): readonly RecordInput[] {
  const errors = new FieldErrorList();
  const inputs: { readonly index: number; readonly input: RecordInput }[] = [];
  for (const [index, item] of items.entries()) {
    // Errors cost more than valid items, and nobody reads thousands of them.
    if (errors.unnamed > 0) break;
    if (typeof item !== 'object' || item === null || Array.isArray(item)) {
      errors.add(`items.${index}`, 'The item must be a JSON object.');
      continue;
    }
    const checked = checkRecord(assetType, 'batchItem', item);
    if (checked.ok) {
      inputs.push({ index, input: checked.input });
      continue;
    }
    const kept = keptItem(assetType, item, checked);
    if (kept !== undefined) {
      inputs.push({ index, input: kept });
      continue;
    }
    errors.addAll(checked.errors, `items.${index}.`);
    errors.addUnnamed(checked.unnamed);
  }
  errors.addAll(duplicateKeys(assetType, inputs));
  if (errors.count > 0) throw new ValidationError(withItems(assetType, items, errors.toErrors()), errors.unnamed);
  return inputs.map(({ input }) => input);
}

/**
 * An item that has its key and a batch id and nothing else keeps a record as it is: its required fields are asked for only
 * if there is no such record. Undefined for all other items.
 */
function keptItem(
  assetType: AssetType,
  item: object,
  { errors }: { readonly errors: FieldErrors },
): RecordInput | undefined {
  const named = [uniqueFieldOf(assetType), '_batch_id', 'id'];
  const { _batch_id: batchId, ...rest } = item as Fields;
  const isOnlyNamed = Object.keys(item).every((name) => named.includes(name));
  if (!isOnlyNamed || typeof batchId !== 'string' || named.some((name) => Object.hasOwn(errors, name)))
    return undefined;
  const checked = checkRecord(assetType, 'update', rest);
  return checked.ok ? { ...checked.input, batchId, missing: errors } : undefined;
}

const ITEM = /^items\.(\d+)/;

/** The errors of a batch, with the number and the key of the item in each message. */
function withItems(assetType: AssetType, items: readonly unknown[], errors: FieldErrors): FieldErrors {
  const unique = uniqueFieldOf(assetType);
  const shown = Object.entries(errors).map(([field, messages]) => {
    const index = Number(ITEM.exec(field)?.[1]);
    const item = items[index];
    if (item === undefined) return [field, messages] as const;
    const key = typeof item === 'object' && item !== null ? ownValue(item as Fields, unique) : undefined;
    const named = typeof key === 'string' ? `, ${unique} ${JSON.stringify(shownName(key))}` : '';
    return [field, messages.map((message) => `${message} (item ${index}${named})`)] as const;
  });
  return Object.fromEntries(shown);
}
