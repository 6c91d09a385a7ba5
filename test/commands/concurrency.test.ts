/** Several processes on one log: rules hold for all writers together. Each `Inside` here stands for a process. */
import { ValidationError } from '#app/commands/context.js';
import { addUser } from '#app/commands/identity/users.js';
import { createRecord, updateRecord } from '#app/commands/records.js';
import { cleanUpTable, upsertBatch } from '#app/commands/referenceTables/synchronize.js';
import { type Inside, openInside, openTenant } from '../projections/harness.js';

let one: Inside;
let two: Inside;

beforeEach(async () => {
  one = await openInside();
  await openTenant(one, 'acme');
  two = await openInside(one);
});
afterEach(async () => {
  await two.close();
  await one.close();
});

const settled = async (work: Promise<unknown>[]) => {
  const results = await Promise.allSettled(work);
  return {
    fulfilled: results.filter((result) => result.status === 'fulfilled').length,
    errors: results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : [])),
  };
};

const list = async () => {
  await one.caughtUp();
  return one.readModels.list({ tenant: 'acme', table: 'dyn_party' }, { filters: [], sort: [], offset: 0, limit: 1000 });
};

it('a unique key is given once, to the first that asks', async () => {
  const party = { external_id: 'same', name: 'Party' };
  const create = (inside: Inside) =>
    createRecord(inside.commands, inside.caller('acme'), inside.assetType('acme', 'dyn_party'), party);
  const { fulfilled, errors } = await settled([one, two, one, two, one, two].map(create));
  expect(fulfilled).toBe(1);
  for (const error of errors) {
    expect(error).toBeInstanceOf(ValidationError);
    expect(error.errors).toHaveProperty('external_id');
  }
  expect((await list()).total).toBe(1);
});

it('batches of the same keys from two processes end with each key once', async () => {
  const batch = (inside: Inside, batchId: string) =>
    upsertBatch(inside.commands, inside.caller('acme'), inside.assetType('acme', 'dyn_party'), {
      items: Array.from({ length: 50 }, (_, i) => ({
        external_id: `p${i}`,
        name: `${batchId} ${i}`,
        _batch_id: batchId,
      })),
    });
  const results = await Promise.all([batch(one, 'a'), batch(two, 'b'), batch(one, 'c'), batch(two, 'd')]);
  expect(results.reduce((created, { counts }) => created + counts.created, 0)).toBe(50);
  expect((await list()).total).toBe(50);
});

it('a clean-up counts exactly what it deletes, also while others write', async () => {
  const caller = one.caller('acme');
  const items = (from: number, batchId: string) => ({
    items: Array.from({ length: 40 }, (_, i) => ({ external_id: `p${from + i}`, name: 'x', _batch_id: batchId })),
  });
  await upsertBatch(one.commands, caller, one.assetType('acme', 'dyn_party'), items(0, 'old'));
  const work = Array.from({ length: 6 }, (_, i) =>
    upsertBatch(two.commands, caller, two.assetType('acme', 'dyn_party'), items(100 + i * 40, 'new')),
  );
  const [{ deleted }] = await Promise.all([
    cleanUpTable(one.commands, caller, one.assetType('acme', 'dyn_party'), { batch_id: 'new' }),
    ...work,
  ]);
  expect(deleted).toBe(40);
  expect((await list()).total).toBe(240);
});

it('changes of one order from two processes are all kept', async () => {
  const { id } = await createRecord(one.commands, one.caller('acme'), one.assetType('acme', 'dyn_stock_order'), {
    notes: 'x',
  });
  const line = (inside: Inside, quantity: number) =>
    createRecord(inside.commands, inside.caller('acme'), inside.assetType('acme', 'dyn_order_line'), {
      order_id: id,
      quantity,
    });
  await Promise.all([1, 2, 3, 4, 5, 6].map((quantity) => line(quantity % 2 === 0 ? one : two, quantity)));
  await Promise.all([
    updateRecord(one.commands, one.caller('acme'), one.assetType('acme', 'dyn_stock_order'), id, { notes: 'y' }),
    updateRecord(two.commands, two.caller('acme'), two.assetType('acme', 'dyn_stock_order'), id, {
      customer_reference: 'z',
    }),
  ]);
  await one.caughtUp();
  const order = await one.readModels.get({ tenant: 'acme', table: 'dyn_stock_order' }, id);
  expect(JSON.parse(order ?? '')).toMatchObject({ notes: 'y', customer_reference: 'z' });
  const lines = await one.readModels.find({ tenant: 'acme', table: 'dyn_order_line' }, 'order_id', [id]);
  expect(lines.map(({ fields }) => fields.quantity).sort()).toEqual([1, 2, 3, 4, 5, 6]);
});

it('an e-mail address belongs to one user, and ids are counted up without gaps', async () => {
  const user = (inside: Inside, email: string) =>
    addUser(inside.commands, inside.caller('acme'), {
      email,
      password: 'a long password',
      first_name: 'A',
      last_name: 'B',
      roles: ['auditor'],
    });
  const { fulfilled } = await settled([
    user(one, 'a@b.example'),
    user(two, 'a@b.example'),
    user(one, 'c@b.example'),
    user(two, 'd@b.example'),
  ]);
  expect(fulfilled).toBe(3);
  // The last of them may be one that the other process wrote.
  const { directory, eventStore } = one.commands;
  await directory.waitFor(await eventStore.head());
  const ids = [...(directory.tenant('acme')?.users.keys() ?? [])];
  expect(ids).toEqual([1, 2, 3]);
});
