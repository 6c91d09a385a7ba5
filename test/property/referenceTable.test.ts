/** Random commands against a reference table: the records shown equal those of a naive model in memory, and so do their ids. */
import fc from 'fast-check';
import { ValidationError } from '#app/commands/context.js';
import { createRecord, updateRecord } from '#app/commands/records.js';
import { upsertBatch } from '#app/commands/referenceTables/batches.js';
import { cleanUpTable } from '#app/commands/referenceTables/cleanUps.js';
import { undoOperation } from '#app/commands/referenceTables/undo.js';
import { type Inside, openInside, openTenant } from '../projections/harness.js';
import { random, SEED } from './runs.js';

type Row = { key: string; name: string; city: string | null; batchId: string | null };
type Item = { external_id: string; name: string; city_name?: string | null; _batch_id?: string | null };

const key = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'A', '__proto__', 'constructor', 'é', '%', "'");
const name = fc
  .string({ minLength: 1, maxLength: 5, unit: 'binary' })
  .filter((text) => text.isWellFormed() && !text.includes('\0'));
const batchId = fc.constantFrom('one', 'two', 'three');
const item: fc.Arbitrary<Item> = fc.record(
  {
    external_id: key,
    name,
    city_name: fc.option(fc.constantFrom('Gent', 'Köln')),
    _batch_id: fc.option(batchId),
  },
  { requiredKeys: ['external_id', 'name'] },
);
const items = fc.uniqueArray(item, { minLength: 1, maxLength: 6, selector: ({ external_id }) => external_id });

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('batch' as const), items }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('create' as const), key, name }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('update' as const), key, newKey: fc.option(key), name: fc.option(name) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('cleanUp' as const), batchId }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('undo' as const), ago: fc.nat({ max: 3 }) }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;
type Undo = Extract<Step, { kind: 'undo' }>;

let inside: Inside;
let tenants = 0;
beforeAll(async () => {
  inside = await openInside();
});
afterAll(() => inside.close());

/** What the step does to the model, and whether it must be refused. */
function applyToModel(model: Map<string, Row>, step: Exclude<Step, Undo>): { refused: boolean; deleted?: number } {
  switch (step.kind) {
    case 'create':
      if (model.has(step.key)) return { refused: true };
      model.set(step.key, { key: step.key, name: step.name, city: null, batchId: null });
      return { refused: false };
    case 'update': {
      const row = model.get(step.key);
      if (row === undefined) return { refused: false };
      const newKey = step.newKey ?? step.key;
      if (newKey !== step.key && model.has(newKey)) return { refused: true };
      model.delete(step.key);
      model.set(newKey, { ...row, key: newKey, name: step.name ?? row.name });
      return { refused: false };
    }
    case 'batch':
      for (const given of step.items) {
        const row = model.get(given.external_id) ?? { key: given.external_id, name: '', city: null, batchId: null };
        model.set(row.key, {
          key: row.key,
          name: given.name,
          city: given.city_name === undefined ? row.city : given.city_name,
          batchId: given._batch_id === undefined ? row.batchId : given._batch_id,
        });
      }
      return { refused: false };
    case 'cleanUp': {
      const gone = [...model.values()].filter((row) => row.batchId !== step.batchId);
      for (const row of gone) model.delete(row.key);
      return { refused: false, deleted: gone.length };
    }
  }
}

const parties = (tenant: string) => {
  return { commands: inside.commands, caller: inside.caller(tenant), assetType: inside.assetType(tenant, 'dyn_party') };
};

async function apply(
  tenant: string,
  step: Exclude<Step, Undo>,
  ids: Map<string, string>,
): Promise<{ deleted?: number; operationId?: string | undefined }> {
  const party = parties(tenant);
  if (step.kind === 'create') await createRecord(party, { external_id: step.key, name: step.name });
  else if (step.kind === 'batch') return upsertBatch(party, { items: step.items });
  else if (step.kind === 'cleanUp') return cleanUpTable(party, { batch_id: step.batchId });
  else {
    const id = ids.get(step.key);
    const body = {
      ...(step.newKey === null ? {} : { external_id: step.newKey }),
      ...(step.name === null ? {} : { name: step.name }),
    };
    if (id !== undefined) await updateRecord(party, id, body);
  }
  return {};
}

async function shown(tenant: string): Promise<Map<string, { id: string; row: Omit<Row, 'batchId'> }>> {
  await inside.caughtUp();
  const page = await inside.queries.records.list(
    { tenant, table: 'dyn_party' },
    { filters: [], sort: [], offset: 0, limit: 1000 },
  );
  const records: readonly Shown[] = JSON.parse(`[${page.records}]`);
  expect(page.total).toBe(records.length);
  return new Map(
    records.map((record) => [
      record.external_id,
      { id: record.id, row: { key: record.external_id, name: record.name, city: record.city_name } },
    ]),
  );
}

/**
 * What a record that is new must have: the id that its key's last record had when a clean-up, or the undo of a batch, deleted
 * it, unless another has it by now; else one that nobody ever had. And what the undo of a clean-up brings back.
 */
class Ids {
  #live = new Map<string, string>();
  readonly #byCleanUp = new Map<string, { key: string; id: string; row: Row }[]>();
  /** By key: the last record that had it when it was deleted. */
  readonly #deleted = new Map<string, { id: string }>();
  readonly #all = new Set<string>();

  /** @param operation undefined: it cannot be undone itself */
  deleted(operation: string | undefined, before: ReadonlyMap<string, Row>, now: ReadonlyMap<string, Row>): void {
    const gone = [...before].filter(([key]) => !now.has(key));
    const deleted = gone.map(([key, row]) => ({ key, row, id: this.#live.get(key) ?? '' }));
    if (operation !== undefined) this.#byCleanUp.set(operation, deleted);
    for (const { key, id } of deleted) {
      for (const [other, its] of this.#deleted) if (its.id === id) this.#deleted.delete(other);
      this.#deleted.set(key, { id });
    }
  }

  /** @returns how many come back */
  undo(cleanUp: string, model: Map<string, Row>): number {
    const live = new Set(this.#live.values());
    const back = (this.#byCleanUp.get(cleanUp) ?? []).filter(({ key, id }) => !live.has(id) && !model.has(key));
    for (const { key, row } of back) model.set(key, row);
    return back.length;
  }

  check(now: ReadonlyMap<string, string>): void {
    const before = this.#live;
    const stayed = new Set(before.values());
    for (const [key, id] of now) {
      if (stayed.has(id)) continue;
      const former = this.#deleted.get(key)?.id;
      if (former !== undefined && !stayed.has(former)) expect(id).toBe(former);
      else expect(this.#all).not.toContain(id);
      this.#all.add(id);
    }
    this.#live = new Map(now);
  }
}

/** A record that a batch has created, changed or moved: as it was before it, if it was, and after it. */
type Replaced = { id: string; before: Row | undefined; after: Row };

const replacedBy = (
  { items }: Extract<Step, { kind: 'batch' }>,
  before: ReadonlyMap<string, Row>,
  now: ReadonlyMap<string, Row>,
  ids: ReadonlyMap<string, string>,
): Replaced[] =>
  items.flatMap(({ external_id: key }) => {
    const after = now.get(key);
    const id = ids.get(key);
    if (after === undefined || id === undefined) throw new Error(`${key} is not there after its batch.`);
    const was = before.get(key);
    return JSON.stringify(was) === JSON.stringify(after) ? [] : [{ id, before: was, after }];
  });

/** Takes back what nobody has changed since. @returns what the answer must count */
function undoInModel(batch: readonly Replaced[], model: Map<string, Row>, ids: ReadonlyMap<string, string>) {
  const counts = { restored: 0, deleted: 0, left: 0 };
  const keys = new Map([...ids].map(([key, id]) => [id, key]));
  for (const { id, before, after } of batch) {
    const key = keys.get(id) ?? '';
    const row = model.get(key);
    const names = (['key', 'name', 'city'] as const).filter((one) => before?.[one] !== after[one]);
    const isAs = (other: Row): boolean => names.every((one) => row?.[one] === other[one]);
    if (names.length === 0 || (before === undefined && row === undefined)) continue;
    if (row !== undefined && before !== undefined && isAs(before)) continue;
    if (row === undefined || !isAs(after)) counts.left += 1;
    else if (before === undefined) {
      counts.deleted += 1;
      model.delete(key);
    } else {
      counts.restored += 1;
      model.set(key, {
        ...row,
        name: names.includes('name') ? before.name : row.name,
        city: names.includes('city') ? before.city : row.city,
      });
    }
  }
  return counts;
}

type Shown = { id: string; external_id: string; name: string; city_name: string | null };

it(`shows what a naive model holds, and refuses what it refuses, over random commands (seed ${SEED})`, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
      tenants += 1;
      const tenant = `t${tenants}`;
      await openTenant(inside, tenant);
      const model = new Map<string, Row>();
      const idsToBe = new Ids();
      const operations: { id: string; replaced?: Replaced[] }[] = [];
      const idsNow = async () => new Map([...(await shown(tenant))].map(([k, { id }]) => [k, id]));
      for (const each of steps) {
        const ids = await idsNow();
        if (each.kind === 'undo') {
          const operation = operations.at(-1 - each.ago);
          if (operation === undefined) continue;
          const { id, replaced } = operation;
          const undone = await undoOperation(parties(tenant), id, {});
          if (replaced === undefined) {
            expect(undone).toMatchObject({ restored: idsToBe.undo(id, model), deleted: 0, next: undefined });
          } else {
            const before = new Map(model);
            expect({ ...undone, left: undone.left.length }).toMatchObject(undoInModel(replaced, model, ids));
            idsToBe.deleted(undefined, before, model);
          }
          idsToBe.check(await idsNow());
          continue;
        }
        const before = new Map(model);
        const expected = applyToModel(model, each);
        const outcome = await apply(tenant, each, ids).catch((error: unknown) => error);
        const { operationId } = outcome as { operationId?: string };
        if (operationId !== undefined) {
          if (each.kind === 'batch') {
            operations.push({ id: operationId, replaced: replacedBy(each, before, model, await idsNow()) });
          } else {
            operations.push({ id: operationId });
            idsToBe.deleted(operationId, before, model);
          }
        }
        if (expected.refused) expect(outcome).toBeInstanceOf(ValidationError);
        else expect(outcome).toMatchObject(expected.deleted === undefined ? {} : { deleted: expected.deleted });
        if (!expected.refused) expect(outcome).not.toBeInstanceOf(Error);
        idsToBe.check(await idsNow());
      }
      const records = await shown(tenant);
      const rows = new Map([...model].map(([k, { batchId: _, ...row }]) => [k, row]));
      expect(new Map([...records].map(([k, { row }]) => [k, row]))).toEqual(rows);
    }),
    random(30),
  );
});
