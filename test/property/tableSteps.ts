/** Random histories of a reference table: batches, single changes, clean-ups and undos, by the commands of the service. */
import fc from 'fast-check';
import { createRecord, updateRecord } from '#app/commands/records.js';
import { cleanUpTable, upsertBatch } from '#app/commands/referenceTables/synchronize.js';
import { undoOperation } from '#app/commands/referenceTables/undo.js';
import type { RecordReads } from '#app/ports/readModels.js';
import { recordsOn } from '../contract/readModelsFixture.js';
import type { Inside } from '../projections/harness.js';

export type Shown = { id: string; external_id: string; name: string; city_name: string | null };
export type Table = ReadonlyMap<string, Shown>;

export const ALL = { filters: [], sort: [], offset: 0, limit: 1_000 } as const;

export async function tableIn(reads: Pick<RecordReads, 'list'>, tenant: string): Promise<Table> {
  const page = await reads.list({ tenant, table: 'dyn_party' }, ALL);
  const records = recordsOn<Shown>(page);
  expect(page.total).toBe(records.length);
  return new Map(records.map((record) => [record.id, record]));
}

const key = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g');
const name = fc.constantFrom('Tea', 'Coffee', 'Cocoa');
const batchId = fc.constantFrom('one', 'two');
const item = fc.record(
  {
    external_id: key,
    name,
    city_name: fc.option(fc.constantFrom('Gent', 'Köln')),
    _batch_id: fc.option(batchId),
  },
  { requiredKeys: ['external_id', 'name'] },
);
export const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('batch' as const),
      items: fc.uniqueArray(item, { minLength: 1, maxLength: 6, selector: ({ external_id }) => external_id }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('create' as const), key, name }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('update' as const), key, name }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('cleanUp' as const), batchId }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('undo' as const), ago: fc.nat({ max: 3 }) }) },
);
export type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** @param operations ids of the operations so far; gets those of this step */
export async function apply(
  inside: Inside,
  tenant: string,
  each: Step,
  now: Table,
  operations: string[],
): Promise<void> {
  const { commands } = inside;
  const caller = inside.caller(tenant);
  const party = inside.assetType(tenant, 'dyn_party');
  const note = ({ operationId }: { operationId?: string | undefined }): void => {
    if (operationId !== undefined) operations.push(operationId);
  };
  switch (each.kind) {
    case 'create':
      await createRecord(commands, caller, party, { external_id: each.key, name: each.name }).catch(() => undefined);
      return;
    case 'update': {
      const id = [...now.values()].find(({ external_id }) => external_id === each.key)?.id;
      if (id !== undefined) await updateRecord(commands, caller, party, id, { name: each.name });
      return;
    }
    case 'batch':
      return note(await upsertBatch(commands, caller, party, { items: each.items }));
    case 'cleanUp':
      return note(await cleanUpTable(commands, caller, party, { batch_id: each.batchId }));
    case 'undo': {
      const operation = operations.at(-1 - each.ago);
      if (operation !== undefined) await undoOperation(commands, caller, party, operation, {});
    }
  }
}
