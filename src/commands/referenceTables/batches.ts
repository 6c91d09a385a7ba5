/** Batch upserts (spec §4.7): all items or none, matched on the unique field. */
import { z } from 'zod';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { checkRecord, FieldErrorList, isObject, type RecordInput } from '../../domain/assetTypes/recordSchema.js';
import { charactersOf } from '../../domain/jsonSize.js';
import { MAX_DOCUMENT_BYTES, MAX_ENTRIES, MAX_RECORDS } from '../../domain/limits.js';
import {
  type BatchCounts,
  upsertBatch as decide,
  differencesOf,
  duplicateKeys,
  uniqueKeyOf,
} from '../../domain/referenceTable/decide.js';
import { type BatchUpserted, isSyncId } from '../../domain/referenceTable/events.js';
import type { Position } from '../../ports/eventStore.js';
import { roomFor } from '../../queries/asking.js';
import type { TableWrite, WriteOptions } from '../application.js';
import { parseBody } from '../body.js';
import { type Caller, ValidationError } from '../context.js';
import { type Once, once } from '../idempotency.js';
import { refuseMasterData } from '../tables.js';
import { sessionOf } from './cleanUps.js';
import { loadTable, writeTable } from './tableWriter.js';

/** What was written, or what a dry run would write, with the first differences. */
export type BatchResult = {
  readonly position: Position;
  readonly counts: BatchCounts;
  /** Names the operation; undefined when nothing was written. */
  readonly operationId?: string | undefined;
  readonly differences?: ReturnType<typeof differencesOf>;
};

/**
 * @param body `{ items: [{ …fields, _batch_id? }] }`, 1 to 1000 items
 * @throws ValidationError with every error of every item, keyed `items` or `items.<index>.<field>`
 * @throws NotSupportedError on Master Data
 */
export async function upsertBatch(
  target: TableWrite,
  body: unknown,
  { dryRun = false, key }: WriteOptions = {},
): Promise<Once<BatchResult>> {
  const { commands, caller, assetType } = target;
  refuseMasterData(assetType, 'written by batch');
  const { items } = parseBody(batchBody, isObject(body) ? body : {}, []);
  const write = (own: Caller) => writeBatch({ ...target, caller: own }, items, dryRun);
  const request = { table: assetType.name, key, body: ['batch', ...items] };
  return once<BatchResult>(commands, caller, request, write, ({ position, revision, counts }) => {
    const { operationId = String(revision) } = counts as { readonly operationId?: string };
    return { position, counts: counts as BatchCounts, operationId };
  });
}

async function writeBatch(target: TableWrite, sent: readonly unknown[], dryRun: boolean): Promise<BatchResult> {
  const { commands, caller, assetType } = target;
  const items = checkItems(assetType, sent);
  const wanted = {
    keys: items.map(({ fields }) => uniqueKeyOf(assetType, fields)),
    ids: items.flatMap(({ id }) => id ?? []),
  };
  let differences: BatchResult['differences'];
  let counts: BatchCounts = { created: 0, updated: 0, unchanged: 0 };
  const syncs = [...new Set(items.flatMap(({ batchId }) => (batchId && isSyncId(batchId) ? [batchId] : [])))];
  const read = async () => {
    const { state: known, ...end } = await loadTable(commands.queries, caller.tenant, assetType, wanted);
    let refusal: Error | undefined;
    for (const id of syncs) refusal ??= (await sessionOf(target, id)).refusal;
    return { ...end, state: { known, refusal } };
  };
  const { position, revision, events } = await writeTable(commands, caller, assetType, read, ({ known, refusal }) => {
    if (refusal !== undefined) throw refusal;
    const newIds = wanted.keys.map((key) => (known.byKey(key) === undefined ? commands.newId() : ''));
    const decision = decide(assetType, items, newIds, known);
    if (!decision.ok) throw new ValidationError(decision.errors);
    counts = decision.counts;
    if (dryRun) {
      const fits = roomFor(MAX_ENTRIES, MAX_DOCUMENT_BYTES);
      const all = differencesOf(assetType, decision.events, known);
      differences = all.filter(({ fields }) => fits(charactersOf(fields)));
      return [];
    }
    // A request with a key writes something in any case, with what its answer counts, so that the key is known.
    const written = decision.events.length === 0 && caller.key !== undefined ? [NOTHING_CHANGED] : decision.events;
    return written.map((event, index) => (index === 0 ? { ...event, counts } : event));
  });
  const operationId = events.length === 0 ? undefined : String(revision - events.length + 1);
  return { position, counts, operationId, ...(differences && { differences }) };
}

const NOTHING_CHANGED: BatchUpserted = { type: 'BatchUpserted', data: { created: [], changed: [], seen: '' } };

const batchBody = z.strictObject({
  items: z
    .array(z.unknown(), 'must be an array.')
    .min(1, 'must have at least 1 item.')
    .max(MAX_RECORDS, `must not have more than ${MAX_RECORDS} items.`),
});

/** @throws ValidationError with every error by item and field */
function checkItems(assetType: AssetType, items: readonly unknown[]): readonly RecordInput[] {
  const errors = new FieldErrorList();
  const inputs: { readonly index: number; readonly input: RecordInput }[] = [];
  for (const [index, item] of items.entries()) {
    // Errors cost more than valid items, and nobody reads thousands of them.
    if (errors.isFull) break;
    const checked = checkRecord(assetType, 'batchItem', item);
    if (checked.ok) inputs.push({ index, input: checked.input });
    else if (isObject(item)) errors.addAll(checked.errors, `items.${index}.`);
    else errors.add(`items.${index}`, 'The item must be a JSON object.');
  }
  errors.addAll(duplicateKeys(assetType, inputs));
  if (!errors.isEmpty) throw new ValidationError(errors.toErrors());
  return inputs.map(({ input }) => input);
}
